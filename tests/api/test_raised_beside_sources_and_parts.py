"""What DLP finds, beside what else decides about a document: its source, its parts, and its keeping."""

import pytest

from tests.api.test_document_dlp import CARD, KEY, PAID, put, rules
from tests.api.test_gateway_streams import until
from tests.api.test_privacy_routes import erased
from tests.api.test_retention_routes import HOLDS, REASON
from tests.api.test_review_routes import ask, code_of, decide, documents, settled, submit
from tests.stack import Company, Json, Person

CONNECTOR = {"connector": "wiki", "reason": "classification"}
PLAIN = "The parcel was paid at noon."


@pytest.fixture
async def author(company: Company) -> Person:
    return await company.person("tenant_admin", "member", clearance="confidential")


@pytest.fixture
async def reader(company: Company) -> Person:
    return await company.person("member", clearance="internal")


@pytest.fixture
async def steward(company: Company) -> Person:
    return await company.person("data_steward", clearance="confidential")


async def wiki(company: Company, *levels: str) -> None:
    await company.connector(name="wiki", allowed_classifications=list(levels))


@pytest.mark.parametrize(
    "fields", [{"content": PAID}, {"content": PLAIN, "title": f"Bill of {CARD}"}, {"external_id": CARD}]
)
async def test_a_source_brings_no_level_that_is_only_found_in_the_text(
    company: Company, author: Person, fields: Json
) -> None:
    await wiki(company, "internal")
    base = await company.base("tenant:*")
    body = {"title": "A bill", "content": PLAIN, "source_connector": "wiki", **fields}
    refused = await author.api.post(documents(base), json=body)
    assert code_of(refused) == (403, "source_connector_refused")
    assert refused.json()["error"]["details"] == CONNECTOR
    assert (await author.api.got(documents(base)))["data"] == []


async def test_a_source_that_brings_the_level_is_asked_for_that_one_alone(
    company: Company, author: Person
) -> None:
    await wiki(company, "internal", "confidential")
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PAID, source_connector="wiki")
    assert (made["status"], made["classification"]) == ("ready", "confidential")


async def test_a_replacement_that_is_worth_more_than_its_source_brings_fails_until_it_may(
    company: Company, author: Person
) -> None:
    await wiki(company, "internal")
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PLAIN, source_connector="wiki")
    assert (await put(author, base, made["id"], content=PAID)).status_code == 202
    shown = await settled(author.api, base, made["id"], newest="2")
    error = shown["pending_version"]["error"]
    assert (shown["classification"], error["code"], error["details"]) == (
        "internal",
        "source_connector_refused",
        CONNECTOR,
    )
    listed = await company.admin.got("/v1/audit/events", action="knowledge.document.failed")
    (facts,) = [event["facts"] for event in listed["data"]]
    assert {name: facts[name] for name in CONNECTOR} == CONNECTOR
    await company.switch("wiki", allowed_classifications=["internal", "confidential"])
    assert (await author.api.post(f"{documents(base, made['id'])}/retry")).status_code == 202
    shown = await settled(author.api, base, made["id"], newest="2")
    assert (shown["version"], shown["classification"]) == ("2", "confidential")


async def test_fields_that_are_replaced_are_judged_as_what_they_raise_the_document_to(
    company: Company, author: Person
) -> None:
    await wiki(company, "internal")
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PLAIN, source_connector="wiki")
    for text in ({}, {"content": PLAIN}, {"content": "The parcel was paid at six."}):
        refused = await put(author, base, made["id"], title=f"Bill of {CARD}", **text)
        assert code_of(refused) == (403, "source_connector_refused")
    shown = await author.api.got(documents(base, made["id"]))
    assert (shown["title"], shown["classification"], shown["pending_version"]) == (
        "Handbook",
        "internal",
        None,
    )
    # Whoever only changes a title is not its source.
    raised = await author.api.patch(documents(base, made["id"]), json={"title": f"Bill of {CARD}"})
    assert raised.json()["classification"] == "confidential"


