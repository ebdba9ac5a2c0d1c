"""Codes, words, contracts and pages say the same, and what would break clients is told in words."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eai.api import contracts as generator
from eai.api.contracts import PROMISED, ROOT, breaking, main, outdated
from eai.api.error_reference import error_codes
from eai.audit.actions import AuditAction
from eai.audit.fields import FIELDS
from eai.contracts.catalogue import CONTRACTS
from eai.platform.i18n import Language, field_messages


def test_every_code_has_its_words_and_every_word_its_code() -> None:
    assert error_codes()


def test_what_is_promised_is_what_the_code_does() -> None:
    changes = outdated()
    assert breaking(changes) == [], "this breaks clients of /v1"
    assert [str(path.relative_to(ROOT)) for path in changes] == [], "run: make contracts"


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


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The promises in a folder where they may be changed."""
    promised = tmp_path / "contracts" / "v1"
    shutil.copytree(PROMISED, promised)
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "reference" / "errors.md", tmp_path / "docs" / "reference")
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    monkeypatch.setattr(generator, "PROMISED", promised)
    return promised


def change(path: Path, how: Callable[[Any], Any]) -> None:
    document = json.loads(path.read_text("utf-8"))
    how(document)
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", "utf-8")


def test_what_equals_the_code_is_left_alone(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr() == ("", "")


def test_what_only_adds_is_named_and_written(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(copied / "openapi.json", lambda document: document["paths"].pop("/v1/me"))
    assert main(["--check"]) == 1
    assert capsys.readouterr() == ("contracts/v1/openapi.json\n", "")
    assert main([]) == 0
    assert main(["--check"]) == 0


def test_what_breaks_clients_is_explained_and_not_written_unasked(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def promise_more(document: Any) -> None:
        document["paths"]["/v1/me"]["post"] = document["paths"]["/v1/me"]["get"]

    change(copied / "openapi.json", promise_more)
    change(copied / "quota.schema.json", lambda form: form["required"].remove("limit"))
    change(copied / "errors.json", lambda listed: listed["errors"][0].update(status=402))
    (copied / "former.schema.json").write_text("{}")
    for arguments in (["--check"], []):
        assert main(arguments) == 1
        said = capsys.readouterr().err
        assert "- openapi.json: POST /v1/me: the operation is gone\n" in said
        assert "- quota.schema.json: it.limit: the field is required now\n" in said
        assert "- errors.json: error ambiguous_credentials: status is 400 now, and was 402\n" in said
        assert "- former.schema.json: the contract is gone\n" in said
    assert "Nothing was written." in said
    assert main(["--breaking"]) == 0
    assert not (copied / "former.schema.json").exists()
    assert main(["--check"]) == 0
