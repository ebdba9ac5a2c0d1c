"""Looks through everything that is stored of a document, one text at a time, in a thread."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from uuid import UUID

from eai.connectors.repository import DIRECT
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.privacy.identifiers import Identifiers, Place
from eai.privacy.review_rows import Reviewed, ReviewTextRows
from eai.privacy.text_rows import DocumentState, TextRows, Written

TEXT, CONNECTOR = "text", "source_connector"
REVIEW = "review"
"""What stewards were shown of a held text, and what they wrote of it."""


@dataclass(slots=True)
class Search:
    """What a look through a document came to: in which fields the person stands, and in which texts.

    `unread` texts could not be read as text.
    """

    fields: set[str] = field(default_factory=set)
    versions: set[int] = field(default_factory=set)
    entities: set[str] = field(default_factory=set)
    occurrences: int = 0
    by_identifier: int = 0
    unread: int = 0

    @property
    def is_found(self) -> bool:
        """Whether the person stands anywhere."""
        return self.occurrences > 0

    def add(self, where: str, places: Iterable[Place]) -> bool:
        """Count these places; whether there is one."""
        before = self.occurrences
        for place in places:
            self.occurrences += 1
            self.by_identifier += place.entity is None
            if place.entity is not None:
                self.entities.add(place.entity)
        is_found = self.occurrences > before
        self.fields |= {where} if is_found else set()
        return is_found


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a tenant. Nothing is held while one is looked through, and one is in memory at a time."""

    database: Database
    tenant: TenantId
    identifiers: Identifiers

    async def look_through(self, document: DocumentState, *, since: int = 0) -> Search:
        """Find the person in a document, in versions from number `since` on."""
        search = Search()
        reviewed = await self.reviewed(document, since=since)
        await asyncio.to_thread(self._in_fields, search, document, reviewed, since)
        for version in document.versions:
            if version.number >= since and (written := await self.written(version.id)) is not None:
                await asyncio.to_thread(self._in_version, search, version.number, written)
        return search

    async def written(self, version: UUID) -> Written | None:
        """The texts of a version."""
        async with self.database.transaction(self.tenant) as session:
            return await TextRows(session, self.tenant).written(version)

    async def reviewed(self, document: DocumentState, *, since: int = 0) -> Reviewed:
        """What is kept of the reviews of a document, of versions from number `since` on."""
        versions = [version.id for version in document.versions if version.number >= since]
        async with self.database.transaction(self.tenant) as session:
            return await ReviewTextRows(session, self.tenant).of_versions(versions)

    def _in_fields(self, search: Search, document: DocumentState, reviewed: Reviewed, since: int) -> None:
        beside = ((REVIEW, text) for text in reviewed.texts())
        for name, text in chain(fields_of(document, since), beside):
            search.add(name, self.identifiers.places(text))

    def _in_version(self, search: Search, number: int, written: Written) -> None:
        texts = list(texts_of(written))
        # Of a text that was kept out, nothing is stored.
        search.unread += not texts and written.source is not None
        for text in texts:
            if search.add(TEXT, self.identifiers.places(text)):
                search.versions.add(number)


def fields_of(document: DocumentState, since: int = 0) -> Iterator[tuple[str, str]]:
    """The document's fields that people fill, and those that wait for a version to answer."""
    row = document.row
    yield "title", row.title
    yield from _given("external_id", row.external_id)
    yield from _given("source_uri", row.source_uri)
    if row.source_connector != DIRECT:
        yield CONNECTOR, row.source_connector
    yield from _values("metadata", row.metadata_)
    yield from _values("labels", row.labels)
    for version in document.versions:
        if version.number >= since:
            yield from _intended(version.intended)


def _intended(intended: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in intended.items():
        yield from _values("labels" if name == "labels" else "intended", value)


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a JSON value, the names of its members too."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield str(name)
            yield from texts_in(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from texts_in(member)
    elif value is not None and not isinstance(value, bool):
        yield value if isinstance(value, str) else json.dumps(value)


def texts_of(written: Written) -> Iterator[str]:
    """What a version says, and what it was made of where that is another text."""
    if written.content is not None:
        yield written.content
    source = decoded(written.source)
    if source is not None and source != written.content:
        yield source


def decoded(source: bytes | None) -> str | None:
    """What was submitted, where it is text."""
    try:
        return None if source is None else source.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _given(name: str, value: str | None) -> Iterator[tuple[str, str]]:
    if value is not None:
        yield name, value


def _values(name: str, value: Any) -> Iterator[tuple[str, str]]:
    return ((name, text) for text in texts_in(value))