@pytest.mark.parametrize(
    "acl",
    [
        {"classification": "public", "reason": "A test"},
        {"classification": "confidential"},
        {"classification": "public", "readers": [], "reason": "A test"},
        {"readers": [], "chunk_readers": [{"start": 0, "end": 4, "classification": "confidential"}]},
    ],
)
async def test_nobody_gives_a_document_or_a_part_a_level_that_its_source_does_not_bring(
    company: Company, acl: Json
) -> None:
    await wiki(company, "internal")
    base = await company.base()
    path = documents(base, await company.document(base, PLAIN, source_connector="wiki"))
    await company.switch("wiki", enabled=False)
    before = await company.admin.got(path)
    refused = await company.admin.put(f"{path}/acl", json=acl)
    assert code_of(refused) == (403, "source_connector_refused")
    assert refused.json()["error"]["details"] == CONNECTOR
    assert await company.admin.got(path) == before


async def test_an_access_list_gives_what_the_source_brings_and_else_asks_no_source(company: Company) -> None:
    await wiki(company, "internal", "confidential")
    base = await company.base()
    path = documents(base, await company.document(base, PLAIN, source_connector="wiki"))
    part = {"start": 0, "end": 4, "classification": "confidential"}
    for acl in ({"chunk_readers": [part]}, {"classification": "confidential"}):
        answer = await company.admin.put(f"{path}/acl", json=acl)
        assert answer.status_code == 200, answer.text
    # What it does not bring any more was judged when it did.
    await company.switch("wiki", allowed_classifications=["internal"])
    for acl in ({"readers": []}, {"chunk_readers": [{"start": 0, "end": 4, "readers": []}]}):
        answer = await company.admin.put(f"{path}/acl", json=acl)
        assert answer.status_code == 200, answer.text


async def test_a_base_is_not_lowered_below_what_the_sources_of_its_documents_bring(company: Company) -> None:
    await wiki(company, "confidential")
    base = await company.base(classification="confidential")
    path = documents(base, await company.document(base, PLAIN, source_connector="wiki"))
    lowered = {"classification": "internal", "reason": "A test"}
    refused = await company.admin.patch(f"/v1/knowledge-bases/{base}", json=lowered)
    assert code_of(refused) == (403, "source_connector_refused")
    assert refused.json()["error"]["details"] == CONNECTOR
    assert (await company.admin.got(path))["classification"] == "confidential"
    # A document with a level of its own does not follow, and closing a base is always allowed.
    own = {"classification": "confidential"}
    assert (await company.admin.put(f"{path}/acl", json=own)).status_code == 200
    for change in (lowered, {"classification": "secret"}):
        answer = await company.admin.patch(f"/v1/knowledge-bases/{base}", json=change)
        assert answer.status_code == 200, answer.text


async def test_what_was_found_in_a_document_counts_where_its_base_is_lowered(company: Company) -> None:
    await wiki(company, "internal", "confidential")
    base = await company.base(classification="confidential")
    path = documents(base, await company.document(base, PAID, source_connector="wiki"))
    await company.switch("wiki", allowed_classifications=["internal"])
    lowered = {"classification": "internal", "reason": "A test"}
    refused = await company.admin.patch(f"/v1/knowledge-bases/{base}", json=lowered)
    assert code_of(refused) == (403, "source_connector_refused")
    await company.switch("wiki", allowed_classifications=["internal", "confidential"])
    answer = await company.admin.patch(f"/v1/knowledge-bases/{base}", json=lowered)
    assert answer.status_code == 200, answer.text
    assert (await company.admin.got(path))["classification"] == "confidential"


async def test_a_part_of_a_text_that_is_on_its_way_is_given_no_level_that_its_source_does_not_bring(
    company: Company, author: Person
) -> None:
    await rules(company, payment_card="quarantine")
    await wiki(company, "public", "confidential")
    base = await company.base()
    fields = {"source_connector": "wiki", "classification": "confidential"}
    path = documents(base, await company.document(base, PLAIN, **fields))
    part = {"start": 0, "end": 4, "classification": "internal"}
    answer = await company.admin.put(path, json={"content": PAID, "chunk_readers": [part]})
    assert answer.status_code == 202, answer.text
    shown = await settled(company.admin, base, path.rpartition("/")[2], newest="2")
    assert shown["pending_version"]["status"] == "quarantined"
    lowered = {"classification": "public", "reason": "A test"}
    assert code_of(await company.admin.put(f"{path}/acl", json=lowered)) == (403, "source_connector_refused")


