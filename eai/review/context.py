"""What stands around a finding, as a steward reads it."""

from eai.quarantine.ports import Finding, Specimen
from eai.quarantine.revealing import reveal
from eai.review.schemas import ContextOut

AROUND = 200
"""Characters shown before and after what was found, and of it."""


def context_of(finding: Finding, specimen: Specimen) -> ContextOut | None:
    """The surroundings of what was found; of a long find the beginning."""
    if finding.start >= finding.end:
        return None
    whole = specimen.whole(finding.place)
    first = max(finding.start - AROUND, 0)
    end = min(finding.end, finding.start + AROUND)
    shown = reveal(whole[first : end + AROUND])
    start, stop = shown.place(finding.start - first, end - first)
    return ContextOut(text=shown.text, start=start, end=stop)
