"""The demo's documents and manifest agree, and its questions really have different answers."""

import re
import tomllib
import unicodedata
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import py3langid
import pytest

from eai.access.acl import BaseRights
from eai.access.classification import Classification
from eai.access.scopes import Role, scopes_of
from eai.access.subject import PrincipalKind, Subject
from eai.access.visibility import PassageRights, may_read
from eai.kernel.ids import ApiKeyId, GroupId, PrincipalId, TenantId

FOLDER = Path(str(files("eai") / "cli" / "demo_content"))
MANIFEST: dict[str, Any] = tomllib.loads((FOLDER / "manifest.toml").read_text(encoding="utf-8"))
DOCUMENTS = {document["file"]: document for document in MANIFEST["documents"]}
PEOPLE = {person["name"]: person for person in MANIFEST["people"]}
GROUPS = {group["name"] for group in MANIFEST["groups"]}
FORMATS = {".md", ".html", ".txt"}

TENANT = UUID("7d0f6a2e-0000-4000-8000-000000000001")
READER_OF_THE_BASE = BaseRights(can_see=True, can_read_passages=True, can_write=False, can_manage=False)


def text_of(file: str) -> str:
    text = (FOLDER / file).read_text(encoding="utf-8")
    return re.sub(r"<[^>]+>", " ", text) if file.endswith(".html") else text


def group_id(name: str) -> GroupId:
    return GroupId(uuid5(TENANT, f"group {name}"))


def subject(name: str) -> Subject:
    person = PEOPLE[name]
    roles = tuple(Role(role) for role in person["roles"])
    return Subject(
        tenant=TenantId(TENANT),
        principal=PrincipalId(uuid5(TENANT, name)),
        kind=PrincipalKind(person["kind"]),
        name=name,
        roles=roles,
        groups=frozenset(group_id(group) for group in person["groups"]),
        scopes=scopes_of(roles),
        clearance=Classification(person["clearance"]),
        api_key=ApiKeyId(uuid5(TENANT, f"key of {name}")),
    )


def readable_by(name: str) -> set[str]:
    return {file for file, document in DOCUMENTS.items() if is_readable(subject(name), document)}


def is_readable(reader: Subject, document: dict[str, Any]) -> bool:
    readers = document.get("readers")
    passage = PassageRights(
        tenant=TenantId(TENANT),
        document_readers=None if readers is None else frozenset(f"group:{group_id(r)}" for r in readers),
        chunk_readers=None,
        classification=level_of(document),
        is_live=True,
        is_source_enabled=True,
    )
    return may_read(reader, READER_OF_THE_BASE, passage)


def level_of(document: dict[str, Any]) -> Classification:
    return Classification(document.get("classification", MANIFEST["knowledge_base"]["classification"]))


def test_every_listed_file_exists_and_every_file_is_listed() -> None:
    found = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.suffix in FORMATS}
    assert len(DOCUMENTS) == len(MANIFEST["documents"])
    assert found == set(DOCUMENTS)


def test_there_are_about_thirty_documents_half_in_each_language() -> None:
    languages = Counter(document["language"] for document in DOCUMENTS.values())
    assert languages == {"en": 17, "fr": 17}
    assert {Path(file).suffix for file in DOCUMENTS} == FORMATS


@pytest.mark.parametrize("file", sorted(DOCUMENTS))
def test_a_document_is_a_readable_text_in_its_language(file: str) -> None:
    text = text_of(file)
    assert 150 <= len(text.split()) <= 700
    assert unicodedata.is_normalized("NFC", text)
    assert py3langid.classify(text)[0] == DOCUMENTS[file]["language"]
    assert file.startswith(DOCUMENTS[file]["language"] + "/")


@pytest.mark.parametrize("file", sorted(file for file in DOCUMENTS if not file.endswith(".txt")))
def test_a_title_is_the_one_that_the_document_carries(file: str) -> None:
    source = (FOLDER / file).read_text(encoding="utf-8")
    heading = re.search(r"<title>(.+)</title>" if file.endswith(".html") else r"\A# (.+)\n", source)
    assert heading is not None
    assert DOCUMENTS[file]["title"] == heading[1]


def test_every_level_occurs_and_some_documents_leave_it_to_the_base() -> None:
    assert {level_of(document) for document in DOCUMENTS.values()} == set(Classification)
    assert any("classification" not in document for document in DOCUMENTS.values())


def test_names_refer_to_groups_and_people_that_exist() -> None:
    named = {group for person in PEOPLE.values() for group in person["groups"]}
    named |= {group for document in DOCUMENTS.values() for group in document.get("readers", [])}
    assert named == GROUPS
    for question in MANIFEST["questions"]:
        assert set(question["by"]) <= set(PEOPLE)
        assert set(question["finds"]) == set(question["by"])


def test_every_document_has_a_reader() -> None:
    assert set().union(*(readable_by(name) for name in PEOPLE)) == set(DOCUMENTS)


@pytest.mark.parametrize("question", MANIFEST["questions"], ids=lambda question: question["ask"])
def test_a_question_promises_each_person_only_what_they_may_read(question: dict[str, Any]) -> None:
    finds = {name: set(wanted) for name, wanted in question["finds"].items()}
    for name, wanted in finds.items():
        assert wanted <= readable_by(name)
    assert len({frozenset(wanted) for wanted in finds.values()}) == len(finds)


def test_one_question_in_each_language_is_the_main_one() -> None:
    main = [question for question in MANIFEST["questions"] if question.get("main")]
    assert [question["language"] for question in main] == ["en", "fr"]
    assert all(question["by"] == ["Nora Drizzle", "Blanche Frimas"] for question in main)


def test_the_finance_director_reads_the_board_papers_and_the_employee_does_not() -> None:
    beyond = readable_by("Blanche Frimas") - readable_by("Nora Drizzle")
    assert beyond == {
        "en/board-paper-corvanel.md",
        "en/carrier-agreement-corvanel.md",
        "en/insurance-file-vg-2291.md",
        "fr/analyse-qualite-vg-2291.md",
        "fr/bail-depot-lille.md",
        "fr/contrat-cadre-sainte-ombeline.md",
        "fr/grille-salaires.md",
        "fr/note-conseil-masse-salariale.md",
        "fr/note-tresorerie-remboursements.md",
    }


def test_a_clearance_alone_opens_nothing() -> None:
    assert "en/postmortem-network-outage.md" not in readable_by("Blanche Frimas")
    assert "fr/grille-salaires.md" not in readable_by("Isolde Sleet")


def test_the_public_assistant_reads_public_documents_only() -> None:
    assert {level_of(DOCUMENTS[file]) for file in readable_by("Flocon")} == {Classification.PUBLIC}
