"""Every query on erasures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.kernel.errors import BadRequest, NotFound
from eai.kernel.ids import DocumentId, TenantId
from eai.kernel.paging import PageRequest
from eai.platform.listing import part
from eai.privacy.models import Erasure, FoundDocument


class ErasureRows:
    """The erasures of one tenant."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def insert(self, id_: UUID, values: Mapping[str, Any]) -> bool:
        """Add an erasure; false when its id is taken."""
        statement = insert(Erasure).values(tenant_id=self._tenant, id=id_, **values)
        added = await self._session.scalars(statement.on_conflict_do_nothing().returning(Erasure.id))
        return added.one_or_none() is not None

    async def get(self, id_: UUID, clearance: Classification | None = None) -> Erasure:
        """An erasure that did not look higher than `clearance`. Raises NotFound."""
        statement = select(Erasure).where(Erasure.tenant_id == self._tenant, Erasure.id == id_)
        if clearance is not None:
            statement = statement.where(Erasure.clearance <= clearance.rank)
        row = await self._session.scalar(statement.execution_options(populate_existing=True))
        if row is None:
            raise NotFound
        return row

    async def subject_of_key(self, key: UUID) -> Mapping[str, Any] | None:
        """What a key stands for now; None where it opens nothing any more."""
        found: Mapping[str, Any] | None = await self._session.scalar(select(func.eai.subject_of_key(key)))
        return found

    async def page(self, page: PageRequest, clearance: Classification) -> Sequence[Erasure]:
        """Erasures, the oldest first; one more than asked for when more follow."""
        mine = select(Erasure).where(Erasure.tenant_id == self._tenant, Erasure.clearance <= clearance.rank)
        return (await self._session.scalars(part(mine, Erasure, page))).all()

    async def change(self, id_: UUID, values: Mapping[str, Any]) -> None:
        """Note how far an erasure is."""
        await self._session.execute(
            update(Erasure)
            .where(Erasure.tenant_id == self._tenant, Erasure.id == id_)
            .values(**values)
            .execution_options(synchronize_session=False)
        )

    async def close(self, id_: UUID, state: str, code: str) -> None:
        """Note that an erasure goes no further, and forget what it looked for."""
        await self.change(id_, {"state": state, "identifiers": None, "completed_at": func.now()})
        await self._session.execute(
            update(FoundDocument)
            .where(FoundDocument.tenant_id == self._tenant, FoundDocument.erasure_id == id_)
            .where(FoundDocument.outcome == "redacting")
            .values(outcome="failed", code=code)
            .execution_options(synchronize_session=False)
        )

    async def complete(self, id_: UUID, *, details_erased: bool | None) -> None:
        """Note that an erasure has come to its end, and forget what it looked for."""
        ended = {"state": "completed", "identifiers": None, "completed_at": func.now()}
        await self.change(id_, {**ended, "details_erased": details_erased})

    async def count(self, id_: UUID, unread: int) -> None:
        """Note that one more document was searched."""
        searched = Erasure.documents_searched + 1
        await self.change(
            id_, {"documents_searched": searched, "texts_unread": Erasure.texts_unread + unread}
        )

    async def add_found(self, id_: UUID, values: Mapping[str, Any]) -> None:
        """Note a document in which the person was found."""
        await self._session.execute(
            insert(FoundDocument).values(tenant_id=self._tenant, erasure_id=id_, **values)
        )

    async def settle(self, id_: UUID, document: DocumentId, outcome: str, code: str | None = None) -> None:
        """Note what became of a document."""
        await self._session.execute(
            update(FoundDocument)
            .where(
                FoundDocument.tenant_id == self._tenant,
                FoundDocument.erasure_id == id_,
                FoundDocument.document_id == document,
            )
            .values(outcome=outcome, code=code)
            .execution_options(synchronize_session=False)
        )

    async def found(self, id_: UUID, page: PageRequest) -> Sequence[FoundDocument]:
        """The documents found, by id; one more than asked for when more follow."""
        statement = select(FoundDocument).where(
            FoundDocument.tenant_id == self._tenant, FoundDocument.erasure_id == id_
        )
        if page.after is not None:
            statement = statement.where(FoundDocument.document_id > _document(page.after))
        ordered = statement.order_by(FoundDocument.document_id).limit(page.limit + 1)
        return (await self._session.scalars(ordered)).all()

    async def with_outcome(self, id_: UUID, outcome: str) -> Sequence[FoundDocument]:
        """The documents of an erasure that stand so."""
        statement = select(FoundDocument).where(
            FoundDocument.tenant_id == self._tenant,
            FoundDocument.erasure_id == id_,
            FoundDocument.outcome == outcome,
        )
        return (await self._session.scalars(statement.order_by(FoundDocument.document_id))).all()

    async def outcomes(self, ids: Sequence[UUID]) -> Mapping[UUID, Counter[str]]:
        """How many documents of each erasure came to what."""
        statement = (
            select(FoundDocument.erasure_id, FoundDocument.outcome, func.count())
            .where(FoundDocument.tenant_id == self._tenant, FoundDocument.erasure_id.in_(ids))
            .group_by(FoundDocument.erasure_id, FoundDocument.outcome)
        )
        counted: dict[UUID, Counter[str]] = {id_: Counter() for id_ in ids}
        for erasure, outcome, count in await self._session.execute(statement):
            counted[erasure][outcome] = count
        return counted


def _document(after: Sequence[str]) -> UUID:
    try:
        return UUID(after[0])
    except (ValueError, IndexError) as error:
        raise BadRequest from error
