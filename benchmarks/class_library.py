"""A base of many chunks with as many different rights as one likes, put straight into tables and index.

Rights are the chunks' own: each class names one person of its own, whom nobody is, and the groups of those
who may see it. Rows are copied as the database's superuser, and say the same as the points.
"""

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from multiprocessing import get_context
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import psycopg
from numpy.typing import NDArray

from benchmarks.library import SPACE
from benchmarks.product import Product, made, put
from benchmarks.prose import Prose
from benchmarks.rounds import note
from benchmarks.shelf import AVERAGE_LENGTH, BATCH, PER_DOCUMENT, Analysed, analyse
from eai.access.rights_class import generation_key, rights_key
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.integrations.qdrant.client import EngineVectors
from eai.kernel.ids import BaseId, ChunkId, DocumentId, GenerationId, TenantId, VersionId, chunk_id, point_id
from eai.knowledge.chunks.rights_classes import ClassRights, class_numbers
from eai.knowledge.ports import Point, SparseVector, Vector
from eai.knowledge.statistics.repository import StatisticRows
from eai.platform.database import Database

_SPREAD = 7_919
"""A prime, so that chunks of one class lie anywhere."""
_STRIDE = 1_100
_CLASSES_AT_ONCE = 5_000


@dataclass
class ClassLibrary:
    """The base as it is filled. `keys` are those of the people who see one class in so many."""

    tenant: TenantId
    base: BaseId
    generation: GenerationId
    classes: int
    keys: dict[int, str]
    groups: dict[int, str]
    numbers: list[int] = field(default_factory=list)
    chunks: dict[str, int] = field(default_factory=dict)
    vectors: list[Vector] = field(default_factory=list)
    sparse: list[SparseVector] = field(default_factory=list)
    questions: Sequence[str] = ()
    _ids: dict[int, tuple[DocumentId, VersionId]] = field(default_factory=dict)

    def class_of(self, row: int) -> int:
        """Counted from 0."""
        return row * _SPREAD % self.classes

    def readers(self, number: int) -> frozenset[str]:
        """Whom the class names."""
        sharing = [f"group:{group}" for every, group in self.groups.items() if number % every == 0]
        return frozenset([f"user:{UUID(int=2**100 + number)}", *sharing])

    def permitted(self, every: int) -> NDArray[np.bool_]:
        """Which chunks who sees one class in `every` may read."""
        rows = range(len(self.vectors))
        return np.array([self.class_of(row) % every == 0 for row in rows], np.bool_)

    def ids(self, row: int) -> tuple[DocumentId, VersionId]:
        return self._ids.setdefault(row // PER_DOCUMENT, (DocumentId(uuid4()), VersionId(uuid4())))

    def chunk(self, row: int, passage: Analysed) -> ChunkId:
        return chunk_id(*self.ids(row), *_span(row, passage))


async def filled(
    product: Product, classes: int, seen: Sequence[int], chunks: int, questions: int
) -> ClassLibrary:
    """Make a base of so many chunks in so many classes, and people who see one class in each of `seen`."""
    library = await _begun(product, classes, seen)
    database, vectors = Database(product.postgres.app_url), EngineVectors(product.settings.engine_socket, 60)
    await database.open()
    await vectors.ensure_space(SPACE)
    library.numbers = await _classes(database, library)
    note(f"{classes:,} classes are in")
    prose, sample = Prose(), []
    sizes = [min(BATCH, chunks - start) for start in range(0, chunks, BATCH)]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for start, batch in _analysed(pool, (prose.passages(size) for size in sizes)):
            await asyncio.to_thread(_copy, product.postgres.admin_url, library, start, batch)
            await vectors.upsert(SPACE, [_point(library, row, each) for row, each in enumerate(batch, start)])
            library.vectors += [passage.vector for passage in batch]
            library.sparse += [passage.sparse for passage in batch]
            sample += [passage.text for passage in batch[:: max(1, chunks // 2_000)]]
    async with database.transaction(library.tenant) as session:
        await StatisticRows(session, library.tenant, library.generation).set_average_length(AVERAGE_LENGTH)
    await vectors.close()
    await database.close()
    with psycopg.connect(product.postgres.admin_url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
    library.questions = prose.questions(sample, questions)
    note(f"{chunks:,} chunks are in")
    return library


async def _begun(product: Product, classes: int, seen: Sequence[int]) -> ClassLibrary:
    async with product.client(product.admin_key) as admin:
        tenant = TenantId(UUID((await admin.get("/v1/me")).json()["tenant"]["id"]))
        keys, groups = {}, {}
        for every in seen:
            body: dict[str, Any] = {"kind": "user", "name": f"sees one in {every}", "roles": ["member"]}
            person = await made(admin, "/v1/principals", body)
            keys[every] = (await made(admin, "/v1/api-keys", {"principal_id": person["id"]}))["api_key"]
            groups[every] = (await made(admin, "/v1/groups", {"name": f"one in {every}"}))["id"]
            await put(admin, f"/v1/groups/{groups[every]}/members", {"members": [person["id"]]})
        acl = [{"principal": "tenant:*", "permission": "read"}]
        about: dict[str, Any] = {"name": "Benchmark", "embedding_model": LOCAL_HASH_256.name, "acl": acl}
        base = await made(admin, "/v1/knowledge-bases", about)
    generation = GenerationId(UUID(base["vector_generation"]))
    return ClassLibrary(tenant, BaseId(UUID(base["id"])), generation, classes, keys, groups)


async def _classes(database: Database, library: ClassLibrary) -> list[int]:
    """The number of each class, as the product gives it."""
    numbers: list[int] = []
    for start in range(0, library.classes, _CLASSES_AT_ONCE):
        some = range(start, min(start + _CLASSES_AT_ONCE, library.classes))
        wanted = [ClassRights(None, library.readers(number), None, None, "direct") for number in some]
        async with database.transaction(library.tenant) as session:
            found = await class_numbers(session, library.tenant, library.base, wanted)
        numbers += [found[rights] for rights in wanted]
    return numbers


def _analysed(
    pool: ProcessPoolExecutor, batches: Iterator[list[str]]
) -> Iterator[tuple[int, list[Analysed]]]:
    ahead = [pool.submit(analyse, batch) for batch in itertools.islice(batches, 2)]
    for start in itertools.count(0, BATCH):
        if not ahead:
            return
        batch = ahead.pop(0).result()
        ahead += [pool.submit(analyse, following) for following in itertools.islice(batches, 1)]
        yield start, batch


def _copy(url: str, library: ClassLibrary, start: int, batch: Sequence[Analysed]) -> None:
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        firsts = range(start, start + len(batch), PER_DOCUMENT)
        with cursor.copy(_COPY_DOCUMENTS) as copy:
            for row in firsts:
                document, version = library.ids(row)
                copy.write_row((library.tenant, document, library.base, f"Document {row}", version))
        with cursor.copy(_COPY_VERSIONS) as copy:
            for row in firsts:
                copy.write_row(_version(library, row, batch[row - start : row - start + PER_DOCUMENT]))
        with cursor.copy(_COPY_CHUNKS) as copy:
            for row, passage in enumerate(batch, start):
                copy.write_row(_chunk(library, row, passage))


def _version(library: ClassLibrary, row: int, passages: Sequence[Analysed]) -> tuple[Any, ...]:
    document, version = library.ids(row)
    text = "".join(passage.text.ljust(_STRIDE, "\n") for passage in passages)
    digest = sha256(text.encode()).digest()
    return (library.tenant, version, document, 1, "ready", "text/plain", digest, text, digest, "en")


def _chunk(library: ClassLibrary, row: int, passage: Analysed) -> tuple[Any, ...]:
    chunk, number = library.chunk(row, passage), library.class_of(row)
    library.chunks[str(chunk)] = row
    return (
        *(library.tenant, point_id(chunk, library.generation), chunk, library.base, library.generation),
        *(*library.ids(row), row % PER_DOCUMENT, *_span(row, passage), passage.text),
        *(sorted(library.readers(number)), library.numbers[number], "en", sum(passage.terms.values())),
        *(len(passage.vector), passage.vector.astype("<f4").tobytes()),
    )


def _point(library: ClassLibrary, row: int, passage: Analysed) -> Point:
    document, version = library.ids(row)
    number = library.numbers[library.class_of(row)]
    return Point(
        id=point_id(library.chunk(row, passage), library.generation),
        dense=passage.vector,
        sparse=passage.sparse,
        rights_key=rights_key(library.tenant, library.generation, number),
        generation_key=generation_key(library.tenant, library.generation),
        document=document,
        version=version,
    )


def _span(row: int, passage: Analysed) -> tuple[int, int]:
    start = row % PER_DOCUMENT * _STRIDE
    return start, start + len(passage.text)


_COPY_DOCUMENTS = "COPY eai.kb_documents (tenant_id, id, base_id, title, serving_version_id) FROM STDIN"
_COPY_VERSIONS = """
    COPY eai.kb_document_versions (tenant_id, id, document_id, number, status, content_type, source_hash,
                                   content, content_hash, language) FROM STDIN"""
_COPY_CHUNKS = """
    COPY eai.kb_chunks (tenant_id, id, chunk_id, base_id, generation, document_id, version_id, ordinal,
                        start_offset, end_offset, content, readers, class_number, language, token_count,
                        dimensions, embedding) FROM STDIN"""
