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
from uuid import UUID

import psycopg

from benchmarks.product import Product, made, put
from benchmarks.prose import Prose
from benchmarks.rounds import note
from benchmarks.shelf import (
    AVERAGE_LENGTH,
    BATCH,
    GROUPS,
    LEVELS,
    PER_DOCUMENT,
    READERS,
    Analysed,
    Reader,
    Shelf,
    analyse,
    chunk_row,
    document_count,
    document_row,
    version_row,
)
from eai.access.classification import Classification
from eai.access.rights_class import rights_key
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.service import space_of
from eai.integrations.qdrant.client import EngineVectors
from eai.kernel.ids import BaseId, GenerationId, TenantId
from eai.knowledge.chunks.rights_classes import ClassRights, class_numbers
from eai.knowledge.statistics.repository import StatisticRows
from eai.knowledge.statistics.tally import Tally
from eai.platform.database import Database

SPACE = space_of(LOCAL_HASH_256)


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
    classes = [_rights(group, level) for group in (None, *groups) for level in LEVELS]
    async with database.transaction(tenant) as session:
        numbers = await class_numbers(session, tenant, base, classes)
    await vectors.ensure_space(SPACE)
    shelf = Shelf(
        tenant, base, generation, [[numbers[_rights(g, level)] for level in LEVELS] for g in (None, *groups)]
    )
    prose = Prose()
    tally, sample = Tally(), []
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for start, batch in _analysed(pool, shelf.texts(prose, chunks, hidden_words)):
            await asyncio.to_thread(_copy, product.postgres.admin_url, shelf, groups, start, batch, chunks)
            await vectors.upsert(SPACE, list(shelf.points(start, batch, chunks)))
            shelf.count(tally, start, batch, chunks)
            sample += [passage.text for passage in batch[:: max(1, chunks // 2_000)]]
            if (start // BATCH) % 10 == 9:
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


def _copy(  # noqa: PLR0917
    url: str, shelf: Shelf, groups: Sequence[str], start: int, batch: Sequence[Analysed], chunks: int
) -> None:
    rows = range(start, start + len(batch))
    documents = sorted({row // PER_DOCUMENT for row in rows})
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        with cursor.copy(_COPY_DOCUMENTS) as copy:
            for document in documents:
                copy.write_row(document_row(shelf, groups, document, document_count(chunks)))
        with cursor.copy(_COPY_VERSIONS) as copy:
            for document in documents:
                first = document * PER_DOCUMENT - start
                copy.write_row(version_row(shelf, document, batch[first : first + PER_DOCUMENT]))
        with cursor.copy(_COPY_CHUNKS) as copy:
            for row, passage in zip(rows, batch, strict=True):
                copy.write_row(chunk_row(shelf, row, passage, chunks))


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
    for start in itertools.count(0, BATCH):
        if not ahead:
            return
        batch = ahead.pop(0).result()
        ahead += [pool.submit(analyse, following) for following in itertools.islice(batches, 1)]
        yield start, batch


async def _person(admin: Any, name: str) -> tuple[str, str]:
    body = {"kind": "user", "name": f"sees {name}", "clearance": "confidential", "roles": ["member"]}
    principal = await made(admin, "/v1/principals", body)
    key = await made(admin, "/v1/api-keys", {"principal_id": principal["id"]})
    return principal["id"], key["api_key"]


def _rights(group: str | None, level: Classification | None) -> ClassRights:
    readers = None if group is None else frozenset([f"group:{group}"])
    return ClassRights(readers, None, level, None, "direct")


_COPY_DOCUMENTS = """
    COPY eai.kb_documents (tenant_id, id, base_id, title, source_uri, classification, readers,
                           serving_version_id) FROM STDIN"""
_COPY_VERSIONS = """
    COPY eai.kb_document_versions (tenant_id, id, document_id, number, status, content_type, source_hash,
                                   content, content_hash, language) FROM STDIN"""
_COPY_CHUNKS = """
    COPY eai.kb_chunks (tenant_id, id, chunk_id, base_id, generation, document_id, version_id, ordinal,
                        start_offset, end_offset, content, class_number, language, token_count, dimensions,
                        embedding) FROM STDIN"""
