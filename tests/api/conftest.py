from collections.abc import AsyncIterator

import pytest

from tests.api.matrix.world import World, rows_of, world_of
from tests.conftest import DatabaseUrls
from tests.stack import Stack


@pytest.fixture(scope="session")
async def world(stack: Stack, stack_urls: DatabaseUrls) -> World:
    return await world_of(stack, stack_urls)


@pytest.fixture(scope="module")
async def theirs_untouched(world: World, stack_urls: DatabaseUrls) -> AsyncIterator[None]:
    """Whatever the tests of a module try, no row of the other tenant changes, its audit included."""
    before = rows_of(stack_urls, world.theirs.id)
    yield
    assert rows_of(stack_urls, world.theirs.id) == before
