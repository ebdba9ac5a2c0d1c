"""Opens citations: a passage, or the whole text, under the rights of a query."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import Permission
from eai.access.classification import level_at
from eai.access.subject import Subject
from eai.access.visibility import PassageRights, may_read
from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Evidence, Resource
from eai.connectors.repository import ConnectorRows
from eai.kernel.canonical import Canonical
from eai.kernel.errors import NotFound
from eai.kernel.ids import ChunkId, DocumentId, TenantId, VersionId
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.chunks.repository import ChunkRows
from eai.knowledge.chunks.spans import OwnRights, spans_from_rows
from eai.knowledge.documents.access import document_id, find_document
from eai.knowledge.documents.levels import effective_level
from eai.knowledge.documents.schemas import ChunkOut, ContentOut, RedactionOut
from eai.knowledge.documents.version_rows import VersionRows
from eai.knowledge.models import Chunk, DocumentVersion, KnowledgeDocument
from eai.knowledge.provenance import Position, Provenance


@dataclass(frozen=True, slots=True)
class _Opened:
    """A document that `subject` may know of, with the version that answers."""

    subject: Subject
    base: BaseHandle
    row: KnowledgeDocument
    version: DocumentVersion
    is_source_enabled: bool

    def lets_read(self, own: OwnRights) -> bool:
        """Whether the rule of a query lets the subject read what has these rights of its own."""
        row = self.row
        passage = PassageRights(
            tenant=TenantId(row.tenant_id),
            document_readers=None if row.readers is None else frozenset(row.readers),
            chunk_readers=own.readers,
            classification=effective_level(self.base, row, own.classification),
            is_live=row.deleting_since is None
            and row.serving_version_id == self.version.id
            and self.version.status == "ready",
            is_source_enabled=self.is_source_enabled,
        )
        return may_read(self.subject, self.base.rights, passage)

    def evidence(self, action: AuditAction, resource: Resource) -> Evidence:
        """The event that says who read it."""
        facts: dict[str, Canonical] = {
            "base": str(self.base.id),
            "document": str(self.row.id),
            "version": self.version.number,
        }
        entry = AuditEntry(self.subject.tenant, action, Actor.of(self.subject), resource, facts=facts)
        return Evidence(entries=(entry,))


async def read_chunk(
    session: AsyncSession, subject: Subject, base_reference: str, reference: str, chunk_reference: str
) -> tuple[ChunkOut, Evidence]:
    """A passage of the version that answers, and the event that says who read it.

    End the transaction, flush the evidence, and only then show it. Raises NotFound, PermissionMissing.
    """
    opened = await _open(session, subject, base_reference, reference)
    base, document = opened.base, DocumentId(opened.row.id)
    # The same spelling rules as a document's id.
    wanted = ChunkId(document_id(chunk_reference))
    found = await ChunkRows(session, base.tenant).find_serving(document, base.generation.id, wanted)
    if found is None or not opened.lets_read(_own(found)):
        raise NotFound
    evidence = opened.evidence(AuditAction.CHUNK_READ, Resource("chunk", str(wanted)))
    return _chunk_out(base, opened.row, opened.version, found), evidence


async def read_content(
    session: AsyncSession, subject: Subject, base_reference: str, reference: str
) -> tuple[ContentOut, Evidence]:
    """The text of the version that answers, without what the caller may not read of it.

    End the transaction, flush the evidence, and only then show it. Raises NotFound, PermissionMissing.
    """
    opened = await _open(session, subject, base_reference, reference)
    if not opened.lets_read(OwnRights()):
        raise NotFound
    base, row, version = opened.base, opened.row, opened.version
    versions = VersionRows(session, base.tenant, DocumentId(row.id))
    text, found = await versions.text_of(VersionId(version.id))
    hidden = await _hidden(session, opened)
    out = ContentOut(
        document_id=row.id,
        version=str(version.number),
        title=row.title,
        content_type=version.content_type,
        language=version.language,
        classification=effective_level(base, row),
        content=_blank(text, hidden),
        redactions=[
            RedactionOut(**each)
            for each in found.get("redactions", ())
            if not any(start < each["end"] and each["start"] < end for start, end in hidden)
        ],
    )
    return out, opened.evidence(AuditAction.DOCUMENT_READ, Resource("document", str(row.id)))


async def _open(session: AsyncSession, subject: Subject, base_reference: str, reference: str) -> _Opened:
    base, row = await find_document(session, subject, base_reference, reference, Permission.READ)
    if row.serving_version_id is None:
        raise NotFound
    versions = VersionRows(session, base.tenant, DocumentId(row.id))
    version = await versions.find(VersionId(row.serving_version_id))
    if version is None:
        raise NotFound
    is_shown = await ConnectorRows(session, base.tenant).is_shown(row.source_connector)
    return _Opened(subject, base, row, version, is_source_enabled=is_shown)


async def _hidden(session: AsyncSession, opened: _Opened) -> list[tuple[int, int]]:
    parts = [
        (span.start, span.end, OwnRights(span.readers, span.classification))
        for span in spans_from_rows(opened.version.chunk_rights)
    ]
    parts += [
        (chunk.start, chunk.end, OwnRights(chunk.readers, chunk.classification))
        for chunk in await ChunkRows(session, opened.base.tenant).rights(DocumentId(opened.row.id))
        if chunk.version == opened.version.id
    ]
    return [(start, end) for start, end, own in parts if not opened.lets_read(own)]


def _own(chunk: Chunk) -> OwnRights:
    readers = None if chunk.readers is None else frozenset(chunk.readers)
    return OwnRights(readers, level_at(chunk.classification))


def _blank(text: str, hidden: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in sorted(hidden):
        begin, upto = max(start, at), min(end, len(text))
        if begin < upto:
            pieces += [text[at:begin], " " * (upto - begin)]
            at = upto
    return "".join([*pieces, text[at:]])


def _chunk_out(base: BaseHandle, row: KnowledgeDocument, version: DocumentVersion, chunk: Chunk) -> ChunkOut:
    level = effective_level(base, row, _own(chunk).classification)
    return ChunkOut(
        chunk_id=chunk.chunk_id,
        document_id=row.id,
        knowledge_base_id=row.base_id,
        title=row.title,
        ordinal=chunk.ordinal,
        content=chunk.content,
        language=chunk.language,
        classification=level,
        provenance=Provenance(
            source_type="rag",
            source_id=row.id,
            version=str(version.number),
            classification=level,
            source_uri=row.source_uri,
            source_uri_verified=row.source_uri_verified,
            source_connector=row.source_connector,
        ),
        position=Position(start=chunk.start_offset, end=chunk.end_offset),
    )
