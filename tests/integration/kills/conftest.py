"""A tenant of the product whose processes die, and who looks at it afterwards."""

import pytest

from tests.conftest import DatabaseUrls
from tests.integration.kills.mortals import Mortals
from tests.integration.kills.trials import Laboratory
from tests.invariants import Judge
from tests.stack import Company, Stack


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
