"""A base of many chunks with real rights, put straight into the tables and the index.

Who may see what is real: groups, readers, classes, all as the product keeps them, so that three people see
50 %, 10 % and 1 % of the base. Only the way in is short: rows are copied as the database's superuser.
"""

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import psycopg

from benchmarks.product import Product, made, put
from benchmarks.prose import Prose
from benchmarks.rounds import note
from eai.access.classification import Classification
from eai.access.rights_class import generation_key, rights_key
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.service import space_of
from eai.integrations.local_models.hashing import hash_vector
from eai.integrations.qdrant.client import EngineVectors
from eai.kernel.ids import BaseId, DocumentId, GenerationId, TenantId, VersionId, chunk_id, point_id
from eai.knowledge.chunks.rights_classes import ClassRights, class_numbers
from eai.knowledge.lexical import Language, analyse_document, document_weights
from eai.knowledge.ports import Point, SparseVector, Vector
from eai.knowledge.statistics.repository import StatisticRows
from eai.knowledge.statistics.tally import Tally
from eai.platform.database import Database

SPACE = space_of(LOCAL_HASH_256)
PER_DOCUMENT = 20
AVERAGE_LENGTH = 105.0
GROUPS = 100
_BATCH = 2_000
_LEVELS = (None, Classification.PUBLIC, Classification.CONFIDENTIAL)
# What everybody may see, what the first group may, and the other groups an equal part of the rest: whoever is
# in the first, in the first ten or in the first fifty sees 1 %, 10 % or 50 %.
_FOR_ALL, _FIRST, _EACH = 0.005, 0.005, 0.01
READERS = {"50 %": 50, "10 %": 10, "1 %": 1}


@dataclass(frozen=True)
class Reader:
    """Somebody who may ask: the key, and the classes that this person's groups open."""

    key: str
    classes: tuple[int, ...]
    selectivity: float


@dataclass(frozen=True)
class Library:
    """The base as it is filled, and questions to it."""

    tenant: TenantId
    base: BaseId
    generation: GenerationId
    readers: dict[str, Reader]
    questions: Sequence[str]
    tally: Tally
    counted: int

    def rights_keys(self, reader: Reader) -> list[str]:
        """What the index is asked for on behalf of `reader`."""
        return [rights_key(self.tenant, self.generation, number) for number in reader.classes]


@dataclass(frozen=True)
class Analysed:
    """A passage and what is derived from it."""

    text: str
    vector: Vector
    sparse: SparseVector
    terms: dict[str, int]


