import pytest

from eai.access.classification import Classification
from eai.gateway.catalogue import LOCAL_HASH_256, LOCAL_USE_512, SHIPPED_MODELS
from eai.gateway.ports import Embedder, EmbeddingModel, EmbeddingRole
from eai.integrations.local_models import HashEmbedder, SentenceEmbedder


def test_the_shipped_models_are_found_by_name() -> None:
    assert SHIPPED_MODELS == {"local-hash-256": LOCAL_HASH_256, "local-use-512": LOCAL_USE_512}


@pytest.mark.parametrize("model", SHIPPED_MODELS.values(), ids=lambda model: model.name)
def test_a_local_model_may_see_everything_and_runs_nowhere_else(model: EmbeddingModel) -> None:
    assert model.classification_ceiling is Classification.SECRET
    assert (model.provider, model.region) == ("local", "local")


def test_only_the_model_of_meaning_may_serve_in_production() -> None:
    assert (LOCAL_HASH_256.is_semantic, LOCAL_HASH_256.allowed_in_production) == (False, False)
    assert (LOCAL_USE_512.is_semantic, LOCAL_USE_512.allowed_in_production) == (True, True)


@pytest.mark.parametrize(
    ("model", "embedder"), [(LOCAL_HASH_256, HashEmbedder()), (LOCAL_USE_512, SentenceEmbedder())]
)
async def test_the_stated_dimensions_are_what_the_embedder_gives(
    model: EmbeddingModel, embedder: Embedder
) -> None:
    assert (await embedder.embed([], EmbeddingRole.QUERY)).vectors.shape == (0, model.dimensions)
