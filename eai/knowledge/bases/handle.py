"""A base as a caller holds it, once it is known what the caller may do with it."""

from dataclasses import dataclass

from eai.access.acl import BaseRights
from eai.access.classification import Classification, highest
from eai.access.rights_class import generation_key
from eai.kernel.ids import BaseId, DocumentId, GenerationId, TenantId, VersionId
from eai.knowledge.ports import Selector, SpaceId


@dataclass(frozen=True, slots=True)
class StoredGeneration:
    """A generation, searched or not: where its points are."""

    tenant: TenantId
    id: GenerationId
    space: SpaceId

    def selector(self, document: DocumentId | None = None, version: VersionId | None = None) -> Selector:
        """Its points: all, or those of one document or version."""
        return Selector(generation_key(self.tenant, self.id), document, version)


@dataclass(frozen=True, slots=True)
class ServingGeneration(StoredGeneration):
    """The generation that queries search, and that new chunks are written to."""

    average_length: float


@dataclass(frozen=True, slots=True)
class BuildingGeneration(StoredGeneration):
    """The generation that a reindex makes beside it; new chunks are written to it as well."""

    average_length: float
    embedding_model: str
    chunk_size: int
    chunk_overlap: int


@dataclass(frozen=True, slots=True)
class BaseHandle:
    """A visible base with the caller's rights in it, as of this transaction."""

    tenant: TenantId
    id: BaseId
    alias: str
    name: str
    classification: Classification
    embedding_model: str
    chunk_size: int
    chunk_overlap: int
    generation: ServingGeneration
    rights: BaseRights
    revision: int

    def level_of(
        self, document: Classification | None, chunk: Classification | None = None
    ) -> Classification:
        """The effective level: the base's default where the document sets none, or the chunk's if higher."""
        return highest(document or self.classification, chunk)
