from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from eai.access.classification import Classification
from eai.audit.entries import SYSTEM
from eai.audit.service import Audit
from eai.gateway.calls import Caller, EmbeddingCall, Operation
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.ports import EmbeddingRole
from eai.gateway.service import RegisteredModel
from eai.integrations.local_models import HashEmbedder
from eai.kernel.ids import TenantId
from eai.platform import telemetry
from eai.platform.database import Database
from tests.factories.retrieval import gateway_of


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.record_spans(provider)
    yield exporter
    telemetry.record_spans(None)


async def test_each_call_of_a_model_is_a_span_without_its_texts(
    spans: InMemorySpanExporter, database: Database, audit: Audit, tenant: TenantId
) -> None:
    models = {LOCAL_HASH_256.name: RegisteredModel(LOCAL_HASH_256, HashEmbedder())}
    gateway = gateway_of(database, audit, models, batch_size=2)
    await gateway.embed(
        EmbeddingCall(
            caller=Caller(tenant, SYSTEM),
            model=LOCAL_HASH_256.name,
            inputs=["a secret", "another secret", "a third"],
            role=EmbeddingRole.DOCUMENT,
            operation=Operation.INGEST,
            level=Classification.PUBLIC,
            labels={"run": "r1", "agent": "a1"},
        )
    )
    first, second = spans.get_finished_spans()
    assert first.name == second.name == "embeddings local-hash-256"
    assert first.attributes == {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.request.model": "local-hash-256",
        "gen_ai.provider.name": "local",
        "gen_ai.agent.id": "a1",
        "eai.tenant_id": str(tenant),
        "eai.run_id": "r1",
    }
