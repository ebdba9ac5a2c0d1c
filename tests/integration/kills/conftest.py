"""The running product without a worker, and whoever makes processes of it that die."""

from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from tests.conftest import DatabaseUrls, fresh_database
from tests.integration.faults.outages import HASTE
from tests.integration.kills.mortals import Mortals
from tests.integration.kills.trials import Laboratory
from tests.invariants import Judge
from tests.stack import Company, Stack, running_stack, settings


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


@pytest.fixture
async def company(workless: Stack) -> Company:
    return await workless.company()


@pytest.fixture
def judge(workless: Stack, workless_urls: DatabaseUrls) -> Judge:
    return Judge(workless_urls.admin, workless.platform.vectors)


@pytest.fixture(scope="session")
def laboratory(
    workless: Stack, workless_urls: DatabaseUrls, mortals: Mortals, tmp_path_factory: pytest.TempPathFactory
) -> Laboratory:
    """Where processes are killed."""
    return Laboratory(workless, mortals, workless_urls.admin, tmp_path_factory.mktemp("recorded"))
