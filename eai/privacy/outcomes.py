"""What becomes of one document in which a person was found, and of one that is being redacted."""

from collections.abc import Sequence
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
from eai.privacy.blackening import may_redact
from eai.privacy.identifiers import Identifiers
from eai.privacy.models import Erasure
from eai.privacy.officer import clearance_of
from eai.privacy.redaction import (
    Redacted,
    Redaction,
    redacted,
    redacted_version,
    reviewed_without,
    subject_of,
)
from eai.privacy.review_rows import Reviewed, ReviewTextRows
from eai.privacy.schemas import ErasureAction
from eai.privacy.text_rows import DocumentState, TextRows, Version
from eai.privacy.texts import Search, Texts


class Outcome(NamedTuple):
    """What became of a document; `code` says why it is not as was asked, `changed` which fields differ."""

    name: str
    code: str | None = None
    changed: frozenset[str] = frozenset()


FOUND, REMOVED = Outcome("found"), Outcome("removed")
REDACTED, REDACTING = Outcome("redacted"), Outcome("redacting")
HELD = Outcome("held", "under_legal_hold")
NOT_REDACTABLE, FOUND_AGAIN = Outcome("failed", "not_redactable"), Outcome("failed", "found_again")
CHANGING, ABOVE = Outcome("failed", "document_changing"), Outcome("failed", "clearance_exceeded")
TEXT_FAILED = Outcome("failed", "text_failed")
ANSWERS = Outcome("answers")
"""The new text answers, and what it was made of can be emptied; what became of it is still to be seen."""


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
    def action(self) -> ErasureAction:
        return ErasureAction(self.erasure.action)

    @property
    def tenant(self) -> TenantId:
        return self.run.tenant

    @property
    def subject(self) -> Subject:
        return subject_of(self.run.tenant, self.erasure.submitter)


class Look(NamedTuple):
    """A document as it stood when it was looked through, what came of it, and what it is to become.

    `reviewed` is what is to be kept of its reviews, which outlive it.
    """

    document: DocumentState
    search: Search
    redacted: Redacted | None = None
    reviewed: Reviewed | None = None


async def look_at(texts: Texts, task: Task, document: DocumentState) -> Look:
    """Look through a document, and prepare what it is to become, while nobody holds it."""
    search = await texts.look_through(document)
    if search.is_found and task.action is ErasureAction.REMOVE:
        return Look(document, search, reviewed=await reviewed_without(texts, document))
    if search.is_found and task.action is ErasureAction.REDACT and may_redact(search.fields):
        return Look(document, search, await redacted(texts, task.id, document, search))
    return Look(document, search)


async def as_it_is(session: AsyncSession, task: Task, look: Look) -> DocumentState | None:
    """The document that was looked at as it is now, held where something is to follow."""
    row = look.document.row
    id_ = DocumentId(row.id)
    is_to_change = task.action is not ErasureAction.FIND and look.search.is_found
    if is_to_change and await DocumentRows(session, task.tenant, BaseId(row.base_id)).lock(id_) is None:
        return None
    # A statement of its own, after the lock: what the wait for it made visible must be seen.
    return await TextRows(session, task.tenant).find(id_)


async def act_on(session: AsyncSession, jobs: Jobs, task: Task, now: DocumentState, look: Look) -> Outcome:
    """Do what is to follow, in the caller's transaction, which holds the document."""
    if not look.search.is_found or task.action is ErasureAction.FIND:
        # Where nobody was found, it is another document by now, and nobody knows what that one holds.
        return FOUND if look.search.is_found else CHANGING
    base_id, document = BaseId(now.row.base_id), DocumentId(now.row.id)
    if await LegalHoldRows(session, task.tenant).is_held(base_id, document):
        return HELD
    base = await base_of_tenant(session, task.tenant, str(base_id))
    if base is None:
        return REMOVED
    if task.action is ErasureAction.REMOVE:
        await _forget_reviews(session, task, now.versions, look.reviewed)
        await begin_deletion(session, jobs, base, document, PrincipalId(task.erasure.requested_by))
        return REMOVED
    if now.mark != look.document.mark:
        return CHANGING
    return await _redact(session, Redaction(session, jobs, task.subject, base, now), look.redacted)


async def standing(
    session: AsyncSession, task: Task, document: DocumentId
) -> tuple[DocumentState | None, Outcome | None]:
    """A document that is being redacted, and what became of it; ANSWERS once the new text is all there is."""
    rows = TextRows(session, task.tenant)
    state = await rows.find(document)
    if state is None:
        return None, REMOVED
    version = _redacted_in(state, task)
    if version is None:
        return state, Outcome("failed", "version_superseded")
    if version.status not in {*ON_ITS_WAY, "ready"}:
        return state, Outcome("failed", f"text_{version.status}")
    serving = state.row.serving_version_id or version.id
    if version.status in ON_ITS_WAY or await rows.has_other_chunks(document, serving):
        return state, None
    return state, ABOVE if state.level > await clearance_of(session, task.erasure) else ANSWERS


async def look_again(texts: Texts, task: Task, document: DocumentState) -> Look:
    """Look through what is left of a document once its former texts are gone."""
    version = _redacted_in(document, task)
    return Look(document, await texts.look_through(document, since=0 if version is None else version.number))


async def settled(
    session: AsyncSession, task: Task, base: BaseId, document: DocumentId, look: Look | None
) -> Outcome | None:
    """What became of a document that is being redacted; None while that is under way."""
    if await DocumentRows(session, task.tenant, base).lock(document) is None:
        return REMOVED
    state, outcome = await standing(session, task, document)
    if outcome == TEXT_FAILED and await LegalHoldRows(session, task.tenant).is_held(base, document):
        # A hold that came meanwhile keeps the words that the text was to replace.
        return HELD
    if state is None or outcome is not ANSWERS:
        return outcome
    version = _redacted_in(state, task)
    if look is None or version is None or state.mark != look.document.mark:
        return None
    # A hold that came meanwhile keeps the former texts.
    if await LegalHoldRows(session, task.tenant).is_held(base, document):
        return HELD
    await TextRows(session, task.tenant).forget_before(document, version.number)
    await _forget_reviews(session, task, [each for each in state.versions if each.number < version.number])
    return FOUND_AGAIN if look.search.is_found else REDACTED


async def _forget_reviews(
    session: AsyncSession, task: Task, versions: Sequence[Version], reviewed: Reviewed | None = None
) -> None:
    """Leave nothing of versions that go in what was decided on them: it outlives them."""
    rows = ReviewTextRows(session, task.tenant)
    if reviewed is not None:
        await rows.rewrite(reviewed)
    await rows.forget([version.id for version in versions])


def _redacted_in(document: DocumentState, task: Task) -> Version | None:
    wanted = redacted_version(task.id, DocumentId(document.row.id))
    return next((version for version in document.versions if version.id == wanted), None)


async def _redact(session: AsyncSession, redaction: Redaction, redacted: Redacted | None) -> Outcome:
    if redacted is None:
        return NOT_REDACTABLE
    try:
        async with session.begin_nested():
            changed = await redaction.begin(redacted)
    except EaiError as error:
        return Outcome("failed", error.code)
    if changed is None:
        return REDACTING
    return (REDACTED if redacted.is_clean else FOUND_AGAIN)._replace(changed=changed)
