"""Ways in which rows, index, audit and ledger come to contradict each other, and what each is called."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

import numpy as np

from eai.access.rights_class import generation_key
from eai.kernel.ids import DocumentId, GenerationId, PointId, VersionId
from eai.knowledge.ports import Point, Selector, SparseVector
from tests.integration.integrity.seeded import Seeded

Spoil = Callable[[Seeded], Awaitable[None]]


@dataclass(frozen=True)
class Corruption:
    """What is done, what must be found then, and whether a repair leaves nothing of it.

    `tables` are put back afterwards, where a repair does not, or leaves more than there was.
    """

    name: str
    kinds: frozenset[str]
    spoil: str | Spoil
    is_mended: bool = True
    tables: tuple[str, ...] = ()
    is_deep: bool = False
    is_of_platform: bool = False


def mended(name: str, kinds: str, spoil: str | Spoil, *tables: str, is_deep: bool = False) -> Corruption:
    return Corruption(name, frozenset(kinds.split()), spoil, tables=tables, is_deep=is_deep)


def left(name: str, kinds: str, spoil: str | Spoil, *tables: str, is_deep: bool = False) -> Corruption:
    return Corruption(name, frozenset(kinds.split()), spoil, is_mended=False, tables=tables, is_deep=is_deep)


def written(
    *,
    point: bool = True,
    document: str = "document",
    version: bool = True,
    rights: str | None = None,
    generation: str | None = None,
) -> Spoil:
    """A point that is not as its row says, or has none."""

    async def write(s: Seeded) -> None:
        number = s.names["chunks"][0]["class_number"]
        key = {"unknown": "f" * 24, "second": generation_key(s.tenant, _second(s)), None: s.key}[generation]
        of = {"document": s.names["document"], "other": s.names["other"], "deleted": UUID(s.deleted)}
        made = Point(
            id=s.names["point"] if point else PointId(uuid4()),
            dense=np.eye(1, s.space.dimensions, dtype=np.float32)[0],
            sparse=SparseVector(np.array([7], np.uint32), np.array([1.0], np.float32)),
            rights_key=s.rights(number) if rights is None else rights,
            generation_key=key,
            document=DocumentId(of.get(document, uuid4())),
            version=VersionId(s.names["version"] if version else uuid4()),
        )
        await s.vectors.upsert(s.space, [made])

    return write


def _second(s: Seeded) -> GenerationId:
    return GenerationId(s.names["second_generation"])


async def lose_one(s: Seeded) -> None:
    await s.vectors.delete(s.space, s.selector(s.names["point"]))


async def lose_a_document(s: Seeded) -> None:
    await s.vectors.delete(s.space, Selector(s.key, document=DocumentId(s.names["other"])))


async def lose_all(s: Seeded) -> None:
    await s.vectors.delete(s.space, Selector(s.key))


async def lose_everything_of_the_tenant(s: Seeded) -> None:
    await lose_all(s)
    await s.vectors.delete(s.space, Selector(generation_key(s.tenant, _second(s))))


def moved_to(number: int) -> Spoil:
    async def move(s: Seeded) -> None:
        await s.vectors.set_rights(s.space, s.selector(s.names["point"]), s.rights(number))

    return move


async def swap_classes(s: Seeded) -> None:
    for chunk in s.names["chunks"]:
        key = s.rights(3 - chunk["class_number"])
        await s.vectors.set_rights(s.space, s.selector(chunk["id"]), key)


async def weigh_wrong(s: Seeded) -> None:
    weights = SparseVector(np.array([5], np.uint32), np.array([9.0], np.float32))
    await s.vectors.set_sparse(s.space, {s.names["point"]: weights})


async def turn_a_vector(s: Seeded) -> None:
    page = await s.vectors.scan(s.space, s.selector(s.names["point"]), with_vectors=True)
    (point,) = page.points
    assert point.dense is not None
    assert point.sparse is not None
    assert point.document is not None
    assert point.version is not None
    turned = Point(
        point.id, -point.dense, point.sparse, point.rights_key, point.generation_key, point.document,
        point.version,
    )  # fmt: skip
    await s.vectors.upsert(s.space, [turned])


async def leave_a_generation(s: Seeded) -> None:
    made = Point(
        PointId(uuid4()), np.ones(s.space.dimensions, np.float32),
        SparseVector(np.array([], np.uint32), np.array([], np.float32)),
        "e" * 24 + ":1", "e" * 24, DocumentId(uuid4()), VersionId(uuid4()),
    )  # fmt: skip
    await s.vectors.upsert(s.space, [made])


_CHUNK_COLUMNS = (
    "base_id, document_id, ordinal, start_offset, end_offset, content, readers, classification, class_number,"
    " language, token_count, dimensions, embedding"
)
_VERSION = (
    "INSERT INTO eai.kb_document_versions (tenant_id, id, document_id, number, status, content_type, "
    "source_hash, content, content_hash) VALUES (%(tenant)s, %(new)s, %(document)s, 2, '{status}', "
    "'text/plain', '\\x00', 'x', sha256('x'))"
)
_AUDIT = ("audit_events", "audit_heads", "audit_details")

POINTS = [
    mended("one point is lost", "point_missing", lose_one),
    mended("a document's points are lost", "point_missing", lose_a_document),
    mended("the index is lost", "point_missing", lose_all),
    mended("the tenant's points are lost", "point_missing", lose_everything_of_the_tenant),
    mended("a stray of no document", "point_orphaned", written(point=False, document="none")),
    mended("a stray of a document that lives", "point_orphaned", written(point=False)),
    mended("a stray of a version there was", "point_orphaned", written(point=False, version=False)),
    mended(
        "a stray of what a receipt calls deleted",
        "point_of_deleted_document",
        written(point=False, document="deleted"),
    ),
    mended("a point in a class that is none", "point_rights_wrong", moved_to(999)),
    mended("points in each other's classes", "point_rights_wrong", swap_classes),
    mended("a point without rights", "point_rights_wrong", written(rights="")),
    mended("a point of another document", "point_document_wrong", written(document="other")),
    mended("a point of another version", "point_version_wrong", written(version=False)),
    mended(
        "a point in another base's generation",
        "point_generation_wrong point_missing",
        written(generation="second"),
    ),
    mended("a point in no generation", "point_missing", written(generation="unknown")),
    mended("another vector", "point_vector_wrong", turn_a_vector, is_deep=True),
    mended("other weights", "point_weights_wrong", weigh_wrong, is_deep=True),
]

ROWS = [
    mended(
        "a chunk of a version that never was",
        "chunk_not_serving",
        f"INSERT INTO eai.kb_chunks (tenant_id, id, chunk_id, generation, version_id, {_CHUNK_COLUMNS}) "
        f"SELECT tenant_id, %(new)s, %(new)s, generation, %(new)s, {_CHUNK_COLUMNS} FROM eai.kb_chunks "
        "WHERE id = %(point)s",
    ),
    mended(
        "a chunk in another class",
        "chunk_class_wrong point_rights_wrong statistics_wrong",
        "UPDATE eai.kb_chunks SET class_number = 3 - class_number WHERE id = %(point)s",
    ),
    mended(
        "a chunk in a class that is none",
        "chunk_class_wrong point_rights_wrong statistics_wrong",
        "UPDATE eai.kb_chunks SET class_number = 777 WHERE id = %(point)s",
    ),
    mended(
        "a class that stands for other rights",
        "chunk_class_wrong rights_class_wrong",
        "UPDATE eai.kb_rights_classes SET readers = '{}' WHERE base_id = %(base)s AND number = 1",
        "kb_rights_classes",
    ),
    mended(
        "a class under another digest",
        "rights_class_wrong",
        "UPDATE eai.kb_rights_classes SET digest = sha256('x') WHERE base_id = %(base)s AND number = 1",
    ),
    mended(
        "a document's readers changed behind its chunks",
        "chunk_class_wrong statistics_wrong",
        "UPDATE eai.kb_documents SET readers = '{}' WHERE id = %(document)s",
        "kb_documents",
    ),
    mended(
        "a document's level changed behind its chunks",
        "chunk_class_wrong",
        "UPDATE eai.kb_documents SET classification = 4 WHERE id = %(document)s",
        "kb_documents",
    ),
    mended(
        "a document's connector changed behind its chunks",
        "chunk_class_wrong",
        "UPDATE eai.kb_documents SET source_connector = 'web' WHERE id = %(document)s",
        "kb_documents",
    ),
    mended(
        "a chunk's own readers changed",
        "chunk_class_wrong statistics_wrong",
        "UPDATE eai.kb_chunks SET readers = '{}' WHERE id = %(point)s",
        "kb_chunks",
    ),
    mended(
        "a chunk's own level changed",
        "chunk_class_wrong",
        "UPDATE eai.kb_chunks SET classification = 3 WHERE id = %(point)s",
        "kb_chunks",
    ),
    mended(
        "a chunk in another base",
        "chunk_misfiled",
        "UPDATE eai.kb_chunks SET base_id = %(second)s WHERE id = %(point)s",
    ),
    left(
        "an embedding of another size",
        "embedding_size_wrong",
        "UPDATE eai.kb_chunks SET dimensions = 2, embedding = '\\x0000000000000000' WHERE id = %(point)s",
        "kb_chunks",
    ),
    left(
        "a generation of other dimensions",
        "embedding_size_wrong base_generation_wrong space_dimensions_wrong",
        "UPDATE eai.kb_generations SET dimensions = 3 WHERE id = %(second_generation)s",
        "kb_generations",
        "knowledge_bases",
    ),
    mended(
        "a base that searches nowhere",
        "base_generation_wrong document_without_chunks",
        "UPDATE eai.knowledge_bases SET vector_generation = %(new)s WHERE id = %(base)s",
    ),
    mended(
        "a base that searches another collection",
        "base_generation_wrong",
        "UPDATE eai.knowledge_bases SET vector_collection = 'space_x' WHERE id = %(base)s",
    ),
    mended(
        "a base that asks another model",
        "base_generation_wrong",
        "UPDATE eai.knowledge_bases SET embedding_model = 'other' WHERE id = %(base)s",
    ),
    mended(
        "a base that cuts longer passages",
        "base_generation_wrong",
        "UPDATE eai.knowledge_bases SET chunk_size = chunk_size + 100 WHERE id = %(base)s",
    ),
    mended(
        "a base that repeats less of the passage before",
        "base_generation_wrong",
        "UPDATE eai.knowledge_bases SET chunk_overlap = chunk_overlap / 2 WHERE id = %(base)s",
    ),
    left(
        "a generation that is searched and retired",
        "base_generation_wrong",
        "UPDATE eai.kb_generations SET state = 'retired' WHERE id = %(generation)s",
        "kb_generations",
    ),
    left(
        "a generation that is searched and being built",
        "base_generation_wrong generation_abandoned",
        "UPDATE eai.kb_generations SET state = 'building' WHERE id = %(generation)s",
        "kb_generations",
    ),
    left(
        "a generation that nobody builds",
        "generation_abandoned",
        "INSERT INTO eai.kb_generations (tenant_id, id, base_id, state, embedding_model, dimensions, "
        "collection, average_length) SELECT tenant_id, %(new)s, base_id, 'building', embedding_model, "
        "dimensions, collection, average_length FROM eai.kb_generations WHERE id = %(generation)s",
        "kb_generations",
    ),
    left(
        "a document without chunks",
        "document_without_chunks statistics_wrong point_orphaned",
        "DELETE FROM eai.kb_chunks WHERE document_id = %(document)s",
        "kb_chunks",
        "kb_term_statistics",
        "kb_language_statistics",
    ),
    left(
        "a document that serves nothing",
        "document_serves_wrong_version chunk_not_serving statistics_wrong",
        "UPDATE eai.kb_documents SET serving_version_id = NULL WHERE id = %(document)s",
        "kb_documents",
        "kb_term_statistics",
        "kb_language_statistics",
    ),
    left(
        "a document that serves a version that never was",
        "document_serves_wrong_version chunk_not_serving document_without_chunks statistics_wrong",
        "UPDATE eai.kb_documents SET serving_version_id = %(new)s WHERE id = %(document)s",
        "kb_documents",
        "kb_term_statistics",
        "kb_language_statistics",
    ),
    left(
        "a document that serves an old version",
        "document_serves_wrong_version",
        _VERSION.format(status="ready"),
        "kb_document_versions",
    ),
    left(
        "another text",
        "version_text_wrong",
        "UPDATE eai.kb_document_versions SET content = content || '.' WHERE id = %(version)s",
        "kb_document_versions",
    ),
    left(
        "no text",
        "version_text_wrong",
        "UPDATE eai.kb_document_versions SET content = NULL WHERE id = %(version)s",
        "kb_document_versions",
    ),
    left(
        "another text in a chunk",
        "chunk_text_wrong point_weights_wrong statistics_wrong",
        "UPDATE eai.kb_chunks SET content = 'Nothing is refunded.' WHERE id = %(point)s",
        "kb_chunks",
        "kb_term_statistics",
        "kb_language_statistics",
        is_deep=True,
    ),
]

STATISTICS = [
    mended(
        "one chunk too many",
        "statistics_wrong",
        "UPDATE eai.kb_language_statistics SET chunks = chunks + 1 WHERE generation = %(generation)s",
    ),
    mended(
        "a language that is not counted",
        "statistics_wrong",
        "DELETE FROM eai.kb_language_statistics WHERE generation = %(generation)s AND language = 'fr'",
    ),
    mended(
        "a language that nobody speaks",
        "statistics_wrong",
        "INSERT INTO eai.kb_language_statistics VALUES (%(tenant)s, %(generation)s, 'tlh', 1, 3, 30)",
    ),
    mended(
        "terms that are not counted",
        "statistics_wrong",
        "DELETE FROM eai.kb_term_statistics WHERE generation = %(generation)s",
    ),
    mended(
        "terms in no chunk",
        "statistics_wrong",
        "UPDATE eai.kb_term_statistics SET document_frequency = 0 WHERE generation = %(generation)s",
    ),
    mended(
        "a term in more chunks than there are",
        "statistics_wrong",
        "INSERT INTO eai.kb_term_statistics VALUES (%(tenant)s, %(generation)s, 'en:zzz', 1, 1000)",
    ),
    mended(
        "terms of a class that is none",
        "statistics_wrong",
        "INSERT INTO eai.kb_term_statistics VALUES (%(tenant)s, %(generation)s, 'en:zzz', 9, 1)",
    ),
    mended(
        "a term that nobody wrote",
        "statistics_wrong",
        "INSERT INTO eai.kb_term_statistics VALUES (%(tenant)s, %(generation)s, 'en:zzz', 1, 1)",
        is_deep=True,
    ),
    mended(
        "another length",
        "statistics_wrong",
        "UPDATE eai.kb_language_statistics SET tokens = tokens + 7 WHERE generation = %(generation)s",
        is_deep=True,
    ),
]

WORK = [
    mended(
        "a version that waits for nobody",
        "document_stuck",
        _VERSION.format(status="pending"),
        "kb_document_versions",
    ),
    mended(
        "a version that nobody processes",
        "document_stuck",
        _VERSION.format(status="processing"),
        "kb_document_versions",
    ),
    mended(
        "a job for what is not there",
        "job_target_missing",
        "INSERT INTO eai.jobs (tenant_id, id, name, state, parameters, lease_until, updated_at) VALUES "
        "(%(tenant)s, %(new)s, 'knowledge.move_rights', 'queued', jsonb_build_object('base', %(base)s::text, "
        "'document', %(new)s::text), now() - interval '1 day', now() - interval '1 day')",
        "jobs",
    ),
    mended(
        "a deletion that nobody carries out",
        "deletion_unfinished receipt_missing",
        "UPDATE eai.kb_documents SET deleting_since = now() WHERE id = %(document)s",
        "kb_documents",
        "kb_document_versions",
        "kb_chunks",
        "kb_term_statistics",
        "kb_language_statistics",
        "deletion_receipts",
        "kb_document_retrievals",
    ),
    mended(
        "a receipt that is never closed",
        "deletion_unfinished",
        "UPDATE eai.deletion_receipts SET status = 'deleting', completed_at = NULL WHERE id = %(deleted)s",
        "deletion_receipts",
    ),
    left(
        "a receipt that counts what is left",
        "receipt_untrue",
        "UPDATE eai.deletion_receipts SET vectors_remaining = 3 WHERE id = %(deleted)s",
        "deletion_receipts",
    ),
    left(
        "a receipt of what is still there",
        "receipt_untrue audit_event_missing",
        "INSERT INTO eai.deletion_receipts (tenant_id, id, kind, base_id, classification, status, "
        "vectors_remaining, completed_at) VALUES (%(tenant)s, %(other)s, 'document', %(base)s, 1, "
        "'deleted', 0, now())",
        "deletion_receipts",
    ),
]

LEDGER = [
    mended(
        "a call that nobody ended",
        "reservation_expired",
        "INSERT INTO eai.model_reservations (tenant_id, id, model, operation, tokens_bound, quotas, state, "
        "lease_until, usage) VALUES (%(tenant)s, %(new)s, 'm', 'query', 5, '[]', 'held', "
        "now() - interval '1 hour', jsonb_build_object('kind', 'chat', 'unit', 'tokens', 'quantity', 5, "
        "'tokens', 5, 'model', 'm', 'principal', null, 'api_key', null, 'base', null))",
        "model_reservations",
    ),
    mended(
        "more is held than calls hold",
        "quota_reserved_wrong",
        "UPDATE eai.quota_usage SET reserved = reserved + 5 WHERE tenant_id = %(tenant)s",
    ),
    mended(
        "less was used than calls took",
        "quota_used_wrong",
        "UPDATE eai.quota_usage SET used = used - 1 WHERE tenant_id = %(tenant)s",
    ),
    mended(
        "nothing is counted of a call that holds",
        "quota_reserved_wrong",
        "INSERT INTO eai.model_reservations (tenant_id, id, model, operation, tokens_bound, quotas, state, "
        "lease_until) SELECT %(tenant)s, %(new)s, 'm', 'query', 5, jsonb_build_array(jsonb_build_object("
        "'quota', quota_id, 'period_start', period_start, 'metric', 'tokens', 'amount', 5)), 'held', "
        "now() + interval '1 hour' FROM eai.quota_usage WHERE tenant_id = %(tenant)s",
        "model_reservations",
        "quota_usage",
    ),
    left(
        "usage that no event tells of",
        "usage_differs_from_audit",
        "INSERT INTO eai.usage_events (tenant_id, id, occurred_at, kind, unit, quantity, is_external) "
        "VALUES (%(tenant)s, %(new)s, now(), 'x', 'x', 1, true)",
        "usage_events",
    ),
    left(
        "a charge that is not what was measured",
        "usage_differs_from_audit",
        "UPDATE eai.usage_events SET tokens = tokens + 1 WHERE tenant_id = %(tenant)s "
        "AND kind = 'embeddings'",
        "usage_events",
    ),
    left(
        "a query that is not charged",
        "usage_differs_from_audit",
        "DELETE FROM eai.usage_events WHERE tenant_id = %(tenant)s AND kind = 'rag'",
        "usage_events",
    ),
]

_EVENT = "(SELECT max(seq) FROM eai.audit_events WHERE tenant_id = %(tenant)s AND action = '{action}')"
_READY = _EVENT.format(action="knowledge.document.ready")
AUDIT = [
    left(
        "an entry that was rewritten",
        "audit_chain_broken",
        "UPDATE eai.audit_events SET body = convert_to(replace(convert_from(body, 'UTF8'), '\"allow\"', "
        "'\"deny\"'), 'UTF8') WHERE tenant_id = %(tenant)s AND seq = 2",
        *_AUDIT,
    ),
    left(
        "an entry that is no text",
        "audit_chain_broken",
        "UPDATE eai.audit_events SET body = '\\xff' WHERE tenant_id = %(tenant)s AND seq = 2",
        *_AUDIT,
    ),
    left(
        "an entry under another hash",
        "audit_chain_broken",
        "UPDATE eai.audit_events SET hash = sha256('x') WHERE tenant_id = %(tenant)s AND seq = 2",
        *_AUDIT,
    ),
    left(
        "a column that says something else",
        "audit_chain_broken",
        "UPDATE eai.audit_events SET resource_id = 'x' WHERE tenant_id = %(tenant)s AND seq = 2",
        *_AUDIT,
    ),
    left(
        "an entry that was cut out",
        "audit_chain_broken audit_event_missing audit_details_wrong",
        f"DELETE FROM eai.audit_events WHERE tenant_id = %(tenant)s AND seq <= {_READY} "
        "AND action = 'knowledge.document.ingest'",
        *_AUDIT,
    ),
    left(
        "a change that no entry tells of",
        "audit_chain_broken audit_event_missing",
        "UPDATE eai.audit_events SET action = 'x' WHERE tenant_id = %(tenant)s "
        "AND action = 'knowledge.document.ready' AND resource_id = %(other)s::text",
        *_AUDIT,
    ),
    left(
        "a tail that was cut off",
        "audit_head_wrong model_call_unclosed usage_differs_from_audit",
        "DELETE FROM eai.audit_events WHERE tenant_id = %(tenant)s "
        f"AND seq >= {_EVENT.format(action='model.result')}",
        *_AUDIT,
    ),
    left(
        "a head that is another entry's",
        "audit_head_wrong",
        "UPDATE eai.audit_heads SET hash = sha256('x') WHERE tenant_id = %(tenant)s",
        *_AUDIT,
    ),
    left(
        "a head beyond the last entry",
        "audit_head_wrong",
        "UPDATE eai.audit_heads SET seq = seq + 1 WHERE tenant_id = %(tenant)s",
        *_AUDIT,
    ),
    left(
        "details that are gone",
        "audit_details_wrong",
        "DELETE FROM eai.audit_details WHERE tenant_id = %(tenant)s",
        *_AUDIT,
    ),
    left(
        "details of nothing",
        "audit_details_wrong",
        "INSERT INTO eai.audit_details VALUES (%(tenant)s, 99999, %(new)s, %(new)s, '\\x00')",
        *_AUDIT,
    ),
    left(
        "a call that ended twice",
        "model_call_closed_twice usage_differs_from_audit audit_chain_broken",
        "INSERT INTO eai.audit_events SELECT tenant_id, seq + 10000, occurred_at, action, decision, "
        "actor_principal, resource_kind, resource_id, body, hash FROM eai.audit_events "
        "WHERE tenant_id = %(tenant)s AND action = 'model.result'",
        *_AUDIT,
    ),
]

ALL = [*POINTS, *ROWS, *STATISTICS, *WORK, *LEDGER, *AUDIT]
