"""Guards of a reindex taken away."""

from dataclasses import replace
from typing import Any
from unittest import mock
from uuid import UUID

from sqlalchemy import select

from eai.knowledge.chunks import following
from eai.knowledge.documents import serving
from eai.knowledge.documents.serving import VersionOutdated
from eai.knowledge.documents.version_rows import VersionRows
from eai.knowledge.models import KnowledgeBase
from eai.reindex import building, dropping
from eai.reindex.flipping import Flipping, Look
from eai.reindex.repository import GenerationRows
from eai.reindex.task import BaseGone


def generation_not_pinned() -> Any:
    """What was prepared for one generation is served in whichever is searched by then."""

    async def checks(rows: VersionRows, _searched: Any, stored: Any, source_hash: bytes) -> Any:
        version = await rows.incoming(stored.version)
        if version is None or version.source_hash != source_hash:
            raise VersionOutdated
        if version.status not in {"pending", "processing"}:
            raise VersionOutdated
        if version.serving_number is not None and version.serving_number > stored.number:
            raise VersionOutdated
        return version

    return mock.patch.object(serving, "_check_current", checks)


def flipped_unverified() -> Any:
    """What was built is searched, without a look at what came meanwhile."""

    async def looks(_self: Flipping, _run: Any, _task: Any) -> Look:
        return Look("", is_complete=True, has_all_points=True)

    async def flips(self: Flipping, session: Any, run: Any, task: Any, look: Look, _level: Any) -> Look:
        await self._jobs.confirm(session, run)
        base = await GenerationRows(session, run.tenant).hold_base(task.base)
        if base is None:
            raise BaseGone
        await self._flip(session, run, task, base, look.documents)
        return look

    async def looks_not(_self: Flipping, _run: Any, _task: Any, look: Look) -> Look:
        return look

    return mock.patch.multiple(
        Flipping, _look=looks, _look_at_what_came=looks_not, _look_again_and_flip=flips
    )


def stored_with_old_rights() -> Any:
    """Points keep the class that their document had when the reindex read it."""
    add = building.add_chunks

    async def adds(*arguments: Any) -> Any:
        return [replace(each, is_moved=False) for each in await add(*arguments)]

    return mock.patch.object(building, "add_chunks", adds)


def rights_moved_where_searched_only() -> Any:
    """A change of rights does not reach the generation that is being built."""
    classes = following._classes

    async def reads(session: Any, run: Any, document: Any) -> Any:
        searched = await session.scalar(
            select(KnowledgeBase.vector_generation).where(
                KnowledgeBase.tenant_id == run.tenant, KnowledgeBase.id == UUID(run.parameters["base"])
            )
        )
        found = await classes(session, run, document)
        return {generation: each for generation, each in found.items() if generation == searched}

    return mock.patch.object(following, "_classes", reads)


def dropped_though_serving() -> Any:
    """What was retired when it was looked for is dropped, though it has been taken back since."""
    begin = dropping.begin_drop

    async def begins(session: Any, jobs: Any, tenant: Any, generation: Any, state: str) -> bool:
        row = await GenerationRows(session, tenant).hold(generation)
        return row is not None and await begin(session, jobs, tenant, generation, row.state)

    return mock.patch.object(dropping, "begin_drop", begins)
