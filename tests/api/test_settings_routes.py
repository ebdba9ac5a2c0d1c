"""What a tenant decides about the models that see its texts."""

from typing import Any

import httpx2
import pytest

from tests.stack import Company, Stack

DEFAULTS = {
    "rate_limits": {"requests_per_minute": None},
    "regions": None,
    "retention_required_from": "confidential",
    "dlp": {},
    "quarantine": {"threshold": "high"},
    "cache": {"max_classification": "internal"},
}


def _settings(answer: httpx2.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    return {name: value for name, value in answer.json().items() if name != "updated_at"}


def _faults(answer: httpx2.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 422, answer.text
    return [(fault["path"], fault["code"]) for fault in answer.json()["error"]["details"]["fields"]]


async def test_a_new_tenant_has_decided_nothing(stack: Stack) -> None:
    company = await stack.company()
    assert _settings(await company.admin.get("/v1/settings")) == DEFAULTS


async def test_settings_are_changed_one_by_one_and_the_others_stay(stack: Stack) -> None:
    company = await stack.company()
    changes: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"regions": ["us-east-1", "eu", "eu"]}, {"regions": ["eu", "us-east-1"]}),
        ({"retention_required_from": "public"}, {"retention_required_from": "public"}),
        ({"dlp": {"email": "redact", "iban": "block"}}, {"dlp": {"email": "redact", "iban": "block"}}),
        ({"dlp": {"email": None, "nir": "record"}}, {"dlp": {"iban": "block", "nir": "record"}}),
        ({"dlp": {}}, {}),
        ({"quarantine": {"threshold": "medium"}}, {"quarantine": {"threshold": "medium"}}),
        ({"quarantine": {}}, {}),
        ({"cache": {"max_classification": "secret"}}, {"cache": {"max_classification": "secret"}}),
        ({"cache": {}}, {}),
        ({"cache": {"max_classification": None}}, {"cache": {"max_classification": None}}),
        ({}, {}),
        ({"regions": None}, {"regions": None}),
    ]
    expected = DEFAULTS
    for change, outcome in changes:
        expected = {**expected, **outcome}
        assert _settings(await company.admin.patch("/v1/settings", json=change)) == expected
    assert _settings(await company.admin.get("/v1/settings")) == expected


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"dlp": {"shoe_size": "block"}}, ("dlp.shoe_size", "extra_forbidden")),
        ({"dlp": {"email": "delete"}}, ("dlp.email", "enum")),
        ({"dlp": {"email": "REDACT"}}, ("dlp.email", "enum")),
        ({"dlp": True}, ("dlp", "model_attributes_type")),
        ({"dlp": None}, ("dlp", "model_attributes_type")),
        ({"quarantine": {"threshold": "none"}}, ("quarantine.threshold", "enum")),
        ({"quarantine": {"threshold": None}}, ("quarantine.threshold", "enum")),
        ({"quarantine": None}, ("quarantine", "model_attributes_type")),
        ({"cache": {"max_classification": "top"}}, ("cache.max_classification", "enum")),
        ({"cache": {"ttl": 3600}}, ("cache.ttl", "extra_forbidden")),
        ({"regions": []}, ("regions", "too_short")),
        ({"regions": "eu"}, ("regions", "list_type")),
        ({"regions": ["EU"]}, ("regions.0", "string_pattern_mismatch")),
        ({"regions": ["eu-"]}, ("regions.0", "string_pattern_mismatch")),
        ({"regions": ["e" * 65]}, ("regions.0", "string_too_long")),
        ({"regions": [f"r{number}" for number in range(101)]}, ("regions", "too_long")),
        ({"retention_required_from": "top"}, ("retention_required_from", "enum")),
        ({"retention_required_from": None}, ("retention_required_from", "enum")),
        ({"tenant": "x"}, ("tenant", "extra_forbidden")),
    ],
)
async def test_what_no_setting_is_is_refused_and_changes_nothing(
    stack: Stack, company: Company, change: dict[str, Any], fault: tuple[str, str]
) -> None:
    before = await company.admin.got("/v1/settings")
    assert _faults(await company.admin.patch("/v1/settings", json=change)) == [fault]
    assert await company.admin.got("/v1/settings") == before


async def test_a_change_is_audited_with_what_holds_after_it(stack: Stack) -> None:
    company = await stack.company()
    change = {"regions": ["eu"], "retention_required_from": "internal", "dlp": {"email": "block"}}
    assert (await company.admin.patch("/v1/settings", json=change)).status_code == 200
    events = (await company.admin.got("/v1/audit/events", action="settings.update"))["data"]
    assert [event["facts"] for event in events] == [
        {
            "requests_per_minute": None,
            "regions": ["eu"],
            "retention_required_from": "internal",
            "dlp": {"email": "block"},
            "quarantine_threshold": "high",
            "cache_max_classification": "internal",
        }
    ]


async def test_settings_are_each_tenants_own_and_for_policy_administrators_only(stack: Stack) -> None:
    company, other = await stack.company(), await stack.company()
    await company.admin.patch("/v1/settings", json={"regions": ["eu"]})
    assert (await other.admin.got("/v1/settings"))["regions"] is None
    developer = await company.person("developer")
    for answer in (
        await developer.api.get("/v1/settings"),
        await developer.api.patch("/v1/settings", json={"regions": None}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_missing")


async def test_an_outdated_version_changes_nothing(stack: Stack) -> None:
    company = await stack.company()
    tag = {"if-match": (await company.admin.get("/v1/settings")).headers["etag"]}
    body = {"retention_required_from": "secret"}
    assert (await company.admin.patch("/v1/settings", json=body, headers=tag)).status_code == 200
    stale = await company.admin.patch("/v1/settings", json={"regions": ["eu"]}, headers=tag)
    assert (stale.status_code, stale.json()["error"]["code"]) == (412, "precondition_failed")
    assert (await company.admin.got("/v1/settings"))["regions"] is None
