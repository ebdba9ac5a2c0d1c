"""Whether a piece of text speaks to a model: the phrase detectors, for texts that lie inside others."""

from collections.abc import Iterator, Sequence

from eai.quarantine.detectors.abnormal_instructions import ABNORMAL_INSTRUCTIONS
from eai.quarantine.detectors.exfiltration import EXFILTRATION
from eai.quarantine.detectors.jailbreak import JAILBREAK
from eai.quarantine.detectors.override import OVERRIDE
from eai.quarantine.detectors.prompt_extraction import PROMPT_EXTRACTION
from eai.quarantine.detectors.tool_abuse import TOOL_ABUSE
from eai.quarantine.ports import Detector, Mark
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Specimen

PHRASE_DETECTORS: Sequence[Detector] = (
    OVERRIDE, JAILBREAK, PROMPT_EXTRACTION, EXFILTRATION, TOOL_ABUSE, ABNORMAL_INSTRUCTIONS,
)  # fmt: skip


def instructions_in(text: str) -> Iterator[Mark]:
    """Everything in `text` that is meant for a model, beyond doubt."""
    specimen = Specimen.plain(text)
    for detector in PHRASE_DETECTORS:
        for mark in detector.marks(specimen):
            if mark.severity.reaches(Severity.HIGH):
                yield mark


def speaks_to_model(text: str) -> bool:
    """Whether anything in `text` is meant for a model, beyond doubt."""
    return next(instructions_in(text), None) is not None
