"""What becomes of one document in which a person was found, and of one that is being redacted."""

import asyncio
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.kernel.errors import EaiError
from eai.kernel.ids import BaseId, DocumentId, PrincipalId, TenantId
from eai.knowledge.bases.access import base_of_tenant
from eai.knowledge.documents.deletion import begin_deletion
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.version_rows import ON_ITS_WAY
from eai.knowledge.legal_hold_rows import LegalHoldRows
from eai.platform.jobs import JobRun, Jobs
from eai.privacy.identifiers import Identifiers
from eai.privacy.models import Erasure
from eai.privacy.redaction import NoText, Redaction, may_redact, redacted_version, subject_of
from eai.privacy.repository import DocumentTexts, TextRows
from eai.privacy.schemas import ErasureAction
from eai.privacy.texts import Search, look_through


class Outcome(NamedTuple):
    """What became of a document; `code` says why where it is as it was."""

    name: str
    code: str | None = None


REMOVED, REDACTED, REDACTING = Outcome("removed"), Outcome("redacted"), Outcome("redacting")
HELD = Outcome("held", "under_legal_hold")
NOT_REDACTABLE, FOUND_AGAIN = Outcome("failed", "not_redactable"), Outcome("failed", "found_again")


@dataclass(frozen=True, slots=True)
class Task:
    """One attempt at a search for a person."""

    run: JobRun
    erasure: Erasure
    identifiers: Identifiers

    @property
    def id(self) -> UUID:
        return self.erasure.id

    @property
    def tenant(self) -> TenantId:
        return self.run.tenant

    @property
    def subject(self) -> Subject:
        return subject_of(self.run.tenant, self.erasure.submitter)


async def act_on(
    session: AsyncSession, jobs: Jobs, task: Task, found: DocumentTexts, search: Search
) -> Outcome:
    """Do what is to follow, in the caller's transaction."""
    action = ErasureAction(task.erasure.action)
    if action is ErasureAction.FIND:
        return Outcome("found")
    base_id, document = BaseId(found.row.base_id), DocumentId(found.row.id)
    if await DocumentRows(session, task.tenant, base_id).lock(document) is None:
        return REMOVED
    if await LegalHoldRows(session, task.tenant).is_held(base_id, document):
        return HELD
    base = await base_of_tenant(session, task.tenant, str(base_id))
    # As it is now: somebody may have brought another text since it was looked through.
    now = await TextRows(session, task.tenant).find(document)
    if base is None or now is None:
        return REMOVED
    if action is ErasureAction.REMOVE:
        await begin_deletion(session, jobs, base, document, PrincipalId(task.erasure.requested_by))
        return REMOVED
    redaction = Redaction(session, jobs, task.subject, base, now, task.identifiers)
    return await _redact(session, task, redaction, search)


async def settled(session: AsyncSession, task: Task, base: BaseId, document: DocumentId) -> Outcome | None:
    """What became of a document that is being redacted; None while that is under way."""
    if await DocumentRows(session, task.tenant, base).lock(document) is None:
        return REMOVED
    rows = TextRows(session, task.tenant)
    texts = await rows.find(document)
    wanted = redacted_version(task.id, document)
    version = next((each for each in texts.versions if each.id == wanted), None) if texts else None
    if texts is None or version is None:
        return Outcome("failed", "version_superseded")
    if version.status not in {*ON_ITS_WAY, "ready"}:
        return Outcome("failed", f"text_{version.status}")
    serving = texts.row.serving_version_id or wanted
    if version.status in ON_ITS_WAY or await rows.has_other_chunks(document, serving):
        return None
    # A hold that came meanwhile keeps the former texts.
    if await LegalHoldRows(session, task.tenant).is_held(base, document):
        return HELD
    await rows.forget_before(document, version.number)
    return FOUND_AGAIN if await _is_found(session, task, document) else REDACTED


async def _redact(session: AsyncSession, task: Task, redaction: Redaction, search: Search) -> Outcome:
    if not may_redact([sighting.field for sighting in search.sightings]):
        return NOT_REDACTABLE
    try:
        async with session.begin_nested():
            is_on_its_way = await redaction.begin(task.id)
    except EaiError as error:
        return Outcome("failed", error.code)
    except NoText:
        return NOT_REDACTABLE
    if is_on_its_way:
        return REDACTING
    is_found = await _is_found(session, task, DocumentId(redaction.texts.row.id))
    return FOUND_AGAIN if is_found else REDACTED


async def _is_found(session: AsyncSession, task: Task, document: DocumentId) -> bool:
    """Whether the person is still in what is stored of a document."""
    left = await TextRows(session, task.tenant).find(document)
    if left is None:
        return False
    search = await asyncio.to_thread(look_through, left, task.identifiers)
    return bool(search.sightings)