async def test_an_address_that_was_taken_out_is_not_verified(company: Company) -> None:
    await rules(company, payment_card="redact")
    service = await company.person("tenant_admin", "member", kind="service")
    await company.connector(name="wiki", principal=service.reference)
    base = await company.base("tenant:*")
    address = f"https://example.org/cards/{CARD.replace(' ', '')}"
    first = await submit(service.api, base, PLAIN, source_connector="wiki", source_uri=address)
    assert (first["source_uri"], first["source_uri_verified"]) == (None, False)
    known = await put(service, base, first["id"], source_uri="https://example.org/cards")
    assert known.json()["source_uri_verified"] is True
    again = (await put(service, base, first["id"], source_uri=address)).json()
    assert (again["source_uri"], again["source_uri_verified"]) == (None, False)


async def test_the_pieces_of_a_passage_are_worth_what_was_found_in_the_whole(
    company: Company, author: Person, reader: Person
) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, f"{PAID} Letters leave at six.")
    part = {"start": 0, "end": len(PAID), "readers": []}
    acl = {"chunk_readers": [part], "reason": "A test"}
    assert (await company.admin.put(f"{documents(base, made['id'])}/acl", json=acl)).status_code == 200

    async def is_cut() -> bool:
        return await ask(author.api, base, "letters leave") == ["Letters leave at six."]

    assert await until(is_cut, 20)
    assert await ask(reader.api, base, "letters leave") == []


async def test_what_a_steward_has_let_pass_is_cut_anew_like_any_other(
    company: Company, author: Person, steward: Person
) -> None:
    base = await company.base("tenant:*")
    text = f"The depot's key is {KEY}, keep it."
    made = await submit(author.api, base, f"{text} Letters leave at six.")
    assert (await decide(steward, base, made["id"], "release")).status_code == 200
    assert (await settled(author.api, base, made["id"]))["status"] == "ready"
    part = {"start": len(text), "end": len(text) + 23, "readers": [steward.reference]}
    acl = {"chunk_readers": [part], "reason": "A test"}
    assert (await company.admin.put(f"{documents(base, made['id'])}/acl", json=acl)).status_code == 200

    async def is_cut() -> bool:
        return await ask(author.api, base, "depot key") == [text]

    assert await until(is_cut, 20)


async def test_officers_find_nothing_that_was_found_to_lie_above_their_clearance(
    company: Company, author: Person
) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PAID)
    low = await company.person("data_steward", "security_officer", clearance="internal")
    high = await company.person("data_steward", "security_officer", clearance="confidential")
    target = {"knowledge_base_id": base, "document_id": made["id"], **REASON}
    assert code_of(await low.api.post(HOLDS, json=target)) == (422, "invalid_input")
    assert (await erased(low, "find", "parcel"))["documents"] == {}
    assert (await erased(high, "find", "parcel"))["documents"] == {"found": 1}
    hold = await high.api.made(HOLDS, target)
    assert (await low.api.got(HOLDS))["data"] == []
    assert [each["id"] for each in (await high.api.got(HOLDS))["data"]] == [hold["id"]]


async def test_a_text_that_was_kept_out_is_not_one_that_could_not_be_read(
    company: Company, author: Person, steward: Person
) -> None:
    await rules(company, payment_card="block")
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PLAIN)
    assert (await put(author, base, made["id"], content=PAID)).status_code == 202
    assert (await settled(author.api, base, made["id"], newest="2"))["pending_version"]["status"] == "failed"
    erasure = await erased(steward, "find", "parcel")
    assert (erasure["documents"], erasure["texts_unread"]) == ({"found": 1}, 0)


async def test_a_document_is_kept_as_long_as_those_of_the_level_that_was_found(
    company: Company, author: Person
) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PAID)
    plain = await submit(author.api, base, PLAIN)
    officer = await company.person("security_officer", clearance="confidential")
    policy = {"keep_days": 30, "classification": "confidential", "knowledge_base_id": base}
    await officer.api.made("/v1/retention/policies", policy)
    due = (await officer.api.got("/v1/retention/due", within_days=60))["data"]
    assert [(each["document_id"], each["classification"]) for each in due] == [(made["id"], "confidential")]
    assert plain["classification"] == "internal"
