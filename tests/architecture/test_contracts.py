"""Codes, words, contracts and pages say the same."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from eai.api.contracts import PROMISED, ROOT, outdated
from eai.api.error_reference import error_codes
from eai.audit.actions import AuditAction
from eai.audit.fields import FIELDS
from eai.contracts.catalogue import CONTRACTS
from eai.platform.i18n import Language, field_messages


def test_every_code_has_its_words_and_every_word_its_code() -> None:
    assert error_codes()


def test_what_is_promised_is_what_the_code_does() -> None:
    assert [str(path.relative_to(ROOT)) for path in outdated()] == [], "run: make contracts"


def test_faults_without_words_of_their_own_have_some_to_fall_back_on() -> None:
    assert "other" in field_messages()


def test_every_code_says_what_to_do_in_both_languages() -> None:
    listed = {each["code"]: each for each in json.loads((PROMISED / "errors.json").read_text())["errors"]}
    assert set(listed) == {entry.code for entry in error_codes()}
    assert listed["name_taken"]["what_to_do"] == {
        "en": "Choose another one.",
        "fr": "Choisissez-en un autre.",
    }
    assert [code for code, each in listed.items() if set(each["what_to_do"]) != set(Language)] == []
    assert [code for code, each in listed.items() if not all(each["what_to_do"].values())] == []


def test_every_action_is_promised_with_its_fields() -> None:
    listed = {
        each["action"]: each for each in json.loads((PROMISED / "audit-events.json").read_text())["actions"]
    }
    assert set(listed) == set(AuditAction) == set(FIELDS)
    assert listed["quota.set"] == {
        "action": "quota.set",
        "resources": ["quota"],
        "facts": ["limit", "metric", "owner", "window"],
        "details": [],
    }


def test_these_forms_are_promised() -> None:
    assert [contract.name for contract in CONTRACTS] == [
        "acl", "context-contract", "document", "knowledge-base", "manifest", "model", "policy", "quota",
        "source-connector",
    ]  # fmt: skip


@pytest.mark.parametrize("contract", CONTRACTS, ids=[contract.name for contract in CONTRACTS])
def test_a_form_says_what_it_is_and_refers_to_nothing_outside(contract: Any) -> None:
    text = (PROMISED / f"{contract.name}.schema.json").read_text("utf-8")
    schema = json.loads(text)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:eai:contract:v1:{contract.name}"
    assert schema["title"]
    assert schema["description"]
    assert {ref.partition("/")[0] for ref in _references(schema)} <= {"#"}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for member in value.values():
            yield from _references(member)
    elif isinstance(value, list):
        for member in value:
            yield from _references(member)
