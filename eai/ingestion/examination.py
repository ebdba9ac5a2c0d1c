"""The stage between reading a text and anything that leaves the process with it: its examination."""

from haystack import component

from eai.ingestion.passages import Extract, Manuscript
from eai.platform.pipelines import AsynchronousOnly
from eai.quarantine.judgement import Judgement, masked
from eai.quarantine.ports import Specimen
from eai.quarantine.repository import Candidate
from eai.quarantine.service import Quarantine


class HeldBack(Exception):
    """The text must be seen by a data steward before anybody else sees it."""

    def __init__(self, extract: Extract, judgement: Judgement) -> None:
        super().__init__()
        self.extract = extract
        self.judgement = judgement


@component
class ExamineText:
    """Let a text pass that nothing stands against, without what a steward has had blackened."""

    def __init__(self, quarantine: Quarantine) -> None:
        self._quarantine = quarantine

    @component.output_types(extract=Extract)
    def run(self, manuscript: Manuscript, extract: Extract) -> dict[str, Extract]:  # noqa: ARG002
        raise AsynchronousOnly

    @component.output_types(extract=Extract)
    async def run_async(self, manuscript: Manuscript, extract: Extract) -> dict[str, Extract]:
        """Raises HeldBack, and ExaminationFailed where nobody can say what is in the text."""
        source = manuscript.source.decode("utf-8-sig")
        specimen = Specimen(extract.text, source, manuscript.content_type)
        judgement = await self._quarantine.judge(candidate_of(manuscript), specimen)
        if judgement.is_held:
            raise HeldBack(extract, judgement)
        return {"extract": Extract(masked(extract.text, judgement.masks), extract.language)}


def candidate_of(manuscript: Manuscript) -> Candidate:
    """The manuscript as quarantine knows it."""
    return Candidate(manuscript.tenant, manuscript.base, manuscript.document, manuscript.version)
