"""An independent judge of a tenant at rest, for after every fault.

It reads PostgreSQL as superuser and the index through its port, and repeats the product's rules in its
own words (design.md §8): I2 no stale version served, I3 no orphan point and no missing point, I4 one
generation searched and nothing of another in it, I5 every document and reindex in a final state, I6 what is
served in what is searched, I7 the audit dense, verifying, with one event per change, and every call of a
model that was announced closed exactly once, I8 nothing held of a quota but what calls hold.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256
from typing import Any, LiteralString
from uuid import UUID

import numpy as np
import psycopg
from psycopg.rows import dict_row

from eai.knowledge.ports import SearchFilter, SearchRequest, Selector, SpaceId, Vectors

_FINAL = {"ready", "quarantined", "rejected", "failed"}
_ALL = 10_000
_POLL_S = 0.1

Row = dict[str, Any]


@dataclass(frozen=True)
class Judge:
    """Looks at one database and the index that is its projection."""

    admin_url: str
    vectors: Vectors
    connection: psycopg.AsyncConnection | None = None
    """What it looks through, as long as it does."""

    async def judge(self, tenant: UUID | str, *, within_s: float = 60.0) -> None:
        """Wait until nothing is left to do for `tenant`, then fail unless every invariant holds."""
        async with await psycopg.AsyncConnection.connect(self.admin_url, autocommit=True) as connection:
            await replace(self, connection=connection)._judge(UUID(str(tenant)), within_s)

    async def _judge(self, whose: UUID, within_s: float) -> None:
        deadline = asyncio.get_running_loop().time() + within_s
        while unrest := await self.unrest(whose):
            assert asyncio.get_running_loop().time() < deadline, f"no rest within {within_s} s: {unrest}"
            await asyncio.sleep(_POLL_S)
        while broken := await self.broken(whose):
            # A process that lost its job may still be clearing up behind itself.
            assert asyncio.get_running_loop().time() < deadline, "\n".join(broken)
            await asyncio.sleep(_POLL_S)

    async def unrest(self, tenant: UUID) -> list[str]:
        """What somebody still has to do."""
        jobs = await self._rows(
            "SELECT name, state, attempt, failures, lease_until FROM eai.jobs "
            "WHERE tenant_id = %(t)s AND state IN ('queued', 'running')",
            tenant,
        )
        going = await self._rows(
            "SELECT id FROM eai.kb_documents WHERE tenant_id = %(t)s AND deleting_since IS NOT NULL "
            "UNION ALL SELECT id FROM eai.knowledge_bases WHERE tenant_id = %(t)s "
            "AND deleting_since IS NOT NULL",
            tenant,
        )
        calls = await self._rows(
            "SELECT id FROM eai.model_reservations WHERE tenant_id = %(t)s AND state = 'held'", tenant
        )
        return [
            *(f"job {job}" for job in jobs),
            *(f"deleting {row['id']}" for row in going),
            *(f"call {row['id']} is held" for row in calls),
        ]

    async def broken(self, tenant: UUID) -> list[str]:
        """Every way in which the tenant's rows, index and audit contradict what was promised."""
        return [
            *await self._states(tenant),
            *await self._points(tenant),
            *await self._generations(tenant),
            *await self._statistics(tenant),
            *await self._chain(tenant),
            *await self._events(tenant),
            *await self._calls(tenant),
        ]

    async def _states(self, tenant: UUID) -> list[str]:
        faults = []
        for row in await self._rows(_VERSIONS, tenant):
            if row["status"] not in _FINAL:
                faults.append(f"I5 version {row['id']} of {row['document']} stays {row['status']}")
            if row["newest_ready"] is not None and row["serving_number"] != row["newest_ready"]:
                faults.append(
                    f"I2 {row['document']} serves {row['serving_number']}, not {row['newest_ready']}"
                )
        return [*faults, *[f"I5 receipt {row['id']} stays open" for row in await self._rows(_OPEN, tenant)]]

    async def _points(self, tenant: UUID) -> list[str]:
        strays = await self._rows(_STRAYS, tenant)
        faults = [
            f"I3 chunk {row['id']} is of version {row['version_id']}, which is not served" for row in strays
        ]
        for generation in await self._rows(_GENERATIONS, tenant):
            faults += await self._points_of(tenant, generation)
        return faults

    async def _points_of(self, tenant: UUID, generation: Row) -> list[str]:
        id_, space = generation["id"], SpaceId(generation["collection"], generation["size"])
        chunks = await self._rows(_CHUNKS, tenant, generation=id_)
        key = blake2b(tenant.bytes + id_.bytes, digest_size=12).hexdigest()
        if not chunks and not await self.vectors.count(space, Selector(key)):
            return []  # also where nobody ever made the space
        faults = list(_unlike(f"generation {id_}", {c["id"] for c in chunks}, await self._found(space, key)))
        for number in {chunk["class_number"] for chunk in chunks}:
            expected = {chunk["id"] for chunk in chunks if chunk["class_number"] == number}
            found = await self._found(space, key, f"{key}:{number}")
            faults += _unlike(f"class {number} of generation {id_}", expected, found)
        return faults

    async def _generations(self, tenant: UUID) -> list[str]:
        """One generation is searched, whole and as the base's row says; at rest none is being made."""
        return [
            *(
                f"I4 base {row['base_id']} has {row['serving']} generations that are searched"
                for row in await self._rows(_SEARCHED, tenant)
            ),
            *(
                f"I4 generation {row['id']} of base {row['base_id']} stays {row['state']}"
                for row in await self._rows(_UNFINISHED, tenant)
            ),
            *(
                f"I6 document {row['document']} is served, and {row['generation']} has nothing of it"
                for row in await self._rows(_NOT_COVERED, tenant)
            ),
            *(
                f"I4 chunk {row['id']} of generation {row['generation']} is of another size or class"
                for row in await self._rows(_UNFITTING, tenant)
            ),
            *(f"I5 reindex {row['id']} stays {row['status']}" for row in await self._rows(_UNENDED, tenant)),
        ]

    async def _found(self, space: SpaceId, key: str, *rights: str) -> set[object]:
        everywhere = np.ones(space.dimensions, np.float32)
        request = SearchRequest(SearchFilter(key, rights or None), _ALL, dense=everywhere)
        return {hit.id for hit in (await self.vectors.search(space, request)).dense}

    async def _statistics(self, tenant: UUID) -> list[str]:
        return [
            f"I3 generation {row['generation']} counts {row['counted']} chunks and has {row['real']}"
            for row in await self._rows(COUNTED, tenant)
        ]

    async def _chain(self, tenant: UUID) -> list[str]:
        heads = await self._rows("SELECT seq, hash FROM eai.audit_heads WHERE tenant_id = %(t)s", tenant)
        rows = await self._rows(
            "SELECT seq, hash, body FROM eai.audit_events WHERE tenant_id = %(t)s ORDER BY seq", tenant
        )
        link = bytes(32)
        for place, row in enumerate(rows, 1):
            if row["seq"] != place:
                return [f"I7 entry {place} is missing: {row['seq']} follows"]
            said = sha256(bytes(row["body"])).digest()
            link = sha256(b"eai.audit.entry.v1\0" + link + place.to_bytes(8, "big") + said).digest()
            if row["hash"] != link:
                return [f"I7 entry {place} does not follow from what is before it"]
        expected = [{"seq": len(rows), "hash": link}] if rows else []
        return [] if heads == expected else [f"I7 the head says {heads}, the entries {expected}"]

    async def _events(self, tenant: UUID) -> list[str]:
        events = await self._rows(
            "SELECT action, resource_id FROM eai.audit_events WHERE tenant_id = %(t)s AND decision = 'allow'",
            tenant,
        )
        told = Counter((str(row["action"]), str(row["resource_id"])) for row in events)
        done = Counter((str(row["action"]), str(row["id"])) for row in await self._rows(_CHANGES, tenant))
        return [
            f"I7 {action} of {id_} happened {done[action, id_]} times and was told {told[action, id_]} times"
            for action, id_ in sorted({*done, *(event for event in told if event[0] in _TOLD)})
            if done[action, id_] != told[action, id_]
        ]

    async def _calls(self, tenant: UUID) -> list[str]:
        return [
            *(
                f"I7 the call that entry {row['seq']} announced was closed {row['ends']} times"
                for row in await self._rows(_ANNOUNCED + _NOT_CLOSED_ONCE, tenant)
            ),
            *(
                f"I7 entry {row['seq']} closes a call that nobody announced"
                for row in await self._rows(_ANNOUNCED + _CLOSED_UNANNOUNCED, tenant)
            ),
            *(
                f"I8 of quota {row['quota_id']} {row['reserved']} is reserved, and calls hold {row['held']}"
                for row in await self._rows(_HELD, tenant)
            ),
        ]

    async def _rows(self, statement: LiteralString, tenant: UUID, **more: object) -> list[Row]:
        assert self.connection is not None
        cursor = self.connection.cursor(row_factory=dict_row)
        return await (await cursor.execute(statement, {"t": tenant, **more})).fetchall()


