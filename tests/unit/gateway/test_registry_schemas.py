from typing import Any

import pytest
from pydantic import ValidationError

from eai.gateway.registry_schemas import EndpointPatch, KillSwitchPut, ModelPatch, NewEndpoint, NewModel

ENDPOINT: dict[str, Any] = {
    "name": "our-vllm",
    "kind": "openai",
    "url": "https://models.example/v1",
    "region": "eu-west-1",
    "retention": "none",
    "classification_ceiling": "secret",
}
MODEL: dict[str, Any] = {"name": "ours", "endpoint": "our-vllm", "capability": "chat"}


def faults(schema: type[Any], **fields: Any) -> list[tuple[tuple[int | str, ...], str]]:
    with pytest.raises(ValidationError) as refused:
        schema(**fields)
    return [(fault["loc"], fault["type"]) for fault in refused.value.errors()]


@pytest.mark.parametrize(
    ("text", "kept"),
    [("none", "none"), ("unknown", "unknown"), ("days:030", "days:30"), ("days:1", "days:1")],
)
def test_retention_has_one_spelling(text: str, kept: str) -> None:
    assert NewEndpoint(**{**ENDPOINT, "retention": text}).retention == kept


@pytest.mark.parametrize(
    "text", ["", "never", "days:", "days:0", "days:-1", "days:99999", "DAYS:1", "days:1 "]
)
def test_other_retentions_are_refused(text: str) -> None:
    assert faults(NewEndpoint, **{**ENDPOINT, "retention": text}) == [(("retention",), "retention_form")]


@pytest.mark.parametrize("region", ["", "EU", "eu-", "-eu", "eu west", "eu_west", "é"])
def test_a_region_is_lower_case_words_with_hyphens(region: str) -> None:
    assert faults(NewEndpoint, **{**ENDPOINT, "region": region}) == [(("region",), "string_pattern_mismatch")]


@pytest.mark.parametrize("key", ["", "a b", "a\r\nx-evil: 1", "é", "x" * 4097])
def test_a_key_fits_into_a_header(key: str) -> None:
    ((where, _),) = faults(NewEndpoint, **{**ENDPOINT, "api_key": key})
    assert where == ("api_key",)


def test_a_key_is_in_no_repr_and_in_no_fault() -> None:
    assert "sk-canary" not in repr(NewEndpoint(**ENDPOINT, api_key="sk-canary"))
    assert "sk-canary" not in repr(EndpointPatch(api_key="sk-canary"))
    with pytest.raises(ValidationError) as refused:
        NewEndpoint(**ENDPOINT, api_key="sk-canary with a space")
    assert "sk-canary" not in str(refused.value)


@pytest.mark.parametrize("name", ["", "a/b", "-a", "a b", "é", "a" * 129, "model:\n"])
def test_a_models_name_can_stand_in_a_path(name: str) -> None:
    ((where, _),) = faults(NewModel, **{**MODEL, "name": name})
    assert where == ("name",)


@pytest.mark.parametrize(
    ("dimensions", "fault"),
    [([], "too_short"), ([512, 512], "not_distinct"), ([0], "greater_than_equal"), ([1.0], "int_type")],
)
def test_dimensions_are_distinct_sizes(dimensions: list[Any], fault: str) -> None:
    (where, code), *_ = faults(NewModel, **{**MODEL, "dimensions": dimensions})
    assert (where[0], code) == ("dimensions", fault)


@pytest.mark.parametrize("parameter", ["api_base", "extra_headers", "api_key", "model"])
def test_a_role_sends_no_parameter_but_those_of_roles(parameter: str) -> None:
    body = {**MODEL, "roles": {"query": {parameter: "x"}}}
    assert faults(NewModel, **body) == [(("roles", "query", parameter), "extra_forbidden")]


def test_nothing_named_is_nothing_changed() -> None:
    assert ModelPatch().model_fields_set == set()
    assert EndpointPatch(tenants=None).model_fields_set == {"tenants"}


def test_a_switch_is_flipped_for_a_reason() -> None:
    assert KillSwitchPut(engaged=True, reason=" leak ").reason == "leak"
    assert faults(KillSwitchPut, engaged=True) == [(("reason",), "missing")]
    assert faults(KillSwitchPut, engaged=1, reason="x") == [(("engaged",), "bool_type")]
    assert faults(KillSwitchPut, engaged=True, reason="a\nb") == [(("reason",), "control_characters")]
