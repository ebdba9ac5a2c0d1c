"""What the rows of a tenant say at one instant, read as superuser."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import orjson
import psycopg

from tests.simulation.templates import Person, Tenant

Row = SimpleNamespace


@dataclass(frozen=True)
class State:
    """Rows by table; ids are text."""

    tenant: UUID
    base: Row
    generations: Mapping[str, Row]
    documents: Mapping[str, Row]
    versions: Mapping[str, Row]
    chunks: Sequence[Row]
    classes: Mapping[int, Row]
    jobs: Sequence[Row]

    @cached_property
    def served(self) -> Mapping[str, Row]:
        """Documents that somebody may find."""
        return {id_: d for id_, d in self.documents.items() if d.serving and not d.is_deleting}

    @cached_property
    def serving_chunks(self) -> Mapping[str, Sequence[Row]]:
        """The passages that answer, by document."""
        found: dict[str, list[Row]] = {id_: [] for id_ in self.served}
        for chunk in self.chunks:
            document = self.served.get(chunk.document)
            if document and chunk.version == document.serving and chunk.generation == self.base.generation:
                found[chunk.document].append(chunk)
        return found

    @cached_property
    def of_served_versions(self) -> Sequence[Row]:
        """The passages of what answers, in every generation."""
        served = {document.serving for document in self.served.values()}
        return [chunk for chunk in self.chunks if chunk.version in served]

    @cached_property
    def moving(self) -> frozenset[str]:
        """Documents whose points have yet to follow a change of rights."""
        return frozenset(job.document for job in self.jobs if job.name == "knowledge.move_rights")

    def generation_key(self, generation: str) -> str:
        digest = blake2b(self.tenant.bytes + UUID(generation).bytes, digest_size=12)
        return digest.hexdigest()

    def readable(self, person: Person) -> Mapping[str, Sequence[Row]]:
        """The passages that `person` may read now, by document; documents without one are left out."""
        readable = {
            id_: [chunk for chunk in chunks if self.may_read(person, self.documents[id_], chunk)]
            for id_, chunks in self.serving_chunks.items()
        }
        return {id_: chunks for id_, chunks in readable.items() if chunks}

    def may_read(self, person: Person, document: Row, chunk: Row) -> bool:
        """The rule, once more, in its simplest words."""
        names = {person.reference, "tenant:*"}
        own = self.base.classification if document.classification is None else document.classification
        level = max(own, chunk.classification or 0)
        return (
            level <= person.subject.clearance.rank
            and (document.readers is None or bool(names & set(document.readers)))
            and (chunk.readers is None or bool(names & set(chunk.readers)))
        )

    def class_permits(self, person: Person, number: int) -> bool:
        """The same for everything of a rights class."""
        rights = self.classes[number]
        document = Row(classification=rights.classification, readers=rights.readers)
        chunk = Row(classification=rights.chunk_classification, readers=rights.chunk_readers)
        return self.may_read(person, document, chunk)


def read(admin: psycopg.Connection[Any], tenant: Tenant) -> State:
    found = admin.execute(_STATE, {"t": tenant.id}).fetchone()
    assert found is not None
    (told,) = found
    rows = {name: [Row(**row) for row in part or ()] for name, part in orjson.loads(told).items()}
    return State(
        tenant=tenant.id,
        base=rows["bases"][0],
        generations={row.id: row for row in rows["generations"]},
        documents={row.id: row for row in rows["documents"]},
        versions={row.id: row for row in rows["versions"]},
        chunks=rows["chunks"],
        classes={row.number: row for row in rows["classes"]},
        jobs=rows["jobs"],
    )


_STATE = """
    SELECT json_build_object(
      'bases', (SELECT json_agg(r) FROM (
         SELECT vector_generation AS generation, vector_collection AS collection, embedding_model AS model,
                dimensions, classification FROM eai.knowledge_bases WHERE tenant_id = %(t)s) r),
      'generations', (SELECT json_agg(r) FROM (
         SELECT id, state, collection, dimensions, embedding_model AS model, average_length
           FROM eai.kb_generations WHERE tenant_id = %(t)s) r),
      'documents', (SELECT json_agg(r) FROM (
         SELECT id, title, readers, classification, serving_version_id AS serving,
                deleting_since IS NOT NULL AS is_deleting
           FROM eai.kb_documents WHERE tenant_id = %(t)s) r),
      'versions', (SELECT json_agg(r) FROM (
         SELECT id, document_id AS document, number, status, error, intended, content,
                convert_from(source, 'UTF8') AS source, chunk_rights
           FROM eai.kb_document_versions WHERE tenant_id = %(t)s) r),
      'chunks', (SELECT json_agg(r) FROM (
         SELECT id, chunk_id AS chunk, generation, document_id AS document, version_id AS version,
                start_offset AS start, end_offset AS "end", content, readers, classification,
                class_number AS class_, md5(embedding) AS vector
           FROM eai.kb_chunks WHERE tenant_id = %(t)s) r),
      'classes', (SELECT json_agg(r) FROM (
         SELECT number, readers, chunk_readers, classification, chunk_classification
           FROM eai.kb_rights_classes WHERE tenant_id = %(t)s) r),
      'jobs', (SELECT json_agg(r) FROM (
         SELECT id, name, state, parameters ->> 'document' AS document FROM eai.jobs
          WHERE tenant_id = %(t)s AND state IN ('queued', 'running')) r))::text"""
