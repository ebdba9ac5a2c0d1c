"""Erasures as privacy officers ask for them and follow them."""

from collections import Counter
from typing import Any, cast
from uuid import UUID, uuid4

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Evidence, Resource
from eai.audit.repository import AuditRows
from eai.audit.service import Audit
from eai.identity.errors import PrincipalUnknown
from eai.identity.repository import PrincipalRows
from eai.identity.secret_holders import SecretHolders
from eai.kernel.ids import JobId, TenantId
from eai.kernel.paging import Page, PageRequest
from eai.knowledge.documents.submitter import submitter
from eai.platform.jobs import Jobs
from eai.platform.keys import Keyring
from eai.platform.listing import next_key
from eai.privacy.errors import SelfErasureForbidden
from eai.privacy.identifiers import entity_of
from eai.privacy.models import Erasure, FoundDocument
from eai.privacy.recall import recall_of
from eai.privacy.repository import ErasureRows
from eai.privacy.schemas import ErasureAction, ErasureOut, FoundDocumentOut, NewErasure

ERASE = "privacy.erase"
_PURPOSE = "privacy"
_CANCELLED = "erasure_cancelled"
_UNKNOWN = ""
"""What stands in the row for an identifier that DLP does not take for an entity."""


class Erasures:
    """What a privacy officer does, in every base of the tenant, up to the officer's own clearance."""

    def __init__(self, keyring: Keyring, jobs: Jobs, audit: Audit) -> None:
        self._keyring = keyring
        self._jobs = jobs
        self._audit = audit

    async def request(
        self, session: AsyncSession, subject: Subject, id_: UUID, new: NewErasure
    ) -> ErasureOut:
        """Queue an erasure; the same id again returns it.

        Raises PrincipalUnknown, and SelfErasureForbidden for details of the caller, or of who is behind it.
        """
        await _check_principal(session, subject, new.principal_id)
        rows, job = ErasureRows(session, subject.tenant), JobId(uuid4())
        values = {
            "action": new.action.value,
            "state": "running",
            "identifiers": await seal_identifiers(self._keyring, subject.tenant, id_, new.identifiers),
            "entities": [entity_of(value) or _UNKNOWN for value in new.identifiers],
            "principal_id": new.principal_id,
            "reason": new.reason,
            "requested_by": subject.principal,
            "submitter": dict(submitter(subject)),
            "clearance": subject.clearance.rank,
            "job_id": job,
        }
        if await rows.insert(id_, values):
            await self._jobs.create(
                session, subject.tenant, job, ERASE, {"erasure": str(id_)}, principal=subject.principal
            )
            await self._audit.record(
                session,
                subject,
                AuditAction.PRIVACY_ERASURE_REQUEST,
                resource=Resource("erasure", str(id_)),
                facts={
                    "action": new.action.value,
                    "identifiers": len(new.identifiers),
                    "principal": None if new.principal_id is None else str(new.principal_id),
                    "clearance": subject.clearance.value,
                },
                private={"reason": new.reason},
            )
        return _shown(await rows.get(id_), Counter())

    async def get(self, session: AsyncSession, subject: Subject, id_: UUID) -> ErasureOut:
        """One erasure that looked no higher than the caller is cleared for. Raises NotFound."""
        rows = ErasureRows(session, subject.tenant)
        row = await rows.get(id_, subject.clearance)
        return _shown(row, (await rows.outcomes([id_]))[id_])

    async def cancel(self, session: AsyncSession, subject: Subject, id_: UUID) -> ErasureOut:
        """End an erasure before it has come to its end; one that has stays as it is. Raises NotFound."""
        rows = ErasureRows(session, subject.tenant)
        row = await rows.get(id_, subject.clearance)
        if await self._jobs.cancel(session, subject.tenant, JobId(row.job_id)):
            await rows.close(id_, "cancelled", _CANCELLED)
            resource = Resource("erasure", str(id_))
            await self._audit.record(
                session, subject, AuditAction.PRIVACY_ERASURE_CANCEL, resource=resource, facts={}
            )
        return await self.get(session, subject, id_)

    async def page(self, session: AsyncSession, subject: Subject, page: PageRequest) -> Page[ErasureOut]:
        """Those erasures of the tenant, the oldest first."""
        rows = ErasureRows(session, subject.tenant)
        found = await rows.page(page, subject.clearance)
        outcomes = await rows.outcomes([row.id for row in found])
        return Page([_shown(row, outcomes[row.id]) for row in found[: page.limit]], next_key(found, page))

    async def documents(
        self, session: AsyncSession, subject: Subject, id_: UUID, page: PageRequest
    ) -> tuple[Page[FoundDocumentOut], Evidence]:
        """The documents that an erasure found, and the event that says who looked.

        End the transaction, flush the evidence, and only then show it. Raises NotFound.
        """
        rows = ErasureRows(session, subject.tenant)
        await rows.get(id_, subject.clearance)
        found = await rows.found(id_, page)
        shown = found[: page.limit]
        key = (str(shown[-1].document_id),) if len(found) > page.limit else None
        entry = AuditEntry(
            subject.tenant,
            AuditAction.PRIVACY_ERASURE_READ,
            Actor.of(subject),
            Resource("erasure", str(id_)),
            facts={"documents": [str(each.document_id) for each in shown]},
        )
        return Page([_document(each) for each in shown], key), Evidence(entries=(entry,))


