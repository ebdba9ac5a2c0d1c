"""After an erasure no row of the tenant holds anything of the person, whatever it is a row of."""

from hashlib import sha256
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.api.test_privacy_routes import BLOCK, MAIL, NAME, erased, found, officer, state
from tests.api.test_review_routes import ORDER, held, settled
from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import eventually
from tests.stack import Company, Json, Person

__all__ = ["officer"]

PARCELS = "Parcels leave at noon."
NUMBER, KEY = "+33 6 12 34 56 78", "jeanne.morel"
TEXT = f"{PARCELS} Write to {MAIL} or call {NUMBER}, says {NAME}."


@pytest.fixture
async def steward(company: Company) -> Person:
    return await company.person("data_steward", clearance="confidential")


def holding(urls: DatabaseUrls, tenant: str, *needles: bytes) -> set[str]:
    """The tables in which a row of the tenant holds one of these, as text or as bytes."""
    spelled = [needle.decode("utf-8", "ignore").lower() for needle in needles if needle.isascii()]
    spelled += [needle.hex() for needle in needles] + [needle.lower().hex() for needle in needles]
    with psycopg.connect(urls.admin) as admin:
        tables = admin.execute(
            "SELECT table_name FROM information_schema.columns"
            " WHERE table_schema = 'eai' AND column_name = 'tenant_id'"
        ).fetchall()
        assert len(tables) > 40
        rows = {
            table: admin.execute(
                sql.SQL("SELECT lower(t::text) FROM eai.{} t WHERE tenant_id = %s").format(
                    sql.Identifier(table)
                ),
                [tenant],
            ).fetchall()
            for (table,) in tables
        }
    return {
        table for table, found in rows.items() for (row,) in found if any(each in row for each in spelled)
    }


def everything_of(*texts: str) -> list[bytes]:
    """What tells of the person, and the digests that tell it to who tries all numbers."""
    words = [MAIL, NAME, "jeanne", "morel", NUMBER]
    return [*map(str.encode, words), *(sha256(text.encode()).digest() for text in texts)]


async def released(company: Company, steward: Person, base: str, **fields: Any) -> str:
    """A document that was held for a number in its text, and released."""
    rules = await company.admin.patch("/v1/settings", json={"dlp": {"phone": "quarantine"}})
    assert rules.status_code == 200, rules.text
    document = await held(company.admin, base, TEXT, **fields)
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    comment = {"version": "1", "decision": "release", "comment": f"I asked {NAME}."}
    assert (await steward.api.post(f"{path}/review", json=comment)).status_code == 200
    assert (await settled(company.admin, base, document))["status"] == "ready"
    return document


async def is_deleted(officer: Person, document: str) -> bool:
    return bool((await officer.api.got(f"/v1/deletion-receipts/{document}"))["status"] == "deleted")


FIELDS: Json = {
    "title": f"By {NAME}",
    "metadata": {KEY: 1, KEY.upper(): 2, "author": NAME, "pages": 3},
    "source_uri": f"https://example.org/{MAIL}",
}


async def test_a_redaction_leaves_nothing_of_the_person_in_any_table(
    company: Company, officer: Person, steward: Person, stack_urls: DatabaseUrls
) -> None:
    base = await company.base()
    document = await released(company, steward, base, **FIELDS)
    assert {"kb_documents", "kb_document_versions", "kb_chunks", "quarantine_decisions"} <= holding(
        stack_urls, company.id, *everything_of(TEXT)
    )
    erasure = await erased(officer, "redact", MAIL, NAME, NUMBER, KEY)
    (told,) = (await found(officer, erasure)).values()
    assert (told["outcome"], told["code"]) == ("redacted", None)
    assert told["places"] == ["metadata", "review", "source_uri", "text", "title"]
    assert holding(stack_urls, company.id, *everything_of(TEXT)) == set()
    shown = await company.admin.got(f"/v1/knowledge-bases/{base}/documents/{document}")
    members = shown["metadata"]
    assert (members["author"], members["pages"]) == (BLOCK * len(NAME), 3)
    assert {members["_" * 12], members["_" * 13]} == {1, 2}
    back = await company.admin.patch(
        f"/v1/knowledge-bases/{base}/documents/{document}", json={"metadata": members}
    )
    assert back.status_code == 200, back.text
    lineage = await company.admin.get(f"/v1/lineage/knowledge-bases/{base}/documents/{document}/versions")
    assert lineage.status_code == 200, lineage.text
    assert sha256(TEXT.encode()).hexdigest() not in lineage.text


