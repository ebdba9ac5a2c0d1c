"""The running product without a worker, and whoever makes processes of it that die, freeze or are starved."""

from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from tests.conftest import DatabaseUrls, fresh_database
from tests.integration.faults.outages import HASTE
from tests.integration.kills.mortals import Mortals
from tests.stack import Stack, running_stack, settings


@pytest.fixture(scope="session")
def workless_urls() -> Iterator[DatabaseUrls]:
    """A database whose workers are the tests' to start."""
    with fresh_database() as urls:
        with psycopg.connect(urls.admin, autocommit=True) as connection:
            # As much less than the lease as in the product.
            connection.execute(
                f"ALTER ROLE eai_app IN DATABASE {connection.info.dbname}"
                " SET idle_in_transaction_session_timeout = '1500ms'"
            )
        yield urls


@pytest.fixture(scope="session")
async def workless(
    workless_urls: DatabaseUrls, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stack]:
    """The product over it, but for its workers."""
    chosen = settings(workless_urls.app, tmp_path_factory.mktemp("home"))
    async with running_stack(chosen, pace=HASTE, is_working=False) as running:
        yield running


@pytest.fixture(scope="session")
async def mortals(workless: Stack) -> AsyncIterator[Mortals]:
    """Who makes processes that die."""
    async with Mortals.over(workless.platform.settings) as made:
        yield made
