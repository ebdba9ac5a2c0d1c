"""Looks through everything that is stored of a document."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eai.privacy.identifiers import Identifiers, Place
from eai.privacy.repository import DocumentTexts, VersionText

TEXT = "text"


@dataclass(frozen=True, slots=True)
class Sighting:
    """Where a person stands in a document: in a field of it, or in a text of the version `version`."""

    field: str
    place: Place
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """What a look through a document came to; `unread` texts could not be read as text."""

    sightings: tuple[Sighting, ...]
    unread: int


def look_through(texts: DocumentTexts, identifiers: Identifiers) -> Search:
    """Find the person in a document. It takes a processor: some milliseconds for a long text."""
    sightings: list[Sighting] = []
    for field, text in fields_of(texts):
        sightings += [Sighting(field, place) for place in identifiers.places(text)]
    unread = 0
    for version in texts.versions:
        written = list(written_in(version))
        # Of a text that was kept out, nothing is stored.
        unread += not written and version.source is not None
        for text in written:
            sightings += [Sighting(TEXT, place, version.number) for place in identifiers.places(text)]
    return Search(tuple(sightings), unread)


def fields_of(texts: DocumentTexts) -> Iterator[tuple[str, str]]:
    """The document's fields that people fill, and those that wait for a version to answer."""
    row = texts.row
    yield "title", row.title
    yield from _given("external_id", row.external_id)
    yield from _given("source_uri", row.source_uri)
    yield from _values("metadata", row.metadata_)
    yield from _values("labels", row.labels)
    for version in texts.versions:
        yield from _values("intended", version.intended)


def written_in(version: VersionText) -> Iterator[str]:
    """What a version says, and what it was made of where that is another text."""
    if version.content is not None:
        yield version.content
    if version.source is not None:
        try:
            source = version.source.decode("utf-8-sig")
        except UnicodeDecodeError:
            return
        if source != version.content:
            yield source


def _given(field: str, value: str | None) -> Iterator[tuple[str, str]]:
    if value is not None:
        yield field, value


def _values(field: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, the names of its members too."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield field, str(name)
            yield from _values(field, member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _values(field, member)
    elif value is not None and not isinstance(value, bool):
        yield field, value if isinstance(value, str) else json.dumps(value)
