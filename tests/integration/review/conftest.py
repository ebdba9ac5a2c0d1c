import pytest

from tests.conftest import DatabaseUrls
from tests.integration.review.holding import Desk
from tests.invariants import Judge
from tests.stack import Company, Stack


@pytest.fixture
async def desk(company: Company) -> Desk:
    return await Desk.of(company)


@pytest.fixture
def judge(stack: Stack, stack_urls: DatabaseUrls) -> Judge:
    return Judge(stack_urls.admin, stack.platform.vectors)