async def seal_identifiers(keyring: Keyring, tenant: TenantId, erasure: UUID, identifiers: Any) -> bytes:
    """What is looked for, as it is kept until it was."""
    return await keyring.seal(tenant, _PURPOSE, orjson.dumps(list(identifiers)), erasure.bytes)


async def open_identifiers(keyring: Keyring, tenant: TenantId, erasure: UUID, sealed: bytes) -> list[str]:
    """What `seal_identifiers` was given. Raises SealBroken."""
    return list(orjson.loads(await keyring.unseal(tenant, _PURPOSE, sealed, erasure.bytes)))


async def identifiers_resealed(
    keyring: Keyring, tenant: TenantId, erasure: UUID, sealed: bytes
) -> bytes | None:
    """What is looked for under the tenant's newest key; None where it is. Raises SealBroken."""
    return await keyring.resealed(tenant, _PURPOSE, sealed, erasure.bytes)


async def _check_principal(session: AsyncSession, subject: Subject, principal: UUID | None) -> None:
    if principal is None:
        return
    # Whoever ever held a secret of the caller may be who is asking.
    if await SecretHolders(session, subject.tenant).is_behind(principal, [subject.principal]):
        raise SelfErasureForbidden
    if principal == subject.tenant:
        # The tenant stands in where an event is about nobody: its details are nobody's to erase.
        raise PrincipalUnknown.at("principal_id")
    if await PrincipalRows(session, subject.tenant).find(principal) is not None:
        return
    if not await AuditRows(session, subject.tenant).detail_keys([principal]):
        # Whoever was removed may still have details.
        raise PrincipalUnknown.at("principal_id")


def _shown(row: Erasure, outcomes: Counter[str]) -> ErasureOut:
    entities = [entity or None for entity in row.entities]
    return ErasureOut(
        id=row.id,
        action=ErasureAction(row.action),
        state=cast(Any, row.state),
        entities=entities,
        principal_id=row.principal_id,
        reason=row.reason,
        requested_by=row.requested_by,
        clearance=LEVELS[row.clearance],
        documents_searched=row.documents_searched,
        texts_unread=row.texts_unread,
        documents=dict(sorted(outcomes.items())),
        audit_details_erased=row.details_erased,
        recall=[recall_of(entity) for entity in dict.fromkeys(entities)],
        job_id=row.job_id,
        created_at=row.created_at,
        completed_at=row.completed_at,
    )


def _document(row: FoundDocument) -> FoundDocumentOut:
    return FoundDocumentOut(
        document_id=row.document_id,
        knowledge_base_id=row.base_id,
        classification=LEVELS[row.classification],
        outcome=cast(Any, row.outcome),
        code=row.code,
        places=row.places,
        versions=[str(number) for number in row.versions],
        entities=row.entities,
        occurrences=row.occurrences,
        by_identifier=row.by_identifier,
    )
