"""Judges a tenant at rest: nothing is left to do, and everything agrees with everything."""

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from uuid import UUID

import numpy as np
import psycopg

from eai.knowledge.lexical import Language, analyse_document, document_weights
from tests.fakes.memory_vectors import MemoryVectors
from tests.invariants import COUNTED
from tests.simulation.checker import _is_point_of
from tests.simulation.outside import vector_of
from tests.simulation.state import State
from tests.simulation.templates import Tenant

FINAL = {"ready", "failed", "quarantined", "rejected"}
UNAVAILABLE = {"vector_store_unavailable", "database_unavailable", "audit_unavailable"}


def faults(
    admin: psycopg.Connection[Any], tenant: Tenant, state: State, store: MemoryVectors
) -> Iterator[str]:
    """Every way in which it is not."""
    yield from _work(admin, tenant, state)
    yield from _documents(state)
    yield from _records(admin, tenant, state)
    yield from _points(state, store)
    yield from _coverage(state)
    yield from _statistics(admin, tenant)
    yield from _audit(admin, tenant)


def _work(admin: psycopg.Connection[Any], tenant: Tenant, state: State) -> Iterator[str]:
    for job in state.jobs:
        yield f"I5 job {job.name} stays {job.state}"
    for name, error in admin.execute(
        "SELECT name, error FROM eai.jobs WHERE tenant_id = %s AND state = 'failed'", [tenant.id]
    ):
        if (error or {}).get("code") not in UNAVAILABLE:
            yield f"I5 job {name} failed with {error}"


def _documents(state: State) -> Iterator[str]:
    for version in state.versions.values():
        if version.status not in FINAL:
            yield f"I5 version {version.number} of {version.document} stays {version.status}"
        if version.status == "failed" and version.error["code"] != "version_superseded":
            yield f"I5 version {version.number} of {version.document} failed: {version.error}"
    for id_, document in state.documents.items():
        numbers = {v.number: v for v in state.versions.values() if v.document == id_}
        newest = numbers[max(numbers)]
        if document.is_deleting or document.serving != newest.id:
            yield f"I2 of document {id_} version {newest.number} ({newest.status}) should answer"


def _records(admin: psycopg.Connection[Any], tenant: Tenant, state: State) -> Iterator[str]:
    for (id_,) in admin.execute(
        "SELECT id FROM eai.deletion_receipts WHERE tenant_id = %s AND status <> 'deleted'", [tenant.id]
    ):
        yield f"I5 the receipt of {id_} stays open"
    for generation in state.generations.values():
        if generation.state not in {"serving", "retired"}:
            yield f"I4 generation {generation.id} stays {generation.state}"
    for id_, status in admin.execute(
        "SELECT id, status FROM eai.kb_reindex_jobs WHERE tenant_id = %s"
        " AND status NOT IN ('completed', 'cancelled', 'failed')", [tenant.id],
    ):  # fmt: skip
        yield f"I5 reindex {id_} stays {status}"


def _points(state: State, store: MemoryVectors) -> Iterator[str]:
    """I3: rows and points are the same, chunk by chunk, with the class, vector and weights of the rows."""
    collections = {g.collection for g in state.generations.values()}
    points = {id_: p for space in store.names() for id_, p in store.points(space).items()}
    stray = [p for space in store.names() if space not in collections for p in store.points(space).values()]
    for point in [*stray, *(p for id_, p in points.items() if str(id_) not in {c.id for c in state.chunks})]:
        yield f"I3 a point of version {point.version} of {point.document} has no row"
    for chunk in state.chunks:
        generation = state.generations[chunk.generation]
        point = store.points(generation.collection).get(UUID(chunk.id))  # type: ignore[call-overload]
        if point is None or not _is_point_of(point, chunk, state):
            yield f"I3 chunk {chunk.id} of {chunk.document} in a {generation.state} generation has no point"
            continue
        if point.rights_key != f"{point.generation_key}:{chunk.class_}":
            yield f"I12 the point of {chunk.id} in a {generation.state} generation has {point.rights_key}"
        if point.dense.tobytes() != vector_of(generation.model, chunk.content).tobytes():
            yield f"S3-78 the vector of {chunk.id} is not of {generation.model}"
        terms = analyse_document(chunk.content, Language.ENGLISH)
        weights = document_weights(terms, generation.average_length)
        if not np.allclose(point.sparse.values, weights.values, rtol=1e-5):
            yield f"I3 the weights of {chunk.id} in a {generation.state} generation are outdated"


def _coverage(state: State) -> Iterator[str]:
    for chunk in state.chunks:
        if chunk.version != state.documents[chunk.document].serving:
            yield f"I3 chunk {chunk.id} is of a version that is served no more"


def _statistics(admin: psycopg.Connection[Any], tenant: Tenant) -> Iterator[str]:
    for generation, counted, real in admin.execute(COUNTED, {"t": tenant.id}):
        yield f"I3 generation {generation} counts {counted} chunks and has {real}"


def _audit(admin: psycopg.Connection[Any], tenant: Tenant) -> Iterator[str]:
    """I7: dense, verifying, and one event for each change."""
    link = bytes(32)
    told: Counter[tuple[str, str]] = Counter()
    rows = admin.execute(
        "SELECT seq, hash, body, action, resource_id FROM eai.audit_events WHERE tenant_id = %s ORDER BY seq",
        [tenant.id],
    )
    for place, (seq, hash_, body, action, resource) in enumerate(rows, 1):
        said = sha256(bytes(body)).digest()
        link = sha256(b"eai.audit.entry.v1\0" + link + place.to_bytes(8, "big") + said).digest()
        if seq != place or bytes(hash_) != link:
            yield f"I7 entry {place} does not follow from what is before it"
            return
        told[action, str(resource)] += 1
    done = Counter((action, str(id_)) for action, id_ in admin.execute(_CHANGES, {"t": tenant.id}))
    first = {str(document) for document in tenant.documents}
    for action, id_ in sorted(
        {*done, *(event for event in told if event[0] == "knowledge.document.deleted")}
    ):
        times = done[action, id_]
        if action == "knowledge.document.ready":
            times -= id_ in first  # that of the tenant's beginning was told elsewhere
        if told[action, id_] != times:
            yield f"I7 {action} of {id_} happened {times} times and was told {told[action, id_]} times"


_CHANGES = """
    SELECT 'knowledge.document.ready' AS action, v.document_id AS id FROM eai.kb_document_versions v
     WHERE v.tenant_id = %(t)s AND v.status = 'ready'
     UNION ALL
    SELECT 'knowledge.document.deleted', r.id FROM eai.deletion_receipts r
     WHERE r.tenant_id = %(t)s AND r.kind = 'document' AND r.status = 'deleted'
     UNION ALL
    SELECT 'knowledge.document.replace', v.document_id FROM eai.kb_document_versions v
     WHERE v.tenant_id = %(t)s AND v.number > 1"""