async def test_a_removal_leaves_nothing_of_the_person_in_any_table(
    company: Company, officer: Person, steward: Person, stack_urls: DatabaseUrls
) -> None:
    base = await company.base()
    document = await released(company, steward, base, **FIELDS)
    assert (await erased(officer, "remove", MAIL, NAME, NUMBER, KEY))["documents"] == {"removed": 1}
    await eventually(lambda: is_deleted(officer, document))
    assert holding(stack_urls, company.id, *everything_of(TEXT)) == set()
    with psycopg.connect(stack_urls.admin) as admin:
        kept = admin.execute(
            "SELECT decision, comment, findings FROM eai.quarantine_decisions WHERE tenant_id = %s",
            [company.id],
        ).fetchall()
    assert kept == [("release", f"I asked {BLOCK * len(NAME)}.", [])]


async def test_what_quotes_a_title_goes_with_what_the_title_says(
    company: Company, officer: Person, steward: Person, stack_urls: DatabaseUrls
) -> None:
    base = await company.base()
    fields = {"title": f"{ORDER} By {NAME}"}
    document = await held(company.admin, base, PARCELS, **fields)
    path = f"/v1/knowledge-bases/{base}/quarantine/{document}"
    before = (await steward.api.got(path))["findings"]
    assert any(each["excerpt"] for each in before if each["place"] == "title")
    assert (await erased(officer, "redact", NAME))["documents"] == {"redacted": 1}
    after = (await steward.api.got(path))["findings"]
    assert len(after) == len(before)
    assert [each["excerpt"] for each in after if each["place"] == "title"] == [""] * len(after)
    assert holding(stack_urls, company.id, *everything_of()) == set()


async def test_a_comment_alone_tells_of_the_person(
    company: Company, officer: Person, steward: Person, stack_urls: DatabaseUrls
) -> None:
    base = await company.base()
    document = await held(company.admin, base, f"{PARCELS} {ORDER}")
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    comment = {"version": "1", "decision": "release", "comment": f"I asked {NAME}."}
    assert (await steward.api.post(f"{path}/review", json=comment)).status_code == 200
    await settled(company.admin, base, document)
    (told,) = (await found(officer, await erased(officer, "find", NAME))).values()
    assert (told["document_id"], told["places"], told["versions"]) == (document, ["review"], [])
    assert (await erased(officer, "redact", NAME))["documents"] == {"redacted": 1}
    (event,) = (await company.admin.got("/v1/audit/events", action="knowledge.document.update"))["data"]
    assert event["facts"]["changed"] == ["review"]
    assert holding(stack_urls, company.id, *everything_of()) == set()
    assert (await company.admin.got(path))["version"] == "1"


async def test_a_file_named_after_the_person_is_found_by_its_name(
    company: Company, officer: Person, stack_urls: DatabaseUrls
) -> None:
    base = await company.base()
    file = {"file": (f"{NAME}.txt", PARCELS.encode(), "text/plain")}
    made = await company.admin.post(f"/v1/knowledge-bases/{base}/documents", files=file)
    assert made.status_code == 202, made.text
    document = made.json()["id"]
    await settled(company.admin, base, document)
    (told,) = (await found(officer, await erased(officer, "redact", NAME))).values()
    assert (told["document_id"], told["places"]) == (document, ["external_id", "title"])
    assert (told["outcome"], told["code"]) == ("failed", "not_redactable")
    assert (await erased(officer, "remove", NAME))["documents"] == {"removed": 1}
    await eventually(lambda: is_deleted(officer, document))
    assert holding(stack_urls, company.id, *everything_of()) == set()


async def test_a_connector_named_after_the_person_is_told_and_the_rest_is_redacted(
    company: Company, officer: Person
) -> None:
    base = await company.base()
    connector = await company.connector(name="jeanne-morel-mailbox")
    document = await company.document(base, f"{NAME} came by.", source_connector=connector["name"])
    erasure = await erased(officer, "redact", NAME, "jeanne-morel-mailbox")
    (told,) = (await found(officer, erasure)).values()
    assert told["places"] == ["source_connector", "text"]
    assert (told["outcome"], told["code"]) == ("failed", "found_again")
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    assert (await company.admin.got(f"{path}/content"))["content"] == f"{BLOCK * len(NAME)} came by."
    assert (await erased(officer, "remove", "jeanne-morel-mailbox"))["documents"] == {"removed": 1}
    assert await state(company, base, document) == 404
