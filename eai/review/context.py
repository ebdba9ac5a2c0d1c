"""What stands around a finding, as a steward reads it."""

from collections.abc import Iterable
from dataclasses import replace

from eai.ingestion.screening import DETECTORS, SHOWN
from eai.kernel.masking import MASK
from eai.quarantine.judgement import masked
from eai.quarantine.ports import Finding, Specimen
from eai.quarantine.revealing import reveal
from eai.review.schemas import ContextOut

AROUND = 200
"""Characters shown before and after what was found, and of it."""


def without_secrets(specimen: Specimen, found: Iterable[Finding]) -> Specimen:
    """The same, with what DLP has found in it blackened but for its beginning.

    A steward judges a text, and is on no access list: they need no keys.
    """
    secrets = [
        (each.start + SHOWN, each.end)
        for each in found
        if each.detector.startswith(DETECTORS) and each.end - each.start > SHOWN
    ]
    source = specimen.source
    for start, end in secrets:
        source = source.replace(specimen.text[start:end], MASK * (end - start))
    return replace(specimen, text=masked(specimen.text, secrets), source=source)


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
