from collections.abc import Iterator
from uuid import UUID

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from eai.access.classification import Classification
from eai.audit.entries import SYSTEM
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.ports import EmbeddingRole
from eai.gateway.service import EmbeddingCall, Gateway, Operation, RegisteredModel
from eai.integrations.local_models import HashEmbedder
from eai.kernel.ids import TenantId
from eai.platform import telemetry

TENANT = TenantId(UUID(int=1))


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.record_spans(provider)
    yield exporter
    telemetry.record_spans(None)


async def test_each_call_of_a_model_is_a_span_without_its_texts(spans: InMemorySpanExporter) -> None:
    gateway = Gateway(
        {LOCAL_HASH_256.name: RegisteredModel(LOCAL_HASH_256, HashEmbedder())},
        default_model=None,
        batch_size=2,
        is_production=False,
    )
    await gateway.embed(
        EmbeddingCall(
            tenant=TENANT,
            actor=SYSTEM,
            model=LOCAL_HASH_256.name,
            texts=["a secret", "another secret", "a third"],
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
        "eai.tenant_id": str(TENANT),
        "eai.run_id": "r1",
    }
