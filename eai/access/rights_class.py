"""The single keyword by which a point in the vector store is filtered."""

from collections.abc import Iterable
from hashlib import blake2b

from eai.kernel.ids import GenerationId, TenantId

MAX_FILTER_CLASSES = 1_000
"""Above this many permitted classes a query filters by generation alone and the re-check decides."""


def generation_key(tenant: TenantId, generation: GenerationId) -> str:
    """Keyword shared by all points of one generation of one tenant.

    Tenant and generation are hashed together, so that a filter built for one tenant cannot match
    another tenant's points even if it were handed a foreign generation.
    """
    return blake2b(tenant.bytes + generation.bytes, digest_size=12).hexdigest()


def rights_key(tenant: TenantId, generation: GenerationId, class_number: int) -> str:
    """Keyword of the points of one rights class within one generation."""
    return f"{generation_key(tenant, generation)}:{class_number}"


def rights_keys(tenant: TenantId, generation: GenerationId, class_numbers: Iterable[int]) -> tuple[str, ...]:
    """The keywords of several classes; the hash is made once, for a query sends up to a thousand."""
    prefix = generation_key(tenant, generation)
    return tuple([f"{prefix}:{number}" for number in class_numbers])
