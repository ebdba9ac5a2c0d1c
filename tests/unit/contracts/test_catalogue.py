"""The contracts say nothing that the judge does not understand as they mean it."""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from eai.contracts.catalogue import CONTRACTS
from eai.contracts.ways import Way

UNDERSTOOD = {
    "$defs", "$id", "$ref", "$schema", "additionalProperties", "anyOf", "const", "default", "description",
    "discriminator", "enum", "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems",
    "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minimum", "oneOf", "pattern",
    "properties", "propertyNames", "required", "title", "type",
}  # fmt: skip
every_contract = pytest.mark.parametrize("contract", CONTRACTS, ids=[each.name for each in CONTRACTS])


def forms(form: Any) -> Iterator[dict[str, Any]]:
    """A form and every form in it."""
    if not isinstance(form, dict):
        return
    yield form
    for name in ("items", "additionalProperties", "propertyNames"):
        yield from forms(form.get(name))
    for name in ("anyOf", "oneOf"):
        for each in form.get(name, ()):
            yield from forms(each)
    for name in ("properties", "$defs"):
        for each in form.get(name, {}).values():
            yield from forms(each)


@every_contract
def test_it_is_a_schema(contract: Any) -> None:
    Draft202012Validator.check_schema(contract.schema)


@every_contract
def test_every_keyword_is_one_that_is_judged(contract: Any) -> None:
    assert {keyword for form in forms(contract.schema) for keyword in form} <= UNDERSTOOD


@every_contract
def test_every_format_is_one_that_is_judged(contract: Any) -> None:
    assert {form["format"] for form in forms(contract.schema) if "format" in form} <= {"uuid", "date-time"}


@every_contract
def test_of_several_kinds_a_member_says_which(contract: Any) -> None:
    for form in forms(contract.schema):
        if "oneOf" in form:
            assert set(form["discriminator"]["mapping"].values()) == {each["$ref"] for each in form["oneOf"]}


@every_contract
def test_every_object_names_its_members(contract: Any) -> None:
    """A request refuses what it does not know; an answer may come to hold more."""
    for form in forms(contract.schema):
        if form.get("type") == "object" and "properties" in form:
            assert (form.get("additionalProperties") is False) is (contract.way is Way.SENT)
