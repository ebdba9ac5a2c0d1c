from collections.abc import Sequence

from eai.audit.service import Audit
from eai.gateway.catalogue import LOCAL_HASH_256, LOCAL_USE_512
from eai.gateway.ports import Embedded, EmbeddingRole
from eai.gateway.service import RegisteredModel
from eai.integrations.local_models import HashEmbedder
from eai.platform.database import Database
from tests.factories.retrieval import gateway_of


class HeavyEmbedder:
    def __init__(self) -> None:
        self.is_warm = False

    async def warm_up(self) -> None:
        self.is_warm = True

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        raise AssertionError("nobody asked")


async def _is_loaded(database: Database, audit: Audit, default_model: str | None) -> bool:
    heavy = HeavyEmbedder()
    models = {
        LOCAL_HASH_256.name: RegisteredModel(LOCAL_HASH_256, HashEmbedder()),
        LOCAL_USE_512.name: RegisteredModel(LOCAL_USE_512, heavy),
    }
    gateway = gateway_of(database, audit, models, default=default_model)
    await gateway.warm_up()
    return heavy.is_warm


async def test_the_default_model_is_loaded(database: Database, audit: Audit) -> None:
    assert await _is_loaded(database, audit, "local-use-512")


async def test_a_model_that_bases_must_name_takes_no_memory_before_it_is_called(
    database: Database, audit: Audit
) -> None:
    assert not await _is_loaded(database, audit, "local-hash-256")
    assert not await _is_loaded(database, audit, None)
    assert not await _is_loaded(database, audit, "elsewhere")
