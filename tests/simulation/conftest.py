"""One world per test process."""

from collections.abc import Iterator

import pytest

from tests.conftest import fresh_database
from tests.simulation.world import World


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with fresh_database() as urls:
        world = World(urls, tmp_path_factory.mktemp("simulation"))
        yield world
        world.close()
