"""A tenant of the product whose processes are starved, cut off or stopped, and who looks at it afterwards."""

import pytest

from tests.conftest import DatabaseUrls
from tests.invariants import Judge
from tests.stack import Company, Stack


@pytest.fixture
async def company(workless: Stack) -> Company:
    return await workless.company()


@pytest.fixture
def judge(workless: Stack, workless_urls: DatabaseUrls) -> Judge:
    return Judge(workless_urls.admin, workless.platform.vectors)
