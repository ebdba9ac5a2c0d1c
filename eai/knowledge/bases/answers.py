"""Bases and access lists turned into what clients read."""

from collections.abc import Sequence

from eai.access.acl import Entry, Permission, deciding_entry, permissions
from eai.access.classification import LEVELS
from eai.access.scopes import Scope
from eai.knowledge.bases.repository import Counts
from eai.knowledge.bases.schemas import AccessOut, Allowed, BaseOut, EntriesOut, EntrySchema
from eai.knowledge.directory import Named
from eai.knowledge.models import KnowledgeBase


def base_out(row: KnowledgeBase, counts: Counts | None) -> BaseOut:
    """The base; without `counts` for those who may not know them."""
    return BaseOut(
        id=row.id,
        alias=row.alias,
        name=row.name,
        description=row.description,
        classification=LEVELS[row.classification],
        embedding_model=row.embedding_model,
        dimensions=row.dimensions,
        chunk_size=row.chunk_size,
        chunk_overlap=row.chunk_overlap,
        vector_generation=row.vector_generation,
        vector_collection=row.vector_collection,
        documents_count=counts and counts.documents,
        chunks_count=counts and counts.chunks,
        created_at=row.created_at,
        updated_at=row.updated_at,
        revision=row.revision,
    )


def entries_out(entries: Sequence[Entry], revision: int) -> EntriesOut:
    """The access list."""
    return EntriesOut(entries=[_entry_out(entry) for entry in entries], revision=revision)


def access_out(principal: str, named: Named, entries: Sequence[Entry]) -> AccessOut:
    """What `named` may do, and the entry that says so."""
    granted = permissions(entries, named.references)
    settled = max(granted, key=lambda permission: permission.rank, default=Permission.READ)
    decided_by = deciding_entry(entries, named.references, settled)
    return AccessOut(
        principal=principal,
        allowed=Allowed(
            read=Permission.READ in granted,
            write=named.is_admin or Permission.WRITE in granted,
            manage=named.is_admin or Permission.MANAGE in granted,
        ),
        decided_by=decided_by and _entry_out(decided_by),
        by_scope=Scope.KB_ADMIN.value if named.is_admin else None,
    )


def _entry_out(entry: Entry) -> EntrySchema:
    return EntrySchema(principal=entry.principal, permission=entry.permission, effect=entry.effect)
