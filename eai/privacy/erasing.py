"""Carries an erasure out: document by document, then what was redacted, then the details of the audit.

Each document's outcome commits with how far the job is, so that an attempt that follows one that died goes on
with the next document.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.actions import AuditAction
from eai.audit.details import Details
from eai.audit.entries import SYSTEM, Resource
from eai.audit.service import Audit
from eai.kernel.canonical import Canonical
from eai.kernel.errors import EaiError
from eai.kernel.ids import BaseId, DocumentId, TenantId
from eai.platform.database import Database
from eai.platform.handlers import Group, JobHandler
from eai.platform.jobs import JobRun, Jobs
from eai.platform.keys import Keyring
from eai.privacy.identifiers import Identifiers
from eai.privacy.models import Erasure
from eai.privacy.officer import clearance_of
from eai.privacy.outcomes import (
    ANSWERS,
    REDACTING,
    Look,
    Outcome,
    Task,
    act_on,
    as_it_is,
    look_again,
    look_at,
    settled,
    standing,
)
from eai.privacy.repository import ErasureRows
from eai.privacy.service import ERASE, identifiers_resealed, open_identifiers
from eai.privacy.text_rows import DocumentState, TextRows
from eai.privacy.texts import Search, Texts

LOOK_AGAIN_AFTER_S = 2
TRIES = 5
"""How often a document is looked through that changes meanwhile, until it is left as it is."""
_FIRST = UUID(int=0)


class Erasing:
    """One per process."""

    def __init__(
        self, database: Database, keyring: Keyring, details: Details, jobs: Jobs, audit: Audit
    ) -> None:
        self._database = database
        self._keyring = keyring
        self._details = details
        self._jobs = jobs
        self._audit = audit

    def handlers(self) -> Mapping[str, JobHandler]:
        """What a worker runs for each job of this slice."""
        return {ERASE: JobHandler(self.run, self.give_up, Group.MAINTENANCE)}

    async def run(self, run: JobRun) -> None:
        """Go through all documents, and end once nothing is under way any more. Raises Fenced."""
        erasure, identifiers = await self._begin(run)
        if identifiers is not None:
            task = await self._readable(Task(run, erasure, identifiers))
            await self._search(task)
            if not await self._settle(task):
                async with self._database.transaction(run.tenant) as session:
                    await self._jobs.hand_back(
                        session, run, after_s=LOOK_AGAIN_AFTER_S, counts_as_failure=False
                    )
                return
        await self._finish(run, erasure)

    async def give_up(self, run: JobRun, error: EaiError) -> None:
        """Close the erasure as failed; what it has removed stays removed, and what it looked for is gone."""
        id_ = UUID(run.parameters["erasure"])
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.fail(session, run, error)
            await ErasureRows(session, run.tenant).close(id_, "failed", error.code)
            facts: dict[str, Canonical] = {"code": error.code}
            action, resource = AuditAction.PRIVACY_ERASURE_FAILED, Resource("erasure", str(id_))
            await self._record(session, run.tenant, action, resource, facts)

    async def _begin(self, run: JobRun) -> tuple[Erasure, Identifiers | None]:
        """The erasure, and whom to look for; None where only details are to be erased."""
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            erasure = await ErasureRows(session, run.tenant).get(UUID(run.parameters["erasure"]))
        if erasure.identifiers is None:
            return erasure, None
        values = await open_identifiers(self._keyring, run.tenant, erasure.id, erasure.identifiers)
        return erasure, Identifiers.of(values) if values else None

    async def _search(self, task: Task) -> None:
        after, texts = UUID(task.run.progress.get("after", str(_FIRST))), self._texts(task)
        tries: Counter[UUID] = Counter()
        while (document := await self._next(task, after)) is not None:
            task = await self._readable(task)
            look = await look_at(texts, task, document)
            tries[document.row.id] += 1
            if await self._keep(task, look, is_last_try=tries[document.row.id] >= TRIES):
                after, tries = document.row.id, Counter()

    async def _readable(self, task: Task) -> Task:
        """The task, with what it looks for under the tenant's newest key: it may outlive a former one."""
        id_, sealed = task.id, task.erasure.identifiers
        assert sealed is not None
        anew = await identifiers_resealed(self._keyring, task.tenant, id_, sealed)
        if anew is None:
            return task
        async with self._database.transaction(task.tenant) as session:
            # One that was cancelled meanwhile has nothing any more that it looked for.
            await self._jobs.confirm(session, task.run)
            rows = ErasureRows(session, task.tenant)
            await rows.change(id_, {"identifiers": anew})
            return replace(task, erasure=await rows.get(id_))

    async def _next(self, task: Task, after: UUID) -> DocumentState | None:
        async with self._database.transaction(task.tenant) as session:
            await self._jobs.confirm(session, task.run)
            clearance = await clearance_of(session, task.erasure)
            return await TextRows(session, task.tenant).next(after, clearance)

    async def _keep(self, task: Task, look: Look, *, is_last_try: bool) -> bool:
        """Do what is to follow for a document in the commit that says how far the job is.

        False where the document has to be looked at again: it is another one by now, gone, or too high.
        """
        document = DocumentId(look.document.row.id)
        async with self._database.transaction(task.tenant) as session:
            await self._jobs.confirm(session, task.run)
            now = await as_it_is(session, task, look)
            # After the lock, however long it took to get it.
            if now is None or now.level > await clearance_of(session, task.erasure):
                return False
            is_another = now.mark != look.document.mark
            if is_another and not is_last_try:
                return False
            await self._jobs.confirm(session, task.run, {"after": str(document)}, is_further=True)
            await ErasureRows(session, task.tenant).count(task.id, look.search.unread)
            if look.search.is_found or is_another:
                outcome = await act_on(session, self._jobs, task, now, look)
                await self._note(session, task, look, outcome)
            return True

    async def _note(self, session: AsyncSession, task: Task, look: Look, outcome: Outcome) -> None:
        """Keep and audit what became of a document in which the person was found."""
        row = look.document.row
        values = _found(look.document, look.search) | {"outcome": outcome.name, "code": outcome.code}
        await ErasureRows(session, task.tenant).add_found(task.id, values)
        resource, base = Resource("document", str(row.id)), str(row.base_id)
        # Redaction changes a document as people do, also where it does not come to what was asked.
        change: dict[str, Canonical] = {"base": base, "erasure": str(task.id)}
        if outcome == REDACTING:
            await self._record(session, task.tenant, AuditAction.DOCUMENT_REPLACE, resource, change)
        if outcome.changed:
            change["changed"] = sorted(outcome.changed)
            await self._record(session, task.tenant, AuditAction.DOCUMENT_UPDATE, resource, change)
        facts: dict[str, Canonical] = {"erasure": str(task.id), "base": base, "outcome": outcome.name}
        await self._record(session, task.tenant, AuditAction.PRIVACY_DOCUMENT_FOUND, resource, facts)

    async def _settle(self, task: Task) -> bool:
        """Look after what is being redacted; whether all of it has come to an end."""
        async with self._database.transaction(task.tenant) as session:
            waiting = await ErasureRows(session, task.tenant).with_outcome(task.id, "redacting")
        ends = [
            await self._settle_one(task, BaseId(each.base_id), DocumentId(each.document_id))
            for each in waiting
        ]
        return all(ends)

    async def _settle_one(self, task: Task, base: BaseId, document: DocumentId) -> bool:
        async with self._database.transaction(task.tenant) as session:
            await self._jobs.confirm(session, task.run)
            state, outcome = await standing(session, task, document)
        look = (
            await look_again(self._texts(task), task, state)
            if state is not None and outcome is ANSWERS
            else None
        )
        async with self._database.transaction(task.tenant) as session:
            await self._jobs.confirm(session, task.run)
            outcome = await settled(session, task, base, document, look)
            if outcome is None:
                return False
            await ErasureRows(session, task.tenant).settle(task.id, document, outcome.name, outcome.code)
            facts: dict[str, Canonical] = {
                "erasure": str(task.id), "base": str(base), "outcome": outcome.name,
            }  # fmt: skip
            resource = Resource("document", str(document))
            await self._record(session, task.tenant, AuditAction.PRIVACY_DOCUMENT_REDACTED, resource, facts)
            return True

    async def _finish(self, run: JobRun, erasure: Erasure) -> None:
        tenant, principal = run.tenant, erasure.principal_id
        async with self._database.transaction(tenant) as session:
            await self._jobs.complete(session, run)
            rows, erased = ErasureRows(session, tenant), None
            if principal is not None:
                await clearance_of(session, erasure)
                erased = await self._details.erase(session, tenant, principal)
                about: dict[str, Canonical] = {"erasure": str(erasure.id), "had_details": erased}
                resource = Resource("principal", str(principal))
                await self._record(session, tenant, AuditAction.AUDIT_DETAILS_ERASE, resource, about)
            await rows.complete(erasure.id, details_erased=erased)
            outcomes = (await rows.outcomes([erasure.id]))[erasure.id]
            facts: dict[str, Canonical] = {"documents": dict(outcomes), "details_erased": erased}
            resource = Resource("erasure", str(erasure.id))
            await self._record(session, tenant, AuditAction.PRIVACY_ERASURE_COMPLETE, resource, facts)

    def _texts(self, task: Task) -> Texts:
        return Texts(self._database, task.tenant, task.identifiers)

    async def _record(
        self,
        session: AsyncSession,
        tenant: TenantId,
        action: AuditAction,
        resource: Resource,
        facts: Mapping[str, Canonical],
    ) -> None:
        await self._audit.record(session, SYSTEM, action, tenant=tenant, resource=resource, facts=facts)


def _found(found: DocumentState, search: Search) -> dict[str, object]:
    return {
        "document_id": found.row.id,
        "base_id": found.row.base_id,
        "classification": found.level,
        "places": sorted(search.fields),
        "versions": sorted(search.versions),
        "entities": sorted(search.entities),
        "occurrences": search.occurrences,
        "by_identifier": search.by_identifier,
    }