def _unlike(where: str, expected: set[object], found: set[object]) -> Iterator[str]:
    if orphans := found - expected:
        yield f"I3 {len(orphans)} orphan points in {where}: {sorted(map(str, orphans))[:3]}"
    if missing := expected - found:
        yield f"I3 {len(missing)} points missing in {where}: {sorted(map(str, missing))[:3]}"


_VERSIONS = """
    SELECT v.id, v.status, d.id AS document, s.number AS serving_number,
           (SELECT max(r.number) FROM eai.kb_document_versions r
             WHERE r.tenant_id = d.tenant_id AND r.document_id = d.id AND r.status = 'ready') AS newest_ready
      FROM eai.kb_documents d
      JOIN eai.kb_document_versions v ON v.tenant_id = d.tenant_id AND v.document_id = d.id
      LEFT JOIN eai.kb_document_versions s ON s.tenant_id = d.tenant_id AND s.id = d.serving_version_id
     WHERE d.tenant_id = %(t)s"""
_OPEN = "SELECT id FROM eai.deletion_receipts WHERE tenant_id = %(t)s AND status <> 'deleted'"
_STRAYS = """
    SELECT c.id, c.version_id
      FROM eai.kb_chunks c
      LEFT JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
     WHERE c.tenant_id = %(t)s AND d.serving_version_id IS DISTINCT FROM c.version_id"""
