"""What DLP found in a text that is to be stored, and the text as it may be."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from eai.access.classification import Classification
from eai.dlp.errors import DlpBlocked
from eai.dlp.ports import DlpAction, DlpRules, Finding, Verdict
from eai.dlp.redaction import Redacted, Removal, Replaced
from eai.identity.errors import ClearanceExceeded
from eai.kernel.immutable import Immutable
from eai.knowledge.documents.drafts import SpanRights
from eai.quarantine import ports as quarantine
from eai.quarantine.examination import excerpt_of
from eai.quarantine.judgement import Judgement, Masks, masked
from eai.quarantine.ports import Place

MOST_SPANS = 1_000
"""Findings whose places are kept; all are counted."""
SHOWN = 4
"""Characters that a steward is shown of what may be a secret: enough to know it again."""
_VERSION = 1
DLP = "dlp."
"""What the names of those begin with who find what may be a secret."""


@dataclass(frozen=True, slots=True)
class Screening(Immutable):
    """A text as it may be stored, what was found in it by `rules`, and the level that raises it to.

    It `is_blackened` where a steward has taken out parts of it before.
    """

    redacted: Redacted
    findings: tuple[Finding, ...]
    level: Classification | None
    rules: DlpRules
    is_blackened: bool = False

    @classmethod
    def of(cls, text: str, verdict: Verdict, rules: DlpRules, *, is_blackened: bool = False) -> "Screening":
        """What a scan of `text` alone has given."""
        removals = [Removal(each.start, each.end, each.entity) for each in to_redact(verdict.findings)]
        return cls(Redacted.of(text, removals), verdict.findings, verdict.level, rules, is_blackened)

    @property
    def is_redacted(self) -> bool:
        """Whether what was given says more than may be stored."""
        return self.is_blackened or bool(self.redacted.replaced)

    def moved(self, spans: Iterable[SpanRights]) -> tuple[SpanRights, ...]:
        """The rights of parts, counted in the text as it may be stored."""
        return _moved(self.redacted, spans)

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where `[start, end)` of the text as it may be stored is in the one that was given."""
        return self.redacted.origin(start, end)

    @property
    def spans(self) -> dict[str, Any]:
        """Where everything is in the stored text, and what was replaced there, as a row has it."""
        if not self.findings:
            return {}
        places = [(each, self.redacted.moved(each.start, each.end)) for each in self.findings[:MOST_SPANS]]
        return {
            "findings": [
                {"entity": each.entity, "action": each.action, "start": start, "end": end}
                for each, (start, end) in places
            ],
            "redactions": [each._asdict() for each in self.redacted.replaced],
        }


def to_redact(findings: Iterable[Finding]) -> list[Finding]:
    """Those that are to be taken out of the text."""
    return [each for each in findings if each.action is DlpAction.REDACT]


def masks_of(findings: Iterable[Finding]) -> Masks:
    """The parts of a text that are to be taken out of it."""
    return tuple((each.start, each.end) for each in to_redact(findings))


def moved_by(redactions: Iterable[Mapping[str, Any]], spans: Iterable[SpanRights]) -> tuple[SpanRights, ...]:
    """The rights of parts of a text as it was given, counted in what its redaction has left of it."""
    return _moved(Redacted("", tuple(Replaced(**each) for each in redactions)), spans)


def _moved(redacted: Redacted, spans: Iterable[SpanRights]) -> tuple[SpanRights, ...]:
    return tuple(
        SpanRights(*redacted.moved(span.start, span.end), span.readers, span.classification) for span in spans
    )


def told(findings: Sequence[Finding], level: Classification | None) -> dict[str, Any]:
    """What was found, without any of its words or places."""
    if not findings:
        return {}
    return {
        "entities": dict(sorted(Counter(str(each.entity) for each in findings).items())),
        "redacted": any(each.action is DlpAction.REDACT for each in findings),
        "level": level,
    }


def refuse_blocked(verdict: Verdict, *actions: DlpAction) -> None:
    """Raise DlpBlocked for what is to be kept out, or that one of `actions` would follow from."""
    blocking = {DlpAction.BLOCK, *actions}
    if entities := sorted({str(each.entity) for each in verdict.findings if each.action in blocking}):
        raise DlpBlocked(entities=entities)


def refuse_above(clearance: Classification, verdict: Verdict) -> None:
    """Raise ClearanceExceeded where a text is worth more than whoever brings it may see."""
    if verdict.level is not None and verdict.level.exceeds(clearance):
        raising = {str(each.entity) for each in verdict.findings if each.action is DlpAction.RAISE}
        raise ClearanceExceeded(clearance=clearance.value, entities=sorted(raising))


def for_review(text: str, findings: Iterable[Finding]) -> list[quarantine.Finding]:
    """What a steward must see before anybody else does."""
    seen: Counter[str] = Counter()
    listed = []
    for each in findings:
        if each.action is DlpAction.QUARANTINE:
            words = text[each.start : each.end]
            key = f"dlp\0{each.entity}\0{words}"
            listed.append(_finding(each, words, f"{key}\0{seen[key]}"))
            seen[key] += 1
    return listed


def without_words(judgement: Judgement, blackened: Mapping[Place, tuple[str, Masks]]) -> Judgement:
    """The same, with no excerpt that quotes what its place has masks for; of a secret few signs are told.

    What a finding means may be put together of several places: where anything is masked none is told.
    """
    if not any(masks for _, masks in blackened.values()):
        return judgement
    shown = {place: masked(text, masks) for place, (text, masks) in blackened.items()}
    findings = tuple(
        each
        if each.place not in shown or each.detector.startswith(DLP)
        else replace(each, excerpt=excerpt_of(shown[each.place][each.start : each.end]), meaning=None)
        for each in judgement.findings
    )
    return replace(judgement, findings=findings)


def _finding(found: Finding, words: str, key: str) -> quarantine.Finding:
    return quarantine.Finding(
        detector=f"{DLP}{found.entity}",
        version=_VERSION,
        reason=quarantine.Reason.SENSITIVE_DATA,
        severity=quarantine.Severity.CRITICAL,
        start=found.start,
        end=found.end,
        place=quarantine.Place.TEXT,
        excerpt=f"{words[:SHOWN]}…",
        meaning=None,
        fingerprint=sha256(key.encode("utf-8", "surrogatepass")).hexdigest(),
    )
