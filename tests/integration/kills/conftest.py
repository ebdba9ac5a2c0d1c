"""A tenant of the product whose processes die, and who looks at it afterwards."""

from collections.abc import Callable

import pytest

from tests.conftest import DatabaseUrls
from tests.integration.kills.mortals import Mortals
from tests.integration.kills.recoveries import SLOWEST, Recoveries
from tests.integration.kills.trials import Laboratory
from tests.invariants import Judge
from tests.stack import Company, Stack


@pytest.fixture
async def company(workless: Stack) -> Company:
    return await workless.company()


@pytest.fixture
def judge(workless: Stack, workless_urls: DatabaseUrls) -> Judge:
    return Judge(workless_urls.admin, workless.platform.vectors)


@pytest.fixture
def recoveries(record_property: Callable[[str, object], None]) -> Recoveries:
    """Who holds them to what was promised, and has them told at the end of the run."""
    return Recoveries(record_property)


@pytest.fixture(scope="session")
def laboratory(
    workless: Stack, workless_urls: DatabaseUrls, mortals: Mortals, tmp_path_factory: pytest.TempPathFactory
) -> Laboratory:
    """Where processes are killed."""
    return Laboratory(workless, mortals, workless_urls.admin, tmp_path_factory.mktemp("recorded"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell of each kind of death the recovery that took longest."""
    slowest: dict[str, tuple[float, float]] = {}
    for report in [each for name in ("passed", "failed") for each in terminalreporter.getreports(name)]:
        for name, told in report.user_properties:
            if name == SLOWEST:
                of, took_s, lease_s = told
                slowest[of] = max((took_s, lease_s), slowest.get(of, (0.0, 0.0)))
    if slowest:
        terminalreporter.section("slowest recoveries")
    for of, (took_s, lease_s) in sorted(slowest.items()):
        terminalreporter.line(f"{took_s:5.1f} s, with a lease of {lease_s:.0f} s: {of}")
