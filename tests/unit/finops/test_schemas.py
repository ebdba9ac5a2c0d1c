"""What a quota and a usage event may say."""

from uuid import UUID

import pytest
from pydantic import ValidationError

from eai.finops.schemas import LARGEST, Metric, NewQuota, NewUsage, Window

GROUP = f"group:{UUID(int=7)}"


@pytest.mark.parametrize(
    ("metric", "window", "expected"),
    [
        ("tokens", None, Window.MONTH),
        ("requests", None, Window.MINUTE),
        ("tokens", "minute", Window.MINUTE),
        ("requests", "month", Window.MONTH),
    ],
)
def test_tokens_are_counted_per_month_and_requests_per_minute_unless_said_otherwise(
    metric: str, window: str | None, expected: Window
) -> None:
    quota = NewQuota.model_validate({"owner": "tenant", "metric": metric, "limit": 1, "window": window})
    assert (quota.metric, quota.period) == (Metric(metric), expected)


@pytest.mark.parametrize("owner", ["tenant", GROUP, f"knowledge_base:{UUID(int=7)}"])
def test_an_owner_is_the_tenant_a_group_or_a_base(owner: str) -> None:
    assert NewQuota.model_validate({"owner": owner, "metric": "tokens", "limit": 0}).owner == owner


@pytest.mark.parametrize(
    "owner",
    [
        "",
        "tenant:",
        f"tenant:{UUID(int=7)}",
        f"user:{UUID(int=7)}",
        "group:x",
        f"{GROUP}\n",
        GROUP.upper(),
        f" {GROUP}",
    ],
)
def test_anything_else_owns_nothing(owner: str) -> None:
    with pytest.raises(ValidationError):
        NewQuota.model_validate({"owner": owner, "metric": "tokens", "limit": 0})


@pytest.mark.parametrize("limit", [-1, LARGEST + 1, 1.0, "1", True, None])
def test_a_limit_is_a_whole_number_of_a_size_that_can_be_added_up(limit: object) -> None:
    with pytest.raises(ValidationError):
        NewQuota.model_validate({"owner": "tenant", "metric": "tokens", "limit": limit})


@pytest.mark.parametrize(
    "change",
    [
        {"quantity": -1},
        {"tokens": -1},
        {"kind": ""},
        {"kind": "a b"},
        {"unit": "x" * 129},
        {"is_external": False},
        {"occurred_at": "2026-01-01T00:00:00"},
        {"occurred_at": "1999-12-31T23:59:59Z"},
        {"labels": {"tenant": "x"}},
    ],
)
def test_usage_that_makes_no_sense_is_refused(change: dict[str, object]) -> None:
    usage = {"kind": "storage", "unit": "bytes", "quantity": 1}
    assert NewUsage.model_validate(usage).labels.given() == {}
    with pytest.raises(ValidationError):
        NewUsage.model_validate(usage | change)
