"""A call of many texts is cut into batches, and judged as a whole."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from sqlalchemy import text

from eai.access.classification import Classification
from eai.audit.entries import SYSTEM
from eai.audit.service import Audit
from eai.dlp.errors import DlpBlocked
from eai.dlp.ports import DlpRules, Verdict
from eai.dlp.scanner import PatternScanner
from eai.gateway.calls import Caller, EmbeddingCall, Operation
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.ports import EmbeddingRole
from eai.gateway.service import RegisteredModel
from eai.integrations.local_models import HashEmbedder
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from tests.factories.retrieval import gateway_of

KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"

MODELS = {LOCAL_HASH_256.name: RegisteredModel(LOCAL_HASH_256, HashEmbedder())}


def _call(tenant: TenantId, *texts: str) -> EmbeddingCall:
    return EmbeddingCall(
        caller=Caller(tenant, SYSTEM),
        model=LOCAL_HASH_256.name,
        inputs=texts,
        role=EmbeddingRole.DOCUMENT,
        operation=Operation.INGEST,
        level=Classification.PUBLIC,
    )


@pytest.mark.parametrize("cut", [5, 20, 40, 60])
async def test_a_key_that_the_border_of_two_batches_cuts_in_two_is_found(
    database: Database, audit: Audit, tenant: TenantId, cut: int
) -> None:
    gateway = gateway_of(database, audit, MODELS, batch_size=2)
    with pytest.raises(DlpBlocked):
        await gateway.embed(_call(tenant, "one", f"two {KEY[:cut]}", f"{KEY[cut:]} three", "four"))


class CountingScanner(PatternScanner):
    """Remembers how much it was given each time."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[int] = []

    async def scan(self, texts: Sequence[str], rules: DlpRules) -> Verdict:
        """As the real one."""
        self.texts.append(len(texts))
        return await super().scan(texts, rules)


async def test_texts_are_searched_once_whatever_the_batches(
    database: Database, audit: Audit, tenant: TenantId
) -> None:
    scanner = CountingScanner()
    gateway = gateway_of(database, audit, MODELS, batch_size=2, scanner=scanner)
    await gateway.embed(_call(tenant, "one", "two", "three", "four"))
    await gateway.embed(_call(tenant, "five"))
    assert scanner.texts == [4, 1]


async def test_rules_that_change_between_two_batches_hold_for_the_second(
    database: Database, audit: Audit, tenant: TenantId
) -> None:
    scanner = CountingScanner()
    gateway = gateway_of(database, audit, MODELS, batch_size=2, scanner=scanner)

    async def block_addresses(_done: int) -> Classification:
        async with database.transaction(tenant) as session:
            await session.execute(text("""UPDATE eai.tenants SET dlp = '{"email": "block"}'"""))
        return Classification.PUBLIC

    call = _call(tenant, "one", "two", "a@example.org", "four")
    with pytest.raises(DlpBlocked):
        await gateway.embed(replace(call, before_batch=block_addresses))
    assert scanner.texts == [4, 2, 2]
