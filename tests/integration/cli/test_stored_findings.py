"""What doctor reads of every tenant of a running instance."""

from datetime import UTC, datetime

from eai.cli.stored_findings import switches_are_told
from tests.stack import Company, Stack


async def test_engaged_switches_are_named_with_whose_they_are_and_without_their_reason(
    stack: Stack, company: Company
) -> None:
    endpoint = (await company.endpoint())["name"]
    own, everybodys = "/v1/kill-switches/tenant", f"/v1/kill-switches/provider:{endpoint}"
    on, off = {"engaged": True, "reason": "Our affair."}, {"engaged": False, "reason": "It is over."}
    day = datetime.now(UTC)
    assert (await company.admin.put(own, json=on)).is_success
    assert (await stack.operator.put(everybodys, json=on)).is_success
    told = await switches_are_told(stack.platform.settings)
    assert (told.name, told.ok, told.mend) == ("kill switches", True, None)
    assert told.says.startswith("engaged, so that no model is called there: ")
    assert f"tenant of tenant {company.id} since {day:%Y-%m-%d} " in told.says
    assert f"provider:{endpoint} since {day:%Y-%m-%d} " in told.says
    assert "Our affair." not in told.says

    assert (await company.admin.put(own, json=off)).is_success
    assert (await stack.operator.put(everybodys, json=off)).is_success
    after = (await switches_are_told(stack.platform.settings)).says
    assert company.id not in after
    assert endpoint not in after
