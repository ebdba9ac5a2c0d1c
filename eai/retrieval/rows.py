"""What the two statements of a query answer, as they answer it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Json = Mapping[str, Any]
EntryRows = Sequence[tuple[str, str, str]]
"""The lines of an access list that name the caller: principal, permission, effect."""


class OpenedRow(NamedTuple):
    """The answer of `eai.open_query`.

    `base` is None for one that is not there. Where no entry lets the caller read, it is empty and all from
    `classes` on is None. `classes` holds one number too many when they do not fit a filter.
    """

    subject: Json
    base: Json | None
    entries: EntryRows
    classes: Sequence[int] | None
    chunks_by_language: Mapping[str, int] | None
    document_frequencies: Mapping[str, int] | None
    gateway: Json | None
    bounds: Json | None


class PassageRow(NamedTuple):
    """A chunk with its document and version as they are at this instant; levels are ranks.

    `is_kept` is false while the document is being deleted and for a version that is held back,
    `is_source_enabled` while its connector is switched off;
    `metadata` is there only when it was asked for.
    """

    point: str
    tenant: str
    chunk: str
    document: str
    title: str
    ordinal: int
    content: str
    start: int
    end: int
    language: str
    version: int
    source_uri: str | None
    source_connector: str
    source_uri_verified: bool
    document_readers: Sequence[str] | None
    chunk_readers: Sequence[str] | None
    document_level: int | None
    chunk_level: int | None
    is_kept: bool
    is_serving: bool
    is_source_enabled: bool
    metadata: Json | None


class Snapshot(NamedTuple):
    """The answer of `eai.recheck`: everything that decides about passages, as of one instant.

    `passages` are by the id of their point, as text. `bounds` are no older than all else.
    """

    subject: Json | None
    base: Json | None
    entries: EntryRows
    passages: Mapping[str, PassageRow]
    bounds: Json | None = None
