"""The stage between reading a text and anything that leaves the process with it: its examination."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from haystack import component

from eai.access.classification import Classification, highest
from eai.connectors.stamps import stamp_borne
from eai.dlp.errors import DlpUnavailable
from eai.dlp.ports import DlpAction, DlpRules, Finding, Scanner, Verdict
from eai.dlp.rules import rules_of
from eai.ingestion.fields import FieldExamination
from eai.ingestion.former_rows import FormerText, former_text
from eai.ingestion.passages import Examined, Extract, Manuscript
from eai.ingestion.screening import (
    Screening,
    for_review,
    masks_of,
    refuse_above,
    refuse_blocked,
    without_words,
)
from eai.platform.database import Database
from eai.platform.pipelines import AsynchronousOnly
from eai.quarantine.errors import ExaminationFailed
from eai.quarantine.judgement import Judgement, Masks, masked
from eai.quarantine.ports import Place, Specimen
from eai.quarantine.repository import Candidate
from eai.quarantine.service import Quarantine


class HeldBack(Exception):
    """The text must be seen by a data steward before anybody else sees it. `level` is what it is worth.

    `blackened` is what nobody is to read of it, the steward neither, by the place that it counts in.
    """

    def __init__(
        self,
        extract: Extract,
        judgement: Judgement,
        level: Classification,
        blackened: Mapping[Place, Masks],
    ) -> None:
        super().__init__()
        self.extract = extract
        self.judgement = judgement
        self.level = level
        self.blackened = blackened


@component
class ExamineText:
    """Let a text pass that nothing stands against, without what must not be in it.

    What comes out is the text that is embedded, stored and shown, and the manuscript with the level that it
    is worth and the parts as they count in it; and the text as it was, with all that was found.
    """

    def __init__(
        self, database: Database, scanner: Scanner, quarantine: Quarantine, fields: FieldExamination
    ) -> None:
        self._database = database
        self._scanner = scanner
        self._quarantine = quarantine
        self._fields = fields

    @component.output_types(extract=Extract, manuscript=Manuscript, examined=Examined)
    def run(self, manuscript: Manuscript, extract: Extract) -> dict[str, Any]:  # noqa: ARG002
        raise AsynchronousOnly

    @component.output_types(extract=Extract, manuscript=Manuscript, examined=Examined)
    async def run_async(self, manuscript: Manuscript, extract: Extract) -> dict[str, Any]:
        """Raises HeldBack, DlpBlocked, ClearanceExceeded, SourceConnectorRefused.

        ExaminationFailed where nobody can say what is in the text.
        """
        with _once_for_all():
            return await self._examined(manuscript, extract)

    async def _examined(self, manuscript: Manuscript, extract: Extract) -> dict[str, Any]:
        async with self._database.transaction(manuscript.tenant) as session:
            rules = await rules_of(session, manuscript.tenant)
            former = await former_text(
                session, manuscript.tenant, manuscript.document, manuscript.version, extract.text
            )
        beside = await self._fields.verdict(manuscript.fields, rules)
        verdict = await self._scanner.scan([extract.text], rules)
        refuse_blocked(verdict)
        refuse_blocked(beside, DlpAction.QUARANTINE)
        for each in (beside, verdict):
            refuse_above(manuscript.submitter.clearance, each)
        await self._refuse_not_brought(manuscript, verdict.level, beside.level)
        judgement = await self._judge(manuscript, extract, verdict, former)
        level = highest(manuscript.level, verdict.level, beside.level)
        if judgement.is_held:
            found = verdict.findings
            raise await held_back(self._scanner, manuscript, extract, found, rules, judgement, level)
        text = masked(extract.text, judgement.masks)
        if judgement.masks:
            verdict = await self._scanner.scan([text], rules)
        screening = Screening.of(text, verdict, rules, is_blackened=bool(judgement.masks))
        return {
            "examined": Examined(extract, judgement, screening),
            "extract": Extract(screening.redacted.text, extract.language),
            "manuscript": replace(
                manuscript,
                level=level,
                spans=screening.moved(manuscript.spans),
                screening=screening,
                field_level=beside.level,
            ),
        }

    async def _refuse_not_brought(self, manuscript: Manuscript, *found: Classification | None) -> None:
        """Raise SourceConnectorRefused where the source does not bring the level that the text is raised to.

        What nobody has raised was judged when it was accepted.
        """
        level = highest(manuscript.document_level, *found)
        if level is not manuscript.document_level:
            async with self._database.transaction(manuscript.tenant) as session:
                source = await stamp_borne(session, manuscript.tenant, manuscript.source_connector)
            source.require_levels([level])

    async def _judge(
        self, manuscript: Manuscript, extract: Extract, verdict: Verdict, former: FormerText | None
    ) -> Judgement:
        beside = dict(manuscript.fields.texts)
        compared = None
        if former is not None:
            compared = await asyncio.to_thread(former.before, extract.text, verdict.findings)
        specimen = Specimen(extract.text, _source(manuscript), manuscript.content_type, beside, compared)
        found = for_review(extract.text, verdict.findings)
        return await self._quarantine.judge(candidate_of(manuscript), specimen, found)


async def held_back(  # noqa: PLR0917 - in the order of what was found
    scanner: Scanner,
    manuscript: Manuscript,
    extract: Extract,
    found: Sequence[Finding],
    rules: DlpRules,
    judgement: Judgement,
    level: Classification,
) -> HeldBack:
    """The text as a steward will see it: without what the rules of the tenant take out of it.

    Raises ExaminationFailed.
    """
    texts = {Place.TEXT: extract.text, Place.SOURCE: _source(manuscript)}
    of_source = found
    if texts[Place.SOURCE] != extract.text and DlpAction.REDACT in rules.values():
        with _once_for_all():
            of_source = (await scanner.scan([texts[Place.SOURCE]], rules)).findings
    masks = {Place.TEXT: masks_of(found), Place.SOURCE: masks_of(of_source)}
    told = without_words(judgement, {place: (texts[place], masks[place]) for place in masks})
    return HeldBack(extract, told, level, masks)


@contextmanager
def _once_for_all() -> Iterator[None]:
    """Fail where DLP does: the text may be what it fails at, and a worker would wait for it for ever."""
    try:
        yield
    except DlpUnavailable as error:
        raise ExaminationFailed from error


def _source(manuscript: Manuscript) -> str:
    return manuscript.source.decode("utf-8-sig")


def candidate_of(manuscript: Manuscript) -> Candidate:
    """The manuscript as quarantine knows it."""
    return Candidate(manuscript.tenant, manuscript.base, manuscript.document, manuscript.version)
