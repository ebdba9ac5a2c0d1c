"""The product over HTTP, once per test process; every test takes a tenant of its own."""

from collections.abc import AsyncIterator

import pytest

from tests.conftest import DatabaseUrls
from tests.stack import Company, Stack, running_stack, settings


@pytest.fixture(scope="session")
async def stack(
    database_urls: DatabaseUrls, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stack]:
    """The running product."""
    async with running_stack(settings(database_urls.app, tmp_path_factory.mktemp("home"))) as running:
        yield running


@pytest.fixture
async def company(stack: Stack) -> Company:
    """A fresh tenant with its administrator."""
    return await stack.company()
