"""What stands around a finding, as a steward reads it."""

from collections.abc import Iterable
from dataclasses import replace

from eai.ingestion.screening import DLP, SHOWN
from eai.kernel.masking import MASK
from eai.quarantine.judgement import masked
from eai.quarantine.ports import Finding, Specimen
from eai.quarantine.revealing import reveal
from eai.review.schemas import ContextOut

AROUND = 200
"""Characters shown before and after what was found, and of it."""


def without_secrets(specimen: Specimen, found: Iterable[Finding]) -> Specimen:
    """The same, with what DLP has found in it blackened but for its beginning.

    A steward judges a text, and is on no access list: they need no keys. A source that spells them otherwise
    than its text is left out whole.
    """
    secrets = [
        (each.start, each.end)
        for each in found
        if each.detector.startswith(DLP) and each.end - each.start > SHOWN
    ]
    blackened = [(start + SHOWN, end) for start, end in secrets]
    source = specimen.source
    for start, end in secrets:
        whole = specimen.text[start:end]
        source = source.replace(whole, whole[:SHOWN] + MASK * (len(whole) - SHOWN)) if whole in source else ""
    return replace(specimen, text=masked(specimen.text, blackened), source=source)


def holds_secrets(found: Iterable[Finding]) -> bool:
    """Whether DLP is among those who have found something."""
    return any(each.detector.startswith(DLP) for each in found)


def without_quotes(finding: Finding, shown: Specimen | None) -> Finding:
    """A finding in a text that holds secrets, with no more of it than is `shown`."""
    if finding.detector.startswith(DLP):
        return finding
    words = "" if shown is None else shown.whole(finding.place)[finding.start : finding.end]
    return replace(finding, excerpt=f"{reveal(words[:AROUND]).text}…", meaning=None)


def context_of(finding: Finding, specimen: Specimen) -> ContextOut | None:
    """The surroundings of what was found; of a long find the beginning."""
    if finding.start >= finding.end:
        return None
    whole = specimen.whole(finding.place)
    if not whole:
        return None
    first = max(finding.start - AROUND, 0)
    end = min(finding.end, finding.start + AROUND)
    shown = reveal(whole[first : end + AROUND])
    start, stop = shown.place(finding.start - first, end - first)
    return ContextOut(text=shown.text, start=start, end=stop)
