"""A provider on loopback, and the library on its way there."""

from collections.abc import AsyncIterator, Callable, Mapping
from uuid import uuid4

import pytest

from eai.access.classification import Classification
from eai.gateway.ports import EmbeddingRole, Target
from eai.gateway.registry import Capability, Endpoint, EndpointKind, Model, Retention
from eai.gateway.templates import template_of
from eai.integrations.litellm import InProcessLiteLLM
from eai.platform.outbound import Outbound
from tests.fakes.recorder import Answer, Recorder, recording

KEY = "key-of-the-endpoint"
VECTORS = [[0.25, 0.5, 0.75], [1.0, 1.25, 1.5]]

Aim = Callable[..., Target]


@pytest.fixture
async def recorder() -> AsyncIterator[Recorder]:
    async with recording(lambda _: Answer({"error": "nothing was said"}, status=500)) as listening:
        yield listening


@pytest.fixture
async def outbound(recorder: Recorder) -> AsyncIterator[Outbound]:
    """Closed before the recorder is, which it then sees."""
    del recorder
    opened = Outbound(["127.0.0.1"])
    yield opened
    await opened.close()


@pytest.fixture
async def litellm(outbound: Outbound) -> InProcessLiteLLM:
    return InProcessLiteLLM(outbound)


@pytest.fixture
def aim(recorder: Recorder) -> Aim:
    """A target at the recorder."""

    def at(
        provider_model: str,
        *,
        capability: Capability = Capability.EMBEDDINGS,
        dimensions: tuple[int, ...] = (3,),
        roles: Mapping[EmbeddingRole, Mapping[str, str]] | None = None,
        path: str = "",
        key: str | None = KEY,
    ) -> Target:
        own = template_of(provider_model)
        endpoint = Endpoint(
            uuid4(),
            "testing",
            EndpointKind.LITELLM,
            recorder.url + path,
            "eu",
            Retention(0),
            Classification.SECRET,
            template=None if own is None else own.name,
        )
        model = Model(
            name="tested",
            capability=capability,
            provider="testing",
            provider_model=provider_model,
            classification_ceiling=Classification.SECRET,
            region="eu",
            retention=Retention(0),
            endpoint=endpoint,
            dimensions=dimensions,
            roles=roles or {},
        )
        return Target(model, endpoint, key, 10.0)

    return at
