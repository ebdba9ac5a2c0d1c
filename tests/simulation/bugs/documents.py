"""Guards of a document's way taken away."""

from dataclasses import replace
from functools import wraps
from types import SimpleNamespace
from typing import Any
from unittest import mock

from sqlalchemy import text

from eai.access.rights_class import generation_key
from eai.ingestion import replacement
from eai.ingestion.components import WritePoints
from eai.kernel.ids import BaseId, DocumentId
from eai.knowledge.documents import replacing, serving
from eai.knowledge.documents.deletion import Deletions
from eai.knowledge.documents.drafts import DocumentChanges
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.serving import GenerationMoved, VersionOutdated
from eai.knowledge.documents.version_rows import VersionRows
from eai.knowledge.ports import Selector
from eai.platform.jobs import Fenced, JobRun, Jobs


def delete_then_add() -> Any:
    """A replacement takes the old text away before the new one is there."""
    add = replacement.add_version

    async def adds(session: Any, jobs: Any, subject: Any, base: Any, document: Any, *more: Any) -> Any:
        stored = await add(session, jobs, subject, base, document, *more)
        await DocumentRows(session, base.tenant, base.id).update(document, {"serving_version_id": None})
        return stored

    return mock.patch.object(replacement, "add_version", adds)


def points_retired_before_the_swap() -> Any:
    """The old text's points go as soon as the new ones come."""
    write = WritePoints.run_async

    @wraps(write)  # the library compares signatures
    async def writes(self: WritePoints, manuscript: Any, embedded: Any) -> Any:
        key = generation_key(manuscript.tenant, manuscript.generation)
        await self._vectors.delete(manuscript.space, Selector(key, document=manuscript.document))
        return await write(self, manuscript, embedded)

    return mock.patch.object(WritePoints, "run_async", writes)


def old_text_over_new() -> Any:
    """Whoever comes last is served, not whoever is newest."""

    async def checks(rows: VersionRows, searched: Any, stored: Any, _hash: bytes) -> Any:
        version = await rows.incoming(stored.version)
        if version is None:
            raise VersionOutdated
        if version.generation != searched.id:
            raise GenerationMoved
        return version

    return mock.patch.object(serving, "_check_current", checks)


def replaced_under_old_rights() -> Any:
    """A replacement is served, and what it was to bring beside its text is forgotten."""
    find = VersionRows.incoming

    async def finds(self: VersionRows, version: Any) -> Any:
        found = await find(self, version)
        return found and replace(found, intended={})

    return mock.patch.object(VersionRows, "incoming", finds)


def rights_wait_for_the_swap() -> Any:
    """The stricter rights of a replacement bind only once it answers."""
    intend = replacing._intended

    async def intends(session: Any, jobs: Any, base: Any, row: Any, newest: Any, *, changes: Any) -> Any:
        await intend(session, jobs, base, row, newest, changes=DocumentChanges())
        return replacing._fields(changes)

    return mock.patch.object(replacing, "_intended", intends)


def rows_removed_before_points() -> Any:
    """A deletion forgets the document first, and whoever dies then leaves points that nobody knows of."""

    async def removes(
        self: Deletions, run: JobRun, generations: Any, base: BaseId, document: DocumentId
    ) -> Any:
        receipt = await self._remove_rows(run, base, document)
        await self._removal._points.remove(generations, document)
        return receipt

    return mock.patch.object(Deletions, "_remove", removes)


def no_fence() -> Any:
    """An attempt that was overtaken or cancelled goes on as if it were the present one."""
    confirm, update = Jobs._confirm, Jobs._update

    async def confirms(self: Jobs, session: Any, run: JobRun, **values: Any) -> Any:
        try:
            return await confirm(self, session, await _present(session, run), **values)
        except Fenced:
            return SimpleNamespace(progress=run.progress, unsettled=1)

    async def holds(_self: Jobs, _session: Any, _run: JobRun) -> bool:
        return True

    async def updates(self: Jobs, session: Any, statement: Any, run: JobRun, **values: Any) -> None:
        await update(self, session, statement, await _present(session, run), **values)

    return mock.patch.multiple(Jobs, _confirm=confirms, holds=holds, _update=updates)


async def _present(session: Any, run: JobRun) -> JobRun:
    keys = {"tenant": run.tenant, "job": run.job}
    found = await session.scalar(
        text("SELECT attempt FROM eai.jobs WHERE tenant_id = :tenant AND id = :job"), keys
    )
    return replace(run, attempt=found)
