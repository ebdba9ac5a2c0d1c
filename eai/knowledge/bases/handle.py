"""A base as a caller holds it, once it is known what the caller may do with it."""

from dataclasses import dataclass

from eai.access.acl import BaseRights
from eai.access.classification import Classification, highest
from eai.access.rights_class import generation_key
from eai.kernel.ids import BaseId, GenerationId, TenantId
from eai.knowledge.ports import Selector, SpaceId


@dataclass(frozen=True, slots=True)
class ServingGeneration:
    """The generation that queries search, and that new chunks are written to."""

    tenant: TenantId
    id: GenerationId
    space: SpaceId
    average_length: float

    def selector(self) -> Selector:
        """Every point of this generation."""
        return Selector(generation_key(self.tenant, self.id))


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
