"""The name of an embedding space: the same for every base whose vectors may be compared."""

from hashlib import blake2b

import orjson

from eai.knowledge.ports import SpaceId


def space_id(
    *, model: str, provider: str, provider_model: str, revision: str, preprocessing: str, dimensions: int
) -> SpaceId:
    """The space of a model as it is now; any change of these facts is another space."""
    facts = orjson.dumps([model, provider, provider_model, revision, preprocessing, dimensions])
    return SpaceId(f"space_{blake2b(facts, digest_size=12).hexdigest()}", dimensions)
