"""A call of many texts is cut into batches, and judged as a whole."""

import pytest

from eai.access.classification import Classification
from eai.audit.entries import SYSTEM
from eai.audit.service import Audit
from eai.gateway.calls import Caller, EmbeddingCall, Operation
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.errors import DlpBlocked
from eai.gateway.ports import EmbeddingRole
from eai.gateway.service import RegisteredModel
from eai.integrations.local_models import HashEmbedder
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from tests.factories.retrieval import gateway_of

KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize("cut", [5, 20, 40, 60])
async def test_a_key_that_the_border_of_two_batches_cuts_in_two_is_found(
    database: Database, audit: Audit, tenant: TenantId, cut: int
) -> None:
    models = {LOCAL_HASH_256.name: RegisteredModel(LOCAL_HASH_256, HashEmbedder())}
    gateway = gateway_of(database, audit, models, batch_size=2)
    call = EmbeddingCall(
        caller=Caller(tenant, SYSTEM),
        model=LOCAL_HASH_256.name,
        inputs=["one", f"two {KEY[:cut]}", f"{KEY[cut:]} three", "four"],
        role=EmbeddingRole.DOCUMENT,
        operation=Operation.INGEST,
        level=Classification.PUBLIC,
    )
    with pytest.raises(DlpBlocked):
        await gateway.embed(call)
