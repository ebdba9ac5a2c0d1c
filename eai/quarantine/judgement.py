"""Whether a text is held, from what was found in it and what was decided of it before. Pure."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from eai.kernel.masking import MASK
from eai.quarantine.ports import MOST_FINDINGS, Finding, Place, Reason, Severity

HISTORY = "history"
"""The detector of what is found in the company that a text keeps, not in the text."""
_HISTORY_VERSION = 1

Masks = tuple[tuple[int, int], ...]


class Verdict(StrEnum):
    """What a steward may decide."""

    RELEASE = "release"
    REDACT = "redact"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Covered:
    """What a steward saw and let pass."""

    fingerprint: str
    severity: Severity
    version: int

    def covers(self, finding: Finding) -> bool:
        """Whether `finding` is this one, and neither graver nor another version's."""
        is_same = (self.fingerprint, self.version) == (finding.fingerprint, finding.version)
        return is_same and self.severity.reaches(finding.severity)


@dataclass(frozen=True, slots=True)
class History:
    """What is known of a text and of its surroundings before it is looked at.

    It `was_let_pass` where a steward has read this very text and decided that it goes on.
    """

    covered: Sequence[Covered] = ()
    masks: Masks = ()
    follows_held: bool = False
    is_near_duplicate: bool = False
    was_let_pass: bool = False

    def findings(self) -> list[Finding]:
        """What the surroundings say against the text."""
        reasons = [Reason.FOLLOWS_HELD] if self.follows_held else []
        reasons += [Reason.NEAR_DUPLICATE] if self.is_near_duplicate else []
        return [_of_surroundings(reason) for reason in reasons]


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that was found, the gravest first, and whether a steward must see it.

    `masks` are what a steward has had blackened; `signature` and `content_hash` are the text's. It
    `was_let_pass` where a steward has seen it before.
    """

    findings: tuple[Finding, ...]
    threshold: Severity
    is_held: bool
    masks: Masks
    signature: int | None
    content_hash: bytes
    was_let_pass: bool = False


def judge(
    found: Iterable[Finding],
    history: History,
    threshold: Severity,
    *,
    signature: int | None,
    content_hash: bytes,
) -> Judgement:
    """Hold a text for what reaches `threshold`, or stands against it anyway, and is not covered.

    However much is found, and by whom, the gravest `MOST_FINDINGS` are kept.
    """
    own = sorted(found, key=_gravity)[:MOST_FINDINGS]
    findings = sorted([*history.findings(), *own], key=_gravity)
    covered = {each.fingerprint: each for each in history.covered}
    uncovered = [f for f in findings if f.fingerprint not in covered or not covered[f.fingerprint].covers(f)]
    is_held = lacks_findings(findings, threshold) or any(is_weighty(each, threshold) for each in uncovered)
    return Judgement(
        tuple(findings),
        threshold,
        is_held,
        history.masks,
        signature,
        content_hash,
        history.was_let_pass,
    )


def judge_again(judgement: Judgement, found: Iterable[Finding]) -> Judgement:
    """The same once more has been `found` in a text that no steward has seen, and that went on until then."""
    every = [*judgement.findings, *found]
    signature, digest = judgement.signature, judgement.content_hash
    return judge(every, History(), judgement.threshold, signature=signature, content_hash=digest)


def is_weighty(finding: Finding, threshold: Severity) -> bool:
    """Whether it is enough to hold a text."""
    return finding.detector == HISTORY or finding.severity.reaches(threshold)


def lacks_findings(findings: Iterable[Finding], threshold: Severity) -> bool:
    """Whether the text may hold more that is weighty than the list has room for.

    The gravest come first, so a list that ends with anything less has all of it. Otherwise nobody knows what
    a decision on the list would let pass, and the same list comes back however often the text is examined.
    """
    own = [finding for finding in findings if finding.detector != HISTORY]
    return len(own) >= MOST_FINDINGS and all(is_weighty(finding, threshold) for finding in own)


def masks_of(findings: Iterable[Finding], threshold: Severity, place: Place = Place.TEXT) -> Masks:
    """The parts of a place that held the text, which are what a redaction takes away."""
    return tuple(
        (finding.start, finding.end)
        for finding in findings
        if finding.place is place and finding.start < finding.end and is_weighty(finding, threshold)
    )


def masked(text: str, masks: Sequence[tuple[int, int]]) -> str:
    """`text` with a block in place of every character of `masks`: every offset stays true."""
    if not masks:
        return text
    signs = list(text)
    for start, end in masks:
        signs[start:end] = MASK * len(signs[start:end])
    return "".join(signs)


def to_row(finding: Finding) -> dict[str, Any]:
    """The finding as it is stored."""
    return asdict(finding)


def from_row(row: Mapping[str, Any]) -> Finding:
    """What `to_row` was given."""
    named = {"reason": Reason(row["reason"]), "severity": Severity(row["severity"])}
    return Finding(**{**row, **named, "place": Place(row["place"])})


def covered_rows(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """What a decision keeps of the findings that it was given on."""
    return [
        {"fingerprint": f.fingerprint, "severity": f.severity.value, "version": f.version} for f in findings
    ]


def covered_from(rows: Iterable[Mapping[str, Any]]) -> list[Covered]:
    """What `covered_rows` made."""
    return [Covered(row["fingerprint"], Severity(row["severity"]), row["version"]) for row in rows]


def _gravity(finding: Finding) -> int:
    return -finding.severity.rank


def _of_surroundings(reason: Reason) -> Finding:
    # The same for every text: a decision on one text covers it, whatever it has been compared with.
    fingerprint = hashlib.sha256(f"{HISTORY}\0{reason}".encode()).hexdigest()
    return Finding(
        detector=HISTORY,
        version=_HISTORY_VERSION,
        reason=reason,
        severity=Severity.HIGH,
        start=0,
        end=0,
        place=Place.TEXT,
        excerpt="",
        meaning=None,
        fingerprint=fingerprint,
    )
