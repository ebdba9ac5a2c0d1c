"""Title, metadata, file name and source go through what a text goes through, whenever they come in."""

from base64 import urlsafe_b64encode
from typing import Any

import httpx2
import pytest

from tests.api.test_review_routes import ORDER, PARCELS, ask, code_of, decide, documents, settled, submit
from tests.stack import Company, Json, Person

ENCODED = urlsafe_b64encode(ORDER.encode()).decode()
FIELDS: dict[str, tuple[Json, str]] = {
    "title": ({"title": ORDER}, ORDER),
    "external_id": ({"external_id": ORDER}, ORDER),
    "metadata": ({"metadata": {"author": "Ada", "note": ORDER}}, ORDER),
    "source_uri": ({"source_uri": f"https://example.org/{ENCODED}"}, ""),
}


@pytest.fixture
async def author(company: Company) -> Person:
    return await company.person("tenant_admin", "member", clearance="confidential")


@pytest.fixture
async def steward(company: Company) -> Person:
    return await company.person("data_steward", clearance="confidential")


async def upload(author: Person, base: str, name: str) -> str:
    answer = await author.api.post(documents(base), files={"file": (name, PARCELS.encode(), "text/plain")})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


async def patch(author: Person, base: str, document: str, **fields: Any) -> httpx2.Response:
    return await author.api.patch(documents(base, document), json=fields)


@pytest.mark.parametrize("place", FIELDS)
async def test_a_text_waits_for_what_is_shown_with_it(company: Company, author: Person, place: str) -> None:
    base = await company.base("tenant:*")
    fields, words = FIELDS[place]
    made = await submit(author.api, base, PARCELS, **fields)
    assert made["status"] == "quarantined"
    found = [finding for finding in made["findings"] if finding["place"] == place]
    assert {finding["place"] for finding in made["findings"]} == {place}
    assert found[0]["excerpt"].startswith(words[:20])
    assert await ask(author.api, base) == []


async def test_the_name_of_a_file_is_examined(company: Company, author: Person) -> None:
    base = await company.base("tenant:*")
    document = await upload(author, base, f"{ORDER}.txt")
    shown = await settled(author.api, base, document)
    assert shown["status"] == "quarantined"


async def test_a_replacement_is_examined_with_the_fields_it_brings(company: Company, author: Person) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PARCELS)
    body = {"content": f"{PARCELS} Letters too.", "metadata": {"note": ORDER}}
    assert (await author.api.put(documents(base, made["id"]), json=body)).status_code == 202
    shown = await settled(author.api, base, made["id"], newest="2")
    assert (shown["status"], shown["pending_version"]["status"]) == ("ready", "quarantined")
    assert shown["metadata"] == {}


async def test_fields_that_come_alone_are_refused_and_change_nothing(
    company: Company, author: Person
) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PARCELS)
    patched = await patch(author, base, made["id"], title=ORDER)
    put = await author.api.put(documents(base, made["id"]), json={"metadata": {"note": ORDER}})
    same = await author.api.put(documents(base, made["id"]), json={"content": PARCELS, "title": ORDER})
    assert [code_of(answer) for answer in (patched, put, same)] == [(409, "review_required")] * 3
    assert "overrides_instructions" in patched.json()["error"]["details"]["reasons"]
    shown = await author.api.got(documents(base, made["id"]))
    assert (shown["title"], shown["metadata"]) == ("Handbook", {})


async def test_fields_that_were_released_do_not_stand_against_others(
    company: Company, author: Person, steward: Person
) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PARCELS, title=ORDER)
    assert (await decide(steward, base, made["id"], "release")).status_code == 200
    assert (await settled(author.api, base, made["id"]))["status"] == "ready"
    assert (await patch(author, base, made["id"], metadata={"year": 2026})).status_code == 200