async def filled(product: Product, chunks: int, questions: int, hidden_words: Sequence[str] = ()) -> Library:
    """Make a base of so many chunks, with the people who ask.

    `hidden_words` stand in each chunk that none of them may see, which is half of all, and nowhere else.
    """
    async with product.client(product.admin_key) as admin:
        tenant = TenantId(UUID((await admin.get("/v1/me")).json()["tenant"]["id"]))
        groups = [(await made(admin, "/v1/groups", {"name": f"g{n}"}))["id"] for n in range(GROUPS)]
        people = {name: await _person(admin, name) for name in READERS}
        for number, group in enumerate(groups[: max(READERS.values())]):
            members = [people[name][0] for name, count in READERS.items() if number < count]
            await put(admin, f"/v1/groups/{group}/members", {"members": members})
        acl = [{"principal": "tenant:*", "permission": "read"}]
        body = {"name": "Benchmark", "embedding_model": LOCAL_HASH_256.name, "acl": acl}
        answer = await made(admin, "/v1/knowledge-bases", body)
    base, generation = BaseId(UUID(answer["id"])), GenerationId(UUID(answer["vector_generation"]))
    settings = product.settings
    database, vectors = Database(product.postgres.app_url), EngineVectors(settings.engine_socket, 60)
    await database.open()
    classes = [_rights(group, level) for group in (None, *groups) for level in _LEVELS]
    async with database.transaction(tenant) as session:
        numbers = await class_numbers(session, tenant, base, classes)
    await vectors.ensure_space(SPACE)
    shelf = _Shelf(
        tenant, base, generation, [[numbers[_rights(g, level)] for level in _LEVELS] for g in (None, *groups)]
    )
    prose = Prose()
    tally, sample = Tally(), []
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for start, batch in _analysed(pool, shelf.texts(prose, chunks, hidden_words)):
            await asyncio.to_thread(_copy, product.postgres.admin_url, shelf, groups, start, batch, chunks)
            await vectors.upsert(SPACE, list(shelf.points(start, batch, chunks)))
            shelf.count(tally, start, batch, chunks)
            sample += [passage.text for passage in batch[:: max(1, chunks // 2_000)]]
            if (start // _BATCH) % 10 == 9:
                note(f"{start + len(batch):,} of {chunks:,} chunks are in")
    async with database.transaction(tenant) as session:
        rows = StatisticRows(session, tenant, generation)
        await rows.set_average_length(AVERAGE_LENGTH)
        await rows.apply(tally)
    await vectors.close()
    await database.close()
    await asyncio.to_thread(_settle, product.postgres.admin_url)
    return Library(
        tenant,
        base,
        generation,
        {name: shelf.reader(people[name][1], count, chunks) for name, count in READERS.items()},
        prose.questions(sample, questions),
        tally,
        sum(tally.chunks.values()),
    )


class _Shelf:
    """Which rights the chunk at a place has. `classes[0]` are everybody's, then three for each group."""

    def __init__(
        self, tenant: TenantId, base: BaseId, generation: GenerationId, classes: Sequence[Sequence[int]]
    ) -> None:
        self.tenant, self.base, self.generation = tenant, base, generation
        self._classes = classes
        bounds = np.cumsum([_FOR_ALL, _FIRST, *[_EACH] * (GROUPS - 1)])
        self._bounds = bounds
        self.documents: dict[int, tuple[DocumentId, VersionId]] = {}

    def owner(self, document: int, documents: int) -> int:
        """0 for everybody, else one more than the number of the group that may read it."""
        # Documents of one group do not stand side by side in the table or in a segment.
        place = (document * 7919 % documents + 0.5) / documents
        return int(np.searchsorted(self._bounds, place))

    def level(self, document: int) -> Classification | None:
        return _LEVELS[document % len(_LEVELS)]

    def number(self, document: int, documents: int) -> int:
        return self._classes[self.owner(document, documents)][document % len(_LEVELS)]

    def ids(self, document: int) -> tuple[DocumentId, VersionId]:
        if document not in self.documents:
            self.documents[document] = (DocumentId(uuid4()), VersionId(uuid4()))
        return self.documents[document]

    def reader(self, key: str, groups: int, chunks: int) -> Reader:
        documents = _documents(chunks)
        seen = sum(self.owner(document, documents) <= groups for document in range(documents))
        numbers = [number for group in self._classes[: groups + 1] for number in group]
        return Reader(key, tuple(numbers), seen / documents)

    def texts(self, prose: Prose, chunks: int, hidden_words: Sequence[str]) -> Iterator[list[str]]:
        """All passages, batch by batch."""
        added = " ".join(hidden_words)
        for start in range(0, chunks, _BATCH):
            passages = prose.passages(min(_BATCH, chunks - start))
            if added:
                hidden = [self._is_hidden(row, chunks) for row in range(start, start + len(passages))]
                passages = [f"{p} {added}." if is_ else p for p, is_ in zip(passages, hidden, strict=True)]
            yield passages

    def _is_hidden(self, row: int, chunks: int) -> bool:
        return self.owner(row // PER_DOCUMENT, _documents(chunks)) > max(READERS.values())

    def points(self, start: int, batch: Sequence[Analysed], chunks: int) -> Iterator[Point]:
        key = generation_key(self.tenant, self.generation)
        for row, passage in enumerate(batch, start):
            document, version = self.ids(row // PER_DOCUMENT)
            number = self.number(row // PER_DOCUMENT, _documents(chunks))
            yield Point(
                id=point_id(chunk_id(document, version, *_span(row, passage)), self.generation),
                dense=passage.vector,
                sparse=passage.sparse,
                rights_key=rights_key(self.tenant, self.generation, number),
                generation_key=key,
                document=document,
                version=version,
            )

    def count(self, tally: Tally, start: int, batch: Sequence[Analysed], chunks: int) -> None:
        for row, passage in enumerate(batch, start):
            document = row // PER_DOCUMENT
            if self.owner(document, _documents(chunks)) == 0:
                tally.add("en", self.number(document, _documents(chunks)), passage.terms)


def _copy(  # noqa: PLR0917
    url: str, shelf: _Shelf, groups: Sequence[str], start: int, batch: Sequence[Analysed], chunks: int
) -> None:
    rows = range(start, start + len(batch))
    documents = sorted({row // PER_DOCUMENT for row in rows})
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        with cursor.copy(_COPY_DOCUMENTS) as copy:
            for document in documents:
                copy.write_row(_document_row(shelf, groups, document, _documents(chunks)))
        with cursor.copy(_COPY_VERSIONS) as copy:
            for document in documents:
                id_, version = shelf.ids(document)
                copy.write_row((shelf.tenant, version, id_, 1, "ready", "text/plain", bytes(32), "en"))
        with cursor.copy(_COPY_CHUNKS) as copy:
            for row, passage in zip(rows, batch, strict=True):
                copy.write_row(_chunk_row(shelf, row, passage, chunks))


def _document_row(shelf: _Shelf, groups: Sequence[str], document: int, documents: int) -> tuple[Any, ...]:
    id_, version = shelf.ids(document)
    owner, level = shelf.owner(document, documents), shelf.level(document)
    readers = None if owner == 0 else [f"group:{groups[owner - 1]}"]
    rank = None if level is None else level.rank
    title, uri = f"Document {document}", f"https://example.com/{document}"
    return (shelf.tenant, id_, shelf.base, title, uri, rank, readers, version)


def _chunk_row(shelf: _Shelf, row: int, passage: Analysed, chunks: int) -> tuple[Any, ...]:
    document, version = shelf.ids(row // PER_DOCUMENT)
    start, end = _span(row, passage)
    chunk = chunk_id(document, version, start, end)
    return (
        *(shelf.tenant, point_id(chunk, shelf.generation), chunk, shelf.base, shelf.generation),
        *(document, version, row % PER_DOCUMENT, start, end, passage.text),
        *(shelf.number(row // PER_DOCUMENT, _documents(chunks)), "en", sum(passage.terms.values())),
        *(len(passage.vector), passage.vector.astype("<f4").tobytes()),
    )


def _settle(url: str) -> None:
    """What autovacuum does in its own time, now: statistics for the planner, and no hint bits left to set."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def _analysed(
    pool: ProcessPoolExecutor, batches: Iterator[list[str]]
) -> Iterator[tuple[int, list[Analysed]]]:
    """Passages in batches, two batches ahead of whoever stores them."""
    ahead = [pool.submit(analyse, batch) for batch in itertools.islice(batches, 2)]
    for start in itertools.count(0, _BATCH):
        if not ahead:
            return
        batch = ahead.pop(0).result()
        ahead += [pool.submit(analyse, following) for following in itertools.islice(batches, 1)]
        yield start, batch


def analyse(texts: Sequence[str]) -> list[Analysed]:
    """What the product derives from passages; called in processes of its own."""
    analysed = []
    for text in texts:
        terms = analyse_document(text, Language.ENGLISH)
        analysed.append(
            Analysed(text, hash_vector(text), document_weights(terms, AVERAGE_LENGTH), dict(terms))
        )
    return analysed


async def _person(admin: Any, name: str) -> tuple[str, str]:
    body = {"kind": "user", "name": f"sees {name}", "clearance": "confidential", "roles": ["member"]}
    principal = await made(admin, "/v1/principals", body)
    key = await made(admin, "/v1/api-keys", {"principal_id": principal["id"]})
    return principal["id"], key["api_key"]


def _rights(group: str | None, level: Classification | None) -> ClassRights:
    readers = None if group is None else frozenset([f"group:{group}"])
    return ClassRights(readers, None, level, None, "direct")


def _documents(chunks: int) -> int:
    return -(-chunks // PER_DOCUMENT)


def _span(row: int, passage: Analysed) -> tuple[int, int]:
    start = row % PER_DOCUMENT * 1_000
    return start, start + len(passage.text)


_COPY_DOCUMENTS = """
    COPY eai.kb_documents (tenant_id, id, base_id, title, source_uri, classification, readers,
                           serving_version_id) FROM STDIN"""
_COPY_VERSIONS = """
    COPY eai.kb_document_versions (tenant_id, id, document_id, number, status, content_type, source_hash,
                                   language) FROM STDIN"""
_COPY_CHUNKS = """
    COPY eai.kb_chunks (tenant_id, id, chunk_id, base_id, generation, document_id, version_id, ordinal,
                        start_offset, end_offset, content, class_number, language, token_count, dimensions,
                        embedding) FROM STDIN"""
