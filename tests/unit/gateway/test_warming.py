from collections.abc import Sequence

from eai.gateway.catalogue import LOCAL_HASH_256, LOCAL_USE_512
from eai.gateway.ports import Embedded, EmbeddingRole
from eai.gateway.service import Gateway, RegisteredModel
from eai.integrations.local_models import HashEmbedder


class HeavyEmbedder:
    def __init__(self) -> None:
        self.is_warm = False

    async def warm_up(self) -> None:
        self.is_warm = True

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        raise AssertionError("nobody asked")


async def _is_loaded(default_model: str | None) -> bool:
    heavy = HeavyEmbedder()
    models = {
        LOCAL_HASH_256.name: RegisteredModel(LOCAL_HASH_256, HashEmbedder()),
        LOCAL_USE_512.name: RegisteredModel(LOCAL_USE_512, heavy),
    }
    gateway = Gateway(models, default_model=default_model, batch_size=2, is_production=False)
    await gateway.warm_up()
    return heavy.is_warm


async def test_the_default_model_is_loaded() -> None:
    assert await _is_loaded("local-use-512")


async def test_a_model_that_bases_must_name_takes_no_memory_before_it_is_called() -> None:
    assert not await _is_loaded("local-hash-256")
    assert not await _is_loaded(None)
    assert not await _is_loaded("elsewhere")
