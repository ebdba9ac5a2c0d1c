"""Findings of a text, as tests like to look at them."""

from collections.abc import Sequence

from eai.ingestion.extraction import extract
from eai.quarantine.catalogue import DETECTORS
from eai.quarantine.examination import examine
from eai.quarantine.ports import Detector, Finding, Severity
from eai.quarantine.specimen import Specimen


def page(source: str, content_type: str = "text/html") -> Specimen:
    """What ingestion makes of a source."""
    return Specimen(extract(source.encode(), content_type), source, content_type)


def findings(text: str, detectors: Sequence[Detector] = DETECTORS) -> tuple[Finding, ...]:
    """Of a text that is its own source."""
    return examine(Specimen.plain(text), detectors)


def held(text: str) -> set[str]:
    """The reasons for which a text would be held."""
    return {str(finding.reason) for finding in findings(text) if finding.severity.reaches(Severity.HIGH)}


def parts(text: str, detectors: Sequence[Detector] = DETECTORS) -> set[tuple[str, str]]:
    """Reason and exact part of the text of each finding."""
    return {(str(one.reason), text[one.start : one.end]) for one in findings(text, detectors)}
