"""The running product over a database and an engine that tests of faults may kill."""

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from eai.integrations.postgres import EmbeddedPostgres
from eai.integrations.qdrant.client import EngineVectors
from eai.knowledge.ports import Vectors
from eai.platform.migrate import migrate
from tests.integration.faults.outages import ENGINE_DEADLINE_S, HURRY, Turnstile, Victim
from tests.invariants import Judge
from tests.stack import Company, Stack, running_stack, settings


@pytest.fixture(scope="session")
async def victim() -> AsyncIterator[Victim]:
    """A PostgreSQL of these tests alone, with nothing that makes it faster and less safe."""
    # Not tmp_path: its name is too long for a socket, and for root nobody else can enter it.
    with tempfile.TemporaryDirectory(prefix="eai-") as folder:
        Path(folder).chmod(0o711)
        home = Path(folder) / "home"
        server = EmbeddedPostgres(home, overrides={"shared_buffers": "64MB"})
        await server.start()
        await migrate(server.admin_url, server.app_url)
        yield Victim(server, home)
        await server.stop()


@pytest.fixture(scope="session")
async def fragile(victim: Victim) -> AsyncIterator[Stack]:
    """The running product over it."""
    chosen = settings(victim.server.app_url, victim.home)
    vectors = cast("Vectors", Turnstile(EngineVectors(chosen.engine_socket, ENGINE_DEADLINE_S)))
    async with running_stack(chosen, vectors=vectors, pace=HURRY) as running:
        yield running


@pytest.fixture
def turnstile(fragile: Stack) -> Turnstile:
    """Where its calls of the vector store can be held."""
    return cast("Turnstile", fragile.platform.vectors)


@pytest.fixture
async def company(fragile: Stack) -> Company:
    """A fresh tenant of the fragile product."""
    return await fragile.company()


@pytest.fixture
def judge(fragile: Stack, victim: Victim) -> Judge:
    """Who looks at everything once a fault is over."""
    return Judge(victim.server.admin_url, fragile.platform.vectors)
