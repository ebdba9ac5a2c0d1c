"""One type for each kind of id, so that a checker sees a document id where a base id belongs."""

from typing import NewType
from uuid import UUID, uuid5

TenantId = NewType("TenantId", UUID)
PrincipalId = NewType("PrincipalId", UUID)
GroupId = NewType("GroupId", UUID)
ApiKeyId = NewType("ApiKeyId", UUID)
BaseId = NewType("BaseId", UUID)
DocumentId = NewType("DocumentId", UUID)
VersionId = NewType("VersionId", UUID)
ChunkId = NewType("ChunkId", UUID)
PointId = NewType("PointId", UUID)
GenerationId = NewType("GenerationId", UUID)
JobId = NewType("JobId", UUID)

PLATFORM_TENANT = TenantId(UUID("00000000-0000-4000-8000-000000000000"))
"""The reserved tenant of platform operators; it owns the platform's own audit chain and no content."""

_CHUNKS = UUID("6f1e1c0e-7b0a-5c55-9d0f-3f1f5b6f9a01")


def chunk_id(document: DocumentId, version: VersionId, start: int, end: int) -> ChunkId:
    """Id of the passage `[start, end)` of one version: the same passage always has the same id."""
    return ChunkId(uuid5(_CHUNKS, f"{document}:{version}:{start}:{end}"))


def point_id(chunk: ChunkId, generation: GenerationId) -> PointId:
    """Id of a chunk's row and of its point in one generation; writing it twice is harmless."""
    return PointId(uuid5(chunk, str(generation)))
