"""How an erasure works: what takes a processor keeps nobody waiting."""

import threading
from dataclasses import dataclass, field

import psycopg
import pytest

from eai.privacy.identifiers import Identifiers, Place
from tests.api.test_privacy_routes import BLOCK, MAIL, erased, found, officer, replace
from tests.conftest import DatabaseUrls
from tests.stack import Company, Person

__all__ = ["officer"]


@dataclass
class Witness:
    """Sees every search: in which thread it is, and whether somebody holds a document meanwhile."""

    admin_url: str
    document: str = ""
    threads: set[str] = field(default_factory=set)
    found_held: int = 0

    def look(self) -> None:
        self.threads.add(threading.current_thread().name)
        with psycopg.connect(self.admin_url) as admin:
            statement = "SELECT FROM eai.kb_documents WHERE id = %s FOR UPDATE SKIP LOCKED"
            self.found_held += admin.execute(statement, [self.document]).fetchone() is None


@pytest.fixture
def witness(stack_urls: DatabaseUrls, monkeypatch: pytest.MonkeyPatch) -> Witness:
    watching, places = Witness(stack_urls.admin), Identifiers.places

    def watched(self: Identifiers, text: str) -> list[Place]:
        watching.look()
        return places(self, text)

    monkeypatch.setattr(Identifiers, "places", watched)
    return watching


@pytest.mark.parametrize("text", [f"Write to {MAIL}.", "Write to nobody."])
async def test_nothing_is_looked_through_while_its_document_is_held_or_where_others_are_served(
    company: Company, officer: Person, witness: Witness, text: str
) -> None:
    base = await company.base()
    witness.document = await company.document(base, text, title=f"To {MAIL}")
    await replace(company, base, witness.document, f"{text} Soon.")
    assert (await erased(officer, "redact", MAIL))["documents"] == {"redacted": 1}
    assert witness.threads
    assert threading.main_thread().name not in witness.threads
    assert witness.found_held == 0
    shown = await company.admin.got(f"/v1/knowledge-bases/{base}/documents/{witness.document}")
    assert shown["title"] == f"To {BLOCK * len(MAIL)}"


@pytest.mark.parametrize(
    ("action", "text", "occurrences"),
    [("find", "Nobody.", 0), ("remove", "Nobody.", 0), ("redact", f"Write to {MAIL}.", 1)],
)
async def test_a_document_that_others_go_on_changing_is_told_and_left_as_it_is(  # noqa: PLR0917
    company: Company,
    officer: Person,
    stack_urls: DatabaseUrls,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
    text: str,
    occurrences: int,
) -> None:
    base = await company.base()
    document = await company.document(base, text)
    places = Identifiers.places

    def changing(self: Identifiers, text: str) -> list[Place]:
        with psycopg.connect(stack_urls.admin) as admin:
            admin.execute("UPDATE eai.kb_documents SET revision = revision + 1 WHERE id = %s", [document])
        return places(self, text)

    monkeypatch.setattr(Identifiers, "places", changing)
    erasure = await erased(officer, action, MAIL)
    told = (await found(officer, erasure))[document]
    assert (told["outcome"], told["code"]) == ("failed", "document_changing")
    assert (told["occurrences"], erasure["documents_searched"]) == (occurrences, 1)
    path = f"/v1/knowledge-bases/{base}/documents/{document}/content"
    assert (await company.admin.got(path))["content"] == text


async def test_what_was_changed_is_audited_also_where_the_person_is_found_again(
    company: Company, officer: Person
) -> None:
    """What stands behind the address makes it another one, until a block stands there."""
    base = await company.base()
    document = await company.document(base, "Parcels leave at noon.", title=f"{MAIL}.Paul")
    erasure = await erased(officer, "redact", MAIL, "Paul")
    (told,) = (await found(officer, erasure)).values()
    assert (told["outcome"], told["code"]) == ("failed", "found_again")
    shown = await company.admin.got(f"/v1/knowledge-bases/{base}/documents/{document}")
    assert shown["title"] == f"{MAIL}.{BLOCK * 4}"
    (event,) = (await company.admin.got("/v1/audit/events", action="knowledge.document.update"))["data"]
    assert event["resource"] == {"kind": "document", "id": document}
    assert event["facts"] == {"base": base, "erasure": erasure["id"], "changed": ["title"]}
    assert (await erased(officer, "redact", MAIL))["documents"] == {"redacted": 1}


async def test_what_becomes_of_a_document_is_audited_from_the_request_to_the_end(
    company: Company, officer: Person
) -> None:
    base = await company.base()
    document = await company.document(base, f"Write to {MAIL}.", title=f"To {MAIL}")
    erasure = await erased(officer, "redact", MAIL)
    about = {"base": base, "erasure": erasure["id"]}
    actions = {
        "privacy.erasure.request": {
            "action": "redact", "identifiers": 1, "principal": None, "clearance": "confidential",
        },
        "knowledge.document.replace": about,
        "privacy.document.found": {**about, "outcome": "redacting"},
        "privacy.document.redacted": {**about, "outcome": "redacted"},
        "privacy.erasure.complete": {"documents": {"redacted": 1}, "details_erased": None},
    }  # fmt: skip
    every = (await company.admin.got("/v1/audit/events", limit=200))["data"]
    events = [event for event in every if event["action"] in actions]
    assert [(event["action"], event["facts"]) for event in events] == list(actions.items())
    assert {event["resource"]["id"] for event in events} == {document, erasure["id"]}
    assert events[0]["actor"]["principal"] == officer.id
    assert MAIL not in str(events)
