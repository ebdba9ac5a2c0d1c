"""Makes bases and changes them."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import Entry, Permission, base_rights
from eai.access.classification import LEVELS, Classification, rank_of
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.identity.errors import NameTaken
from eai.identity.grants import require_clearance
from eai.kernel.errors import InvalidInput, NotFound
from eai.kernel.ids import BaseId
from eai.kernel.paging import Page, PageRequest
from eai.knowledge.bases.access import authorise, managed
from eai.knowledge.bases.answers import base_out
from eai.knowledge.bases.entries import check_entries, facts_of
from eai.knowledge.bases.naming import alias_of, distinct_alias
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.bases.schemas import DEFAULT_CHUNK_SIZE, BaseOut, BasePatch, NewBase
from eai.knowledge.bases.source_levels import require_source_levels
from eai.knowledge.errors import ClassificationExceeded
from eai.knowledge.lexical import TYPICAL_LENGTH
from eai.knowledge.models import KnowledgeBase
from eai.knowledge.ports import BaseQuota, ModelCatalogue, ModelFacts
from eai.platform.listing import next_key


class Bases:
    """The bases of a tenant, as one subject may see and change them."""

    def __init__(self, audit: Audit, models: ModelCatalogue, quota: BaseQuota) -> None:
        self._audit = audit
        self._models = models
        self._quota = quota

    async def create(self, session: AsyncSession, subject: Subject, base: BaseId, new: NewBase) -> BaseOut:
        """Make a base; the same id again by its creator returns what was made.

        Raises ClearanceExceeded, ClassificationExceeded, NameTaken, WouldLockOut, and InvalidInput for
        a model or a principal that does not exist.
        """
        rows = BaseRows(session, subject.tenant)
        made = await rows.find(str(base))
        if made is not None and made.created_by == subject.principal:
            return await self._out(session, subject, made)
        model = await self._model(session, subject, new.embedding_model, new.dimensions)
        require_clearance(subject, new.classification)
        _check_ceiling(model, new.classification)
        entries = await _entries_of(session, subject, new)
        await self._quota.admit_base(session, subject.tenant)
        row = await _insert(rows, subject, base, new, model)
        await rows.replace_entries(base, entries)
        out = await self._out(session, subject, row)
        facts = {"classification": new.classification.value, "embedding_model": model.name}
        await self._audit.record(
            session,
            subject,
            AuditAction.KNOWLEDGE_BASE_CREATE,
            resource=_resource(base),
            facts={**facts, "entries": facts_of(entries)},
            private={"name": new.name},
        )
        return out

    async def get(self, session: AsyncSession, subject: Subject, reference: str) -> BaseOut:
        """The base, if `subject` sees it."""
        base = await authorise(session, subject, reference)
        return await self._out(session, subject, await _row(session, subject, base.id))

    async def page(self, session: AsyncSession, subject: Subject, page: PageRequest) -> Page[BaseOut]:
        """The bases that `subject` sees, oldest first."""
        rows = BaseRows(session, subject.tenant)
        found = await rows.page(subject, page)
        shown = found[: page.limit]
        entries = await rows.entries_by_base([row.id for row in shown])
        counts = await rows.counts([r.id for r in shown if base_rights(subject, entries[r.id]).can_manage])
        return Page([base_out(row, counts.get(row.id)) for row in shown], next_key(found, page))

    async def update(
        self, session: AsyncSession, subject: Subject, reference: str, patch: BasePatch, revision: int | None
    ) -> BaseOut:
        """Change what `patch` names. `revision` is the one the caller has seen, if it says so.

        Raises ClearanceExceeded, ClassificationExceeded, SourceConnectorRefused, and InvalidInput where a
        reason is missing.
        """
        base = await managed(session, subject, reference, revision)
        row = await _row(session, subject, base.id)
        changes = _changes(row, patch)
        if patch.classification is not None and "classification" in changes:
            await self._check_level(session, subject, row, patch.classification, patch.reason)
        if not changes:
            return await self._out(session, subject, row)
        before = LEVELS[row.classification]
        await BaseRows(session, subject.tenant).update(base.id, changes)
        await session.refresh(row)
        out = await self._out(session, subject, row)
        levels = {"from_classification": before.value, "classification": out.classification.value}
        await self._audit.record(
            session,
            subject,
            AuditAction.KNOWLEDGE_BASE_UPDATE,
            resource=_resource(base.id),
            facts={**levels, "changed": sorted(changes)},
            private={"reason": patch.reason} if patch.reason else {},
        )
        return out

    async def _model(
        self, session: AsyncSession, subject: Subject, name: str | None, dimensions: int | None
    ) -> ModelFacts:
        model = await self._models.resolve(session, subject, name, dimensions)
        if model is None:
            raise InvalidInput.field("embedding_model", "model_not_found", "names no embedding model")
        return model

    async def _check_level(
        self,
        session: AsyncSession,
        subject: Subject,
        row: KnowledgeBase,
        level: Classification,
        reason: str | None,
    ) -> None:
        before = LEVELS[row.classification]
        # Lowering what one may not see would be a way to see it.
        require_clearance(subject, before)
        require_clearance(subject, level)
        if before.exceeds(level) and reason is None:
            raise InvalidInput.field("reason", "missing", "is needed to lower the classification")
        if before.exceeds(level):
            await require_source_levels(session, subject.tenant, BaseId(row.id), level)
        if level.exceeds(before):
            model = await self._model(session, subject, row.embedding_model, row.dimensions)
            _check_ceiling(model, level)

    async def _out(self, session: AsyncSession, subject: Subject, row: KnowledgeBase) -> BaseOut:
        rows = BaseRows(session, subject.tenant)
        rights = base_rights(subject, await rows.entries(BaseId(row.id)))
        counts = await rows.counts([row.id]) if rights.can_manage else {}
        return base_out(row, counts.get(row.id))


async def _row(session: AsyncSession, subject: Subject, base: BaseId) -> KnowledgeBase:
    row = await BaseRows(session, subject.tenant).find(str(base))
    if row is None:
        raise NotFound
    return row


async def _entries_of(session: AsyncSession, subject: Subject, new: NewBase) -> list[Entry]:
    if new.acl is None:
        return [Entry(f"{subject.kind}:{subject.principal}", Permission.MANAGE)]
    entries = [given.entry() for given in new.acl]
    await check_entries(session, subject.tenant, "acl", entries)
    return entries


async def _insert(
    rows: BaseRows, subject: Subject, base: BaseId, new: NewBase, model: ModelFacts
) -> KnowledgeBase:
    generation = {
        "id": uuid4(),
        "state": "serving",
        "embedding_model": model.name,
        "dimensions": model.space.dimensions,
        "collection": model.space.name,
        "average_length": TYPICAL_LENGTH * new.chunk_size / DEFAULT_CHUNK_SIZE,
        "chunk_size": new.chunk_size,
        "chunk_overlap": new.overlap,
    }
    values = {
        "id": base,
        "name": new.name,
        "description": new.description,
        "classification": new.classification.rank,
        "embedding_model": model.name,
        "dimensions": model.space.dimensions,
        "chunk_size": new.chunk_size,
        "chunk_overlap": new.overlap,
        "vector_generation": generation["id"],
        "vector_collection": model.space.name,
        "created_by": subject.principal,
    }
    await _insert_under_free_alias(rows, subject, base, values)
    await rows.insert_generation(base, generation)
    row = await rows.find(str(base))
    if row is None:
        raise NotFound
    return row


async def _insert_under_free_alias(
    rows: BaseRows, subject: Subject, base: BaseId, values: Mapping[str, Any]
) -> None:
    alias = alias_of(values["name"], base)
    if await rows.insert({**values, "alias": alias}):
        return
    # Whoever holds the alias has committed it: the insert waited for that.
    if await rows.sees(subject, alias):
        raise NameTaken(alias=alias)
    if not await rows.insert({**values, "alias": distinct_alias(values["name"], base)}):
        raise NameTaken(alias=alias)


def _check_ceiling(model: ModelFacts, level: Classification) -> None:
    ceiling = model.classification_ceiling
    if level.exceeds(ceiling):
        raise ClassificationExceeded(classification=level.value, ceiling=ceiling.value, model=model.name)


def _changes(row: KnowledgeBase, patch: BasePatch) -> dict[str, Any]:
    wanted = {
        "name": patch.name,
        "description": patch.description,
        "classification": rank_of(patch.classification),
    }
    return {
        field: value for field, value in wanted.items() if value is not None and value != getattr(row, field)
    }


def _resource(base: BaseId) -> Resource:
    return Resource("knowledge_base", str(base))
