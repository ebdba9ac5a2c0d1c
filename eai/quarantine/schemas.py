"""Findings as clients read them."""

from eai.platform.i18n import Language
from eai.quarantine.ports import Finding, Place, Reason, Severity
from eai.tenants.schemas import Schema

FINDINGS_TOLD = 20
"""The gravest findings of one text, where not all of them are wanted."""


class ReasonOut(Schema):
    """Why something was found: a stable code, and what it means."""

    code: Reason
    message_i18n: dict[Language, str]


class FindingOut(Schema):
    """What was found at `[start, end)` of `place`: the extracted text, or the source it was made of.

    `excerpt` is its beginning with whatever is invisible in it written out; `meaning` what it says to a model
    where that is not plain to see.
    """

    detector: str
    severity: Severity
    start: int
    end: int
    place: Place
    excerpt: str
    meaning: str | None
    reason: ReasonOut


def finding_out(finding: Finding) -> FindingOut:
    """The finding with the words of its reason."""
    return FindingOut(**fields_of(finding))


def fields_of(finding: Finding) -> dict[str, object]:
    """The fields of the finding's answer."""
    return {
        "detector": finding.detector,
        "severity": finding.severity,
        "start": finding.start,
        "end": finding.end,
        "place": finding.place,
        "excerpt": finding.excerpt,
        "meaning": finding.meaning,
        "reason": ReasonOut(code=finding.reason, message_i18n=dict(finding.reason.words)),
    }
