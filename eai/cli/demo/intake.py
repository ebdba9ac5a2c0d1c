"""Takes a demo's documents in, several at a time; those that an earlier demo left are kept or replaced."""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from eai.cli.demo.api import Api, DemoFailed, Json, Refused
from eai.cli.demo.scenario import Source
from eai.cli.demo.seeded import Progress, Seeded

_UPLOADS_AT_ONCE = 4
_READY_WITHIN_S = 120.0
_POLL_S = 0.2
_MARK = "demo"
_ABOUT_THE_DOCUMENT = frozenset({409, 413, 415, 422})


async def take_in(administrator: Api, sources: Sequence[Source], seeded: Seeded, progress: Progress) -> None:
    """Make the base hold these documents, beside what it holds that is no demo's. Raises DemoFailed."""
    intake = Intake(administrator, seeded)
    missing = await intake.keep_what_is_there(sources)
    done, total = len(sources) - len(missing), len(sources)
    waiting = iter(missing)

    async def upload_the_rest() -> None:
        nonlocal done
        for source in waiting:
            await intake.upload(source)
            done += 1
            progress(done, total)

    progress(done, total)
    try:
        async with asyncio.TaskGroup() as uploads:
            for _ in range(_UPLOADS_AT_ONCE):
                uploads.create_task(upload_the_rest())
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


class Intake:
    """One base, and an administrator who fills it."""

    def __init__(self, administrator: Api, seeded: Seeded) -> None:
        self._administrator = administrator
        self._seeded = seeded
        self._documents = f"/v1/knowledge-bases/{seeded.base}/documents"

    async def keep_what_is_there(self, sources: Sequence[Source]) -> list[Source]:
        """The documents that are missing; what an earlier demo took in and is no longer wanted is deleted.

        The API recognises equal content too, but only what its caller may read: an administrator is no
        reader of most of these.
        """
        missing = {_mark(source): source for source in sources}
        async for document in self._administrator.everything(self._documents):
            mark = document["metadata"].get(_MARK)
            if mark in missing and document["status"] == "ready":
                self._take(document, missing.pop(mark))
            elif mark is not None:
                await self._administrator.delete(f"{self._documents}/{document['id']}")
        return list(missing.values())

    async def upload(self, source: Source) -> None:
        """Take one document in, or note why it was left out."""
        try:
            document = await self._administrator.post(self._documents, self._body(source))
            document = await self._settled(document)
        except Refused as refusal:
            if refusal.status not in _ABOUT_THE_DOCUMENT:
                raise
            is_copy = refusal.code == "duplicate_content"
            self._leave_out(source, "another document has the same text" if is_copy else refusal.message)
            return
        if document["status"] == "ready":
            self._take(document, source)
        else:
            self._leave_out(source, f"{document['status']} ({(document['error'] or {}).get('code')})")

    def _take(self, document: Json, source: Source) -> None:
        self._seeded.documents[document["id"]] = source
        self._seeded.passages += document["chunks_count"]

    def _leave_out(self, source: Source, reason: str) -> None:
        self._seeded.left_out.append(f"{source.file}: {reason}")

    def _body(self, source: Source) -> dict[str, Any]:
        body: dict[str, Any] = {
            "title": source.title,
            "content": source.content,
            "content_type": source.content_type,
            "metadata": {"file": source.file, _MARK: _mark(source)},
        }
        if source.own_level is not None:
            body["classification"] = source.own_level
        if source.readers is not None:
            body["readers"] = [f"group:{self._seeded.groups[name]}" for name in source.readers]
        if source.language is not None:
            body["language"] = source.language
        return body

    async def _settled(self, document: Json) -> Json:
        """The document once it is ready or given up; a text that takes long is finished by a worker."""
        try:
            async with asyncio.timeout(_READY_WITHIN_S):
                while document["status"] in {"pending", "processing"}:
                    await asyncio.sleep(_POLL_S)
                    document = await self._administrator.get(f"{self._documents}/{document['id']}")
        except TimeoutError:
            title = document["title"]
            raise DemoFailed(
                f"{title} was not ready within {_READY_WITHIN_S:g} s; is a worker alive?"
            ) from None
        return document


def _mark(source: Source) -> str:
    """The same for the same document with the same rights; told apart from any other."""
    parts = (source.file, source.title, source.content, source.own_level, source.readers, source.language)
    return sha256(repr(parts).encode()).hexdigest()[:32]
