"""What is held, what a decision covers, and what a redaction takes away."""

from collections import Counter
from dataclasses import replace

import pytest

from eai.quarantine.judgement import (
    HISTORY,
    Covered,
    History,
    Judgement,
    covered_from,
    covered_rows,
    from_row,
    judge,
    masked,
    masks_of,
    to_row,
)
from eai.quarantine.ports import Finding, Place, Reason, Severity

GRAVE = Finding(
    detector="override",
    version=3,
    reason=Reason.OVERRIDES_INSTRUCTIONS,
    severity=Severity.HIGH,
    start=4,
    end=10,
    place=Place.TEXT,
    excerpt="Ignore",
    meaning=None,
    fingerprint="f1",
)
MILD = replace(GRAVE, detector="zero_width", severity=Severity.LOW, start=0, end=1, fingerprint="f2")


def judged(*found: Finding, history: History | None = None, threshold: Severity = Severity.HIGH) -> Judgement:
    return judge(found, history or History(), threshold, signature=7, content_hash=b"h")


def covered(finding: Finding, **changes: object) -> Covered:
    kept = covered_from(covered_rows([finding]))[0]
    return replace(kept, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("threshold", "is_held"),
    [(Severity.LOW, True), (Severity.MEDIUM, True), (Severity.HIGH, True), (Severity.CRITICAL, False)],
)
def test_a_finding_holds_a_text_from_the_threshold_on(threshold: Severity, is_held: bool) -> None:
    assert judged(GRAVE, threshold=threshold).is_held is is_held


def test_nothing_found_holds_nothing() -> None:
    assert judged().is_held is False
    assert judged(MILD).is_held is False


def test_a_full_list_of_weighty_findings_is_never_covered() -> None:
    many = [replace(GRAVE, fingerprint=str(number)) for number in range(1_000)]
    seen = History(covered=[covered(finding) for finding in many])
    assert judged(*many, history=seen).is_held is True
    assert judged(*many[1:], history=seen).is_held is False
    assert judged(*many[1:], MILD, history=seen).is_held is False
    assert judged(*many[1:], replace(MILD, severity=Severity.MEDIUM), history=seen).is_held is False
    # What was let pass at one threshold is a full list at a lower one.
    seen = History(covered=[*seen.covered, covered(MILD)])
    assert judged(*many[1:], MILD, history=seen, threshold=Severity.LOW).is_held is True


def test_of_what_is_found_by_whomever_the_gravest_are_kept_and_what_surrounds_it_as_well() -> None:
    many = [replace(GRAVE, fingerprint=str(number)) for number in range(1_500)]
    verdict = judged(MILD, *many, history=History(follows_held=True))
    assert len(verdict.findings) == 1_001
    assert Counter(finding.severity for finding in verdict.findings) == {Severity.HIGH: 1_001}
    assert verdict.findings[0].detector == HISTORY


def test_the_gravest_is_told_first() -> None:
    assert [f.fingerprint for f in judged(MILD, GRAVE).findings] == ["f1", "f2"]


@pytest.mark.parametrize(
    ("change", "is_held"),
    [
        ({}, False),
        ({"severity": Severity.CRITICAL}, False),
        ({"severity": Severity.MEDIUM}, True),
        ({"version": 2}, True),
        ({"version": 4}, True),
        ({"fingerprint": "other"}, True),
    ],
)
def test_a_release_covers_the_same_finding_and_nothing_worse_or_newer(
    change: dict[str, object], is_held: bool
) -> None:
    history = History(covered=[covered(GRAVE, **change)])
    assert judged(GRAVE, history=history).is_held is is_held


def test_a_release_does_not_cover_what_else_is_found() -> None:
    history = History(covered=[covered(GRAVE)])
    assert judged(GRAVE, replace(GRAVE, fingerprint="new"), history=history).is_held


@pytest.mark.parametrize(
    ("history", "reason"),
    [
        (History(follows_held=True), Reason.FOLLOWS_HELD),
        (History(is_near_duplicate=True), Reason.NEAR_DUPLICATE),
    ],
)
def test_the_company_that_a_text_keeps_holds_it_at_every_threshold(history: History, reason: Reason) -> None:
    verdict = judged(history=history, threshold=Severity.CRITICAL)
    assert verdict.is_held
    assert [(f.detector, f.reason, f.start, f.end) for f in verdict.findings] == [(HISTORY, reason, 0, 0)]
    assert reason.words["en"]
    released = replace(history, covered=covered_from(covered_rows(verdict.findings)))
    assert not judged(history=released).is_held


def test_a_mask_keeps_every_offset() -> None:
    assert masked("abcdefgh", ((2, 4), (3, 6), (7, 8))) == "ab████g█"
    assert masked("abc", ()) == "abc"


def test_what_held_a_text_is_masked_and_nothing_else() -> None:
    source = replace(GRAVE, place=Place.SOURCE, start=0, end=90)
    company = History(follows_held=True).findings()
    assert masks_of([GRAVE, MILD, source, *company], Severity.HIGH) == ((4, 10),)
    assert masks_of([GRAVE, MILD], Severity.LOW) == ((4, 10), (0, 1))


def test_a_finding_is_what_it_was_when_it_was_stored() -> None:
    assert from_row(to_row(GRAVE)) == GRAVE