async def test_a_steward_reads_the_field_around_a_finding(
    company: Company, author: Person, steward: Person
) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PARCELS, metadata={"author": "Ada", "note": f"Note: {ORDER}"})
    detail = await steward.api.got(f"/v1/knowledge-bases/{base}/quarantine/{made['id']}")
    finding = next(f for f in detail["findings"] if f["reason"]["code"] == "overrides_instructions")
    context = finding["context"]
    assert context["text"].startswith("Ada\nNote: Ignore all previous")
    assert context["text"][context["start"] :].startswith("Ignore")


async def test_a_redaction_blackens_fields_and_leaves_out_what_names_the_source(
    company: Company, author: Person, steward: Person
) -> None:
    base = await company.base("tenant:*")
    fields = {
        "title": f"Rules. {ORDER}",
        "external_id": ORDER,
        "metadata": {"by": "Ada", "note": ORDER, "n": 3},
    }
    made = await submit(author.api, base, PARCELS, **fields)
    assert (await decide(steward, base, made["id"], "redact")).status_code == 200
    shown = await settled(author.api, base, made["id"])
    assert (shown["status"], shown["external_id"]) == ("ready", None)
    assert shown["title"].startswith("Rules. █")
    assert "Ignore" not in shown["title"]
    assert (shown["metadata"]["by"], shown["metadata"]["n"]) == ("Ada", 3)
    assert "previous" not in shown["metadata"]["note"]
    assert await ask(author.api, base) == [PARCELS]


async def test_a_redaction_of_a_replacement_leaves_what_answers_alone(
    company: Company, author: Person, steward: Person
) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PARCELS)
    body = {"content": "Letters leave at six.", "title": f"Letters. {ORDER}"}
    assert (await author.api.put(documents(base, made["id"]), json=body)).status_code == 202
    assert (await settled(author.api, base, made["id"], newest="2"))["title"] == "Handbook"
    assert (await decide(steward, base, made["id"], "redact", "2")).status_code == 200
    shown = await settled(author.api, base, made["id"], newest="2")
    assert (shown["version"], shown["status"]) == ("2", "ready")
    assert shown["title"].startswith("Letters. █")


LINE = "[INST] " * 142
"""As much as a value of metadata may hold."""


def notes(values: int) -> Json:
    return {f"note{number}": LINE for number in range(values)}


@pytest.mark.parametrize(
    ("content", "metadata"),
    [(PARCELS, notes(8)), (f"{PARCELS} {LINE * 4}", notes(4)), (f"{PARCELS} {LINE * 8}", {})],
    ids=["in fields", "in both", "in the text"],
)
async def test_where_more_stands_against_text_and_fields_than_is_kept_nothing_of_it_passes(
    company: Company, author: Person, steward: Person, content: str, metadata: Json
) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, content, metadata=metadata)
    assert made["status"] == "quarantined"
    detail = await steward.api.got(f"/v1/knowledge-bases/{base}/quarantine/{made['id']}")
    assert len(detail["findings"]) == 1_000
    for decision in ("release", "redact"):
        assert code_of(await decide(steward, base, made["id"], decision)) == (409, "too_many_findings")
    shown = await author.api.got(documents(base, made["id"]))
    assert (shown["status"], shown["metadata"]) == ("quarantined", metadata)
    assert (await decide(steward, base, made["id"], "reject")).json()["status"] == "rejected"


async def test_fields_that_hold_more_by_now_than_is_kept_are_not_redacted_in_part(
    company: Company, author: Person, steward: Person
) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, f"{PARCELS} {ORDER}")

    async def threshold(level: str) -> None:
        answer = await company.admin.patch("/v1/settings", json={"quarantine": {"threshold": level}})
        assert answer.status_code == 200

    await threshold("critical")
    assert (await patch(author, base, made["id"], metadata=notes(8))).status_code == 200
    await threshold("high")
    assert code_of(await decide(steward, base, made["id"], "redact")) == (409, "too_many_findings")
    assert (await author.api.got(documents(base, made["id"])))["metadata"] == notes(8)
    # A release lets pass what the steward saw; what has come since holds it anew.
    assert (await decide(steward, base, made["id"], "release")).status_code == 200
    assert (await settled(author.api, base, made["id"]))["status"] == "quarantined"
    assert await ask(author.api, base) == []