_CHUNKS = "SELECT id, class_number FROM eai.kb_chunks WHERE tenant_id = %(t)s AND generation = %(generation)s"
# Generations of deleted bases are known from their receipts alone; they lay in some collection. Those that
# were dropped are known from their reindexes.
_GENERATIONS = """
    SELECT id, collection, dimensions AS size FROM eai.kb_generations WHERE tenant_id = %(t)s
     UNION
    SELECT gone.id, g.collection, g.dimensions
      FROM (SELECT DISTINCT unnest(generations) AS id FROM eai.deletion_receipts WHERE tenant_id = %(t)s) gone
     CROSS JOIN (SELECT DISTINCT collection, dimensions FROM eai.kb_generations) g
     WHERE NOT EXISTS (SELECT FROM eai.kb_generations k WHERE k.tenant_id = %(t)s AND k.id = gone.id)
     UNION
    SELECT (made ->> 'generation')::uuid, made ->> 'collection', (made ->> 'dimensions')::int
      FROM eai.kb_reindex_jobs j CROSS JOIN LATERAL (VALUES (j.source), (j.target)) AS v (made)
     WHERE j.tenant_id = %(t)s"""
_SEARCHED = """
    SELECT b.id AS base_id, count(g.id) AS serving
      FROM eai.knowledge_bases b
      LEFT JOIN eai.kb_generations g
        ON g.tenant_id = b.tenant_id AND g.base_id = b.id AND g.state = 'serving'
       AND (g.id, g.collection, g.dimensions, g.embedding_model)
         = (b.vector_generation, b.vector_collection, b.dimensions, b.embedding_model)
     WHERE b.tenant_id = %(t)s GROUP BY b.id HAVING count(g.id) <> 1"""
_UNFINISHED = """
    SELECT id, base_id, state FROM eai.kb_generations
     WHERE tenant_id = %(t)s AND state NOT IN ('serving', 'retired')"""
_NOT_COVERED = """
    SELECT d.id AS document, b.vector_generation AS generation
      FROM eai.kb_documents d
      JOIN eai.knowledge_bases b ON b.tenant_id = d.tenant_id AND b.id = d.base_id
     WHERE d.tenant_id = %(t)s AND d.serving_version_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM eai.kb_chunks c
                        WHERE c.tenant_id = d.tenant_id AND c.document_id = d.id
                          AND c.version_id = d.serving_version_id AND c.generation = b.vector_generation)"""
# A chunk's class says what its raw rights say, in every generation: then points found under it are right.
_UNFITTING = """
    SELECT c.id, c.generation
      FROM eai.kb_chunks c
      JOIN eai.kb_generations g ON g.tenant_id = c.tenant_id AND g.id = c.generation
      JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
      LEFT JOIN eai.kb_rights_classes r
        ON r.tenant_id = c.tenant_id AND r.base_id = c.base_id AND r.number = c.class_number
     WHERE c.tenant_id = %(t)s
       AND (c.dimensions <> g.dimensions OR c.base_id <> g.base_id
            OR (c.readers, c.classification, d.readers, d.classification, d.source_connector)
               IS DISTINCT FROM
               (r.chunk_readers, r.chunk_classification, r.readers, r.classification, r.source_connector))"""
_UNENDED = """
    SELECT id, status FROM eai.kb_reindex_jobs
     WHERE tenant_id = %(t)s AND status IN ('queued', 'running', 'verifying')"""
