"""One provider process for these tests, and the way to it."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from uuid import uuid4

import pytest

from eai.access.classification import Classification
from eai.gateway.attempts import Attempts
from eai.gateway.ports import EmbeddingRole, Target
from eai.gateway.registry import Capability, Endpoint, EndpointKind, Model, Retention
from eai.integrations.openai_compatible import OpenAiCompatible
from eai.platform.outbound import Outbound
from tests.provider.process import ProviderProcess, running_provider

KEY = "sk-test-0123456789"
PROVIDER_MODEL = "bge-m3"


@pytest.fixture(scope="session")
async def provider_process() -> AsyncIterator[ProviderProcess]:
    async with running_provider(dimensions=8) as running:
        yield running


@pytest.fixture
async def provider(provider_process: ProviderProcess) -> ProviderProcess:
    await provider_process.forget()
    return provider_process


@pytest.fixture
async def outbound() -> AsyncIterator[Outbound]:
    opened = Outbound(["127.0.0.1"])
    yield opened
    await opened.close()


@pytest.fixture
def openai(outbound: Outbound) -> OpenAiCompatible:
    return OpenAiCompatible(outbound)


@dataclass
class Pauses:
    """Waits without waiting."""

    slept: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def attempts(pauses: Pauses) -> Attempts:
    return Attempts(deadline_s=20.0, stream_deadline_s=20.0, sleep=pauses, jitter=lambda: 0.0)


async def nothing() -> None:
    return None


def target_of(
    url: str,
    capability: Capability = Capability.EMBEDDINGS,
    *,
    key: str | None = KEY,
    dimensions: tuple[int, ...] = (8,),
    roles: Mapping[EmbeddingRole, Mapping[str, str]] | None = None,
) -> Callable[[float], Target]:
    """Where an attempt goes that may take so many seconds."""
    endpoint = Endpoint(
        uuid4(), "testing", EndpointKind.OPENAI, url, "eu", Retention(0), Classification.SECRET
    )
    model = Model(
        name="registered",
        capability=capability,
        provider="testing",
        provider_model=PROVIDER_MODEL,
        classification_ceiling=Classification.SECRET,
        region="eu",
        retention=Retention(0),
        endpoint=endpoint,
        dimensions=dimensions if capability is Capability.EMBEDDINGS else (),
        roles=roles or {},
    )
    return lambda left_s: Target(model, endpoint, key, left_s)
