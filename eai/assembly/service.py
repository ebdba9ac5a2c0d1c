"""Puts passages together for a model: each is read anew, under the rights that hold now."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS
from eai.access.subject import Subject
from eai.access.visibility import may_read
from eai.assembly.composing import Shown, compose
from eai.assembly.evidence import evidence_of
from eai.assembly.schemas import AssembleRequest, ContextContract
from eai.audit.service import Audit
from eai.kernel.errors import NotFound
from eai.kernel.ids import BaseId, ChunkId, GenerationId, point_id
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.errors import PermissionMissing
from eai.knowledge.models import KnowledgeBase
from eai.knowledge.ports import SpaceId
from eai.platform.database import Database
from eai.retrieval.recheck import Rule, readers_of
from eai.retrieval.repository import QueryRows
from eai.retrieval.rows import Snapshot
from eai.retrieval.values import SearchedBase

_Found = Mapping[ChunkId, Shown]


class Assembly:
    """One per process."""

    def __init__(self, database: Database, rows: QueryRows, audit: Audit, rule: Rule = may_read) -> None:
        self._database = database
        self._rows = rows
        self._audit = audit
        self._rule = rule

    async def assemble(self, subject: Subject, asked: AssembleRequest) -> ContextContract:
        """The context of `asked`, on record when this returns.

        What the caller may not read, by the rule of a query at this instant, is left out like what is not
        there. Raises Unauthenticated and Forbidden where the credential lost its rights meanwhile.
        """
        wanted: dict[str, list[ChunkId]] = {}
        for each in asked.passages:
            wanted.setdefault(each.knowledge_base_id, []).append(ChunkId(each.chunk_id))
        async with self._database.transaction(subject.tenant) as session:
            bases = [await _base(session, subject, reference) for reference in wanted]
        found: dict[str, _Found] = {}
        for base, (reference, chunks) in zip(bases, wanted.items(), strict=True):
            found[reference] = await self._readable(subject, base, chunks)
        shown = [found[each.knowledge_base_id].get(ChunkId(each.chunk_id)) for each in asked.passages]
        composed = compose(asked, shown)
        await self._audit.flush(evidence_of(subject, composed))
        return composed.context

    async def _readable(self, subject: Subject, base: SearchedBase, chunks: Sequence[ChunkId]) -> _Found:
        base, snapshot = await self._snapshot(subject, base, chunks)
        try:
            level_shown = readers_of(snapshot, self._rule)
        except (NotFound, PermissionMissing):
            return {}
        levels = [(row, level_shown(row)) for row in snapshot.passages.values()]
        return {
            ChunkId(UUID(row.chunk)): Shown(base.id, base.generation, row, level)
            for row, level in levels
            if level is not None
        }

    async def _snapshot(
        self, subject: Subject, base: SearchedBase, chunks: Sequence[ChunkId]
    ) -> tuple[SearchedBase, Snapshot]:
        snapshot = await self._recheck(subject, base, chunks)
        moved_to = snapshot.base and snapshot.base["generation"]
        if not moved_to or moved_to == str(base.generation):
            return base, snapshot
        # Another generation answers since the base was looked up: a passage has a row of its own in each.
        base = replace(base, generation=GenerationId(UUID(moved_to)))
        return base, await self._recheck(subject, base, chunks)

    async def _recheck(self, subject: Subject, base: SearchedBase, chunks: Sequence[ChunkId]) -> Snapshot:
        points = [point_id(chunk, base.generation) for chunk in dict.fromkeys(chunks)]
        return await self._rows.recheck(subject, base, points, wants_metadata=False)


async def _base(session: AsyncSession, subject: Subject, reference: str) -> SearchedBase:
    """The base of this id or alias, whatever the caller may do there: the re-check decides."""
    row = await BaseRows(session, subject.tenant).find(reference)
    return _nowhere() if row is None else _searched(row)


def _searched(row: KnowledgeBase) -> SearchedBase:
    return SearchedBase(
        BaseId(row.id),
        LEVELS[row.classification],
        row.embedding_model,
        SpaceId(row.vector_collection, row.dimensions),
        GenerationId(row.vector_generation),
    )


def _nowhere() -> SearchedBase:
    """A base that is not there. It is looked into all the same: the time it takes must not tell."""
    return SearchedBase(BaseId(uuid4()), LEVELS[0], "", SpaceId("", 0), GenerationId(uuid4()))
