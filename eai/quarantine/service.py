"""Examines texts before anything else sees them, and keeps what is held."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeVar
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.kernel.ids import BaseId, PrincipalId, TenantId
from eai.platform.database import Database
from eai.quarantine.catalogue import DETECTORS, PASSAGE_DETECTORS
from eai.quarantine.detectors.drift import DRIFT
from eai.quarantine.errors import ContentRejected, ExaminationFailed, ReviewRequired
from eai.quarantine.examination import compare, examine
from eai.quarantine.judgement import (
    HISTORY,
    Judgement,
    from_row,
    is_weighty,
    judge,
    judge_again,
    to_row,
)
from eai.quarantine.neighbourhood import Span, Vectors
from eai.quarantine.ports import Detector, Finding, PassageDetector, Severity, Specimen
from eai.quarantine.repository import Candidate, QuarantineRows
from eai.quarantine.schemas import FINDINGS_TOLD, FindingOut, finding_out
from eai.quarantine.signature import signature
from eai.tenants.repository import TenantRows

EXAMINED_WITHIN_S = 60.0
"""The detectors read a megabyte a second, and no document is larger than five."""

_Looked = TypeVar("_Looked")
_OF_SURROUNDINGS = frozenset({HISTORY, DRIFT.name, *(each.name for each in PASSAGE_DETECTORS)})
"""The detectors that compare a text with others, which whoever brings it may have no right to read."""

log = structlog.get_logger(__name__)


class Quarantine:
    """Which texts of a tenant may go on, and which wait for a steward."""

    def __init__(
        self,
        database: Database,
        *,
        detectors: Sequence[Detector] = DETECTORS,
        passage_detectors: Sequence[PassageDetector] = PASSAGE_DETECTORS,
        within_s: float = EXAMINED_WITHIN_S,
    ) -> None:
        self._database = database
        self._detectors = detectors
        self._passage_detectors = passage_detectors
        self._within_s = within_s

    async def judge(
        self, candidate: Candidate, specimen: Specimen, known: Sequence[Finding] = ()
    ) -> Judgement:
        """What is found in the text besides what is `known`, and whether it is held.

        Raises ExaminationFailed.
        """
        found, signed = await self._looked_at(specimen, version=str(candidate.version))
        digest = sha256(specimen.text.encode()).digest()
        async with self._database.transaction(candidate.tenant) as session:
            tenant = await TenantRows(session, candidate.tenant).get()
            history = await QuarantineRows(session, candidate.tenant).history(candidate, digest, signed)
        threshold = Severity(tenant.quarantine_threshold)
        return judge([*known, *found], history, threshold, signature=signed, content_hash=digest)

    async def compare(  # noqa: PLR0917 - one call site, in the order of the sentence
        self,
        candidate: Candidate,
        judgement: Judgement,
        specimen: Specimen,
        spans: Sequence[Span],
        vectors: Vectors,
        known: Vectors,
    ) -> Judgement:
        """The judgement with what passages at `spans` are found to be beside those `known` in the base.

        It is of a text that no steward has seen. Raises ExaminationFailed.
        """

        def look() -> Sequence[Finding]:
            return compare(specimen, spans, vectors, known, self._passage_detectors)

        found = await self._in_time(look, version=str(candidate.version))
        return judge_again(judgement, found) if found else judgement

    async def refuse_weighty(self, threshold: Severity, beside: Mapping[str, str]) -> None:
        """Raise ReviewRequired where what is shown with a text would hold it. Raises ExaminationFailed."""
        found, _ = await self._looked_at(Specimen("", "", beside=beside))
        if reasons := sorted({each.reason.value for each in found if is_weighty(each, threshold)}):
            raise ReviewRequired(reasons=reasons)

    async def hold(
        self,
        session: AsyncSession,
        candidate: Candidate,
        judgement: Judgement,
        level: Classification,
        parameters: Mapping[str, Any],
    ) -> None:
        """Keep what a steward will look at. `parameters` are those of the job that ends with it."""
        await QuarantineRows(session, candidate.tenant).hold(
            {
                "version_id": candidate.version,
                "document_id": candidate.document,
                "base_id": candidate.base,
                "threshold": judgement.threshold,
                "classification": level.rank,
                "findings": [to_row(finding) for finding in judgement.findings],
                "signature": judgement.signature,
                "parameters": dict(parameters),
            }
        )

    async def _looked_at(self, specimen: Specimen, **where: str) -> tuple[Sequence[Finding], int | None]:
        return await self._in_time(lambda: self._look_at(specimen), **where)

    async def _in_time(self, look: Callable[[], _Looked], **where: str) -> _Looked:
        try:
            async with asyncio.timeout(self._within_s):
                return await asyncio.to_thread(look)
        except Exception as error:
            # Whatever a detector raises, its text must not pass; a thread that hangs is left to itself.
            log.exception("quarantine.examination_failed", **where)
            raise ExaminationFailed from error

    def _look_at(self, specimen: Specimen) -> tuple[Sequence[Finding], int | None]:
        return examine(specimen, self._detectors), signature(specimen.text)


async def refuse_rejected(session: AsyncSession, tenant: TenantId, base: BaseId, source_hash: bytes) -> None:
    """Raise ContentRejected where a steward has decided that these very bytes stay out of the base."""
    if await QuarantineRows(session, tenant).is_rejected(base, source_hash):
        raise ContentRejected


async def findings_told(
    session: AsyncSession, tenant: TenantId, principal: PrincipalId, document: UUID
) -> list[FindingOut] | None:
    """What was found in the newest text of a document, which is held; to whoever brought that text alone.

    The gravest comes first. What stands against the text's surroundings is a steward's alone to know: it
    would tell of somebody else's text, and what it says. So the list may be empty, as it is for
    every text that is held for something else than its own words.
    """
    held = await QuarantineRows(session, tenant).last_hold(document)
    if held is None or held.parameters["submitter"]["principal"] != str(principal):
        return None
    found = [each for each in map(from_row, held.findings) if each.detector not in _OF_SURROUNDINGS]
    return [finding_out(finding) for finding in found[:FINDINGS_TOLD]]