COUNTED = """
    SELECT * FROM (
        SELECT g.id AS generation,
               (SELECT COALESCE(sum(s.chunks), 0) FROM eai.kb_language_statistics s
                 WHERE s.tenant_id = g.tenant_id AND s.generation = g.id) AS counted,
               (SELECT count(*) FROM eai.kb_chunks c
                  JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
                 WHERE c.tenant_id = g.tenant_id AND c.generation = g.id
                   AND c.readers IS NULL AND d.readers IS NULL) AS real
          FROM eai.kb_generations g WHERE g.tenant_id = %(t)s) sides
     WHERE counted <> real"""
# What happened, as the rows themselves tell it.
_CHANGES = """
    SELECT 'knowledge.document.ready' AS action, v.document_id AS id FROM eai.kb_document_versions v
     WHERE v.tenant_id = %(t)s AND v.status = 'ready'
       AND NOT EXISTS (SELECT FROM eai.deletion_receipts r WHERE r.tenant_id = %(t)s AND r.id = v.document_id)
     UNION ALL
    SELECT 'knowledge.document.deleted', r.id FROM eai.deletion_receipts r
     WHERE r.tenant_id = %(t)s AND r.kind = 'document' AND r.status = 'deleted'
     UNION ALL
    SELECT 'knowledge_base.delete', r.id FROM eai.deletion_receipts r
     WHERE r.tenant_id = %(t)s AND r.kind = 'knowledge_base'
     UNION ALL
    SELECT 'knowledge_base.deleted', r.id FROM eai.deletion_receipts r
     WHERE r.tenant_id = %(t)s AND r.kind = 'knowledge_base' AND r.status = 'deleted'
     UNION ALL
    SELECT 'knowledge_base.reindex.' || CASE status WHEN 'completed' THEN 'complete'
                                                    WHEN 'failed' THEN 'failed' ELSE 'cancel' END, base_id
      FROM eai.kb_reindex_jobs WHERE tenant_id = %(t)s
     UNION ALL
    SELECT 'knowledge_base.reindex.' || CASE WHEN rollback_of IS NULL THEN 'request' ELSE 'rollback' END,
           base_id
      FROM eai.kb_reindex_jobs WHERE tenant_id = %(t)s
     UNION ALL
    SELECT 'knowledge.document.ingest', d.id FROM eai.kb_documents d WHERE d.tenant_id = %(t)s
     UNION ALL
    SELECT 'knowledge.document.replace', v.document_id FROM eai.kb_document_versions v
     WHERE v.tenant_id = %(t)s AND v.number > 1
     UNION ALL
    SELECT 'knowledge_base.create', b.id FROM eai.knowledge_bases b WHERE b.tenant_id = %(t)s"""
_TOLD = {"knowledge.document.deleted", "knowledge_base.delete", "knowledge_base.deleted"}
# Calls without a bound were made inside the process, and are told of once they are over.
_ANNOUNCED = """
    WITH told AS (
         SELECT seq, action, decision, convert_from(body, 'UTF8')::jsonb -> 'facts' AS facts
           FROM eai.audit_events
          WHERE tenant_id = %(t)s AND action IN ('model.invoke', 'model.result', 'model.unknown')),
    announced AS (
         SELECT seq FROM told WHERE action = 'model.invoke' AND decision = 'allow' AND facts ? 'bound'),
    closed AS (
         SELECT seq, (facts ->> 'intent')::bigint AS intent FROM told WHERE action <> 'model.invoke')"""
_NOT_CLOSED_ONCE = """
    SELECT a.seq, count(c.seq) AS ends FROM announced a LEFT JOIN closed c ON c.intent = a.seq
     GROUP BY a.seq HAVING count(c.seq) <> 1"""
# Local models need no intent, though a quota may bind them: their reservations run out without one.
_CLOSED_UNANNOUNCED = """
    SELECT seq FROM closed
     WHERE intent IS NOT NULL AND intent NOT IN (SELECT seq FROM announced)"""
_HELD = """
    SELECT u.quota_id, u.reserved, COALESCE(h.amount, 0) AS held
      FROM eai.quota_usage u
      LEFT JOIN (SELECT q.quota, q.period_start, sum(q.amount) AS amount
                   FROM eai.model_reservations r
                  CROSS JOIN LATERAL jsonb_to_recordset(r.quotas)
                        AS q (quota uuid, period_start timestamptz, amount bigint)
                  WHERE r.tenant_id = %(t)s AND r.state = 'held' GROUP BY 1, 2) h
        ON h.quota = u.quota_id AND h.period_start = u.period_start
     WHERE u.tenant_id = %(t)s AND u.reserved <> COALESCE(h.amount, 0)"""
