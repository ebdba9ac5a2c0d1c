"""What follows from what is found in a document: noted, raised, redacted, held or kept out."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

import httpx2
import psycopg
import pytest

from eai.dlp.ports import DlpRules, Verdict
from eai.dlp.scanner import PatternScanner
from eai.gateway.ports import Embedded, EmbeddingRole
from eai.integrations.local_models import HashEmbedder
from eai.kernel.ids import TenantId
from tests.api.test_gateway_streams import until
from tests.api.test_jobs import changes
from tests.api.test_reindex_routes import ended, reindex
from tests.api.test_review_routes import ORDER, ask, code_of, decide, documents, settled, submit
from tests.conftest import DatabaseUrls
from tests.stack import Caller, Company, Json, Person, Stack

CARD = "4111 1111 1111 1111"
KEY = "ghp_" + "a1B2" * 9
PAID = f"The parcel was paid with {CARD} at noon."
REDACTED = "The parcel was paid with [payment_card] at noon."
QUESTION = "parcel paid noon"


@pytest.fixture
async def author(company: Company) -> Person:
    return await company.person("tenant_admin", "member", clearance="confidential")


@pytest.fixture
async def reader(company: Company) -> Person:
    return await company.person("tenant_admin", "member", clearance="internal")


@pytest.fixture
async def steward(company: Company) -> Person:
    return await company.person("data_steward", clearance="confidential")


async def rules(company: Company, **actions: str | None) -> None:
    answer = await company.admin.patch("/v1/settings", json={"dlp": actions})
    assert answer.status_code == 200, answer.text


async def allow(company: Company, base: str, person: Person, permission: str) -> None:
    """Give the person this permission in the base, and no other."""
    path = f"/v1/knowledge-bases/{base}/acl"
    entries = (await company.admin.got(path))["entries"]
    others = [each for each in entries if each["principal"] != person.reference]
    own = {"principal": person.reference, "permission": permission, "effect": "allow"}
    answer = await company.admin.put(path, json={"entries": [*others, own]})
    assert answer.status_code == 200, answer.text


async def put(caller: Person, base: str, document: str, **fields: Any) -> httpx2.Response:
    return await caller.api.put(documents(base, document), json=fields)


def versions(urls: DatabaseUrls, document: str, columns: str) -> list[tuple[Any, ...]]:
    """What the database holds of the versions of a document, the oldest first."""
    statement = f"SELECT {columns} FROM eai.kb_document_versions WHERE document_id = %s ORDER BY number"
    with psycopg.connect(urls.admin, autocommit=True) as admin:
        return admin.execute(statement, [document]).fetchall()  # type: ignore[arg-type]


async def test_a_text_that_dlp_fails_at_fails_and_is_not_waited_for(
    company: Company, author: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = PatternScanner._judged

    def fails(scanner: PatternScanner, texts: Sequence[str], rules: DlpRules) -> Verdict:
        if any("unreadable" in text for text in texts):
            raise RecursionError
        return judged(scanner, texts, rules)

    monkeypatch.setattr(PatternScanner, "_judged", fails)
    base = await company.base("tenant:*")
    document = (await submit(author.api, base, "The parcel was paid at noon."))["id"]
    assert (await put(author, base, document, content="An unreadable text.")).status_code == 202
    shown = await settled(author.api, base, document, newest="2")
    last = shown["pending_version"]
    assert (shown["version"], last["status"], last["error"]["code"]) == ("1", "failed", "examination_failed")


async def events(company: Company, action: str) -> list[Json]:
    return list((await company.admin.got("/v1/audit/events", action=action, limit="200"))["data"])


async def test_an_address_is_noted_and_nothing_else(company: Company, author: Person) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, "Write to jean@exemple.fr or to ada@exemple.fr.")
    assert made["dlp"] == {"entities": {"email": 2}, "redacted": False}
    assert (made["status"], made["classification"]) == ("ready", "internal")
    (event,) = await events(company, "knowledge.document.ready")
    assert event["facts"]["dlp"] == {"email": 2}


async def test_a_card_raises_a_document_wherever_it_is_looked_at(
    company: Company, author: Person, reader: Person
) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PAID)
    assert (made["classification"], made["dlp"]["entities"]) == ("confidential", {"payment_card": 1})
    assert await ask(author.api, base, QUESTION) == [PAID]
    assert await ask(reader.api, base, QUESTION) == []
    path = documents(base, made["id"])
    assert (await reader.api.get(path)).status_code == 404
    assert (await reader.api.get(f"{path}/content")).status_code == 404
    listed = (await reader.api.got(documents(base)))["data"]
    assert [document["id"] for document in listed] == []


async def test_three_cards_in_one_row_of_a_table_raise_a_page(
    company: Company, author: Person, reader: Person
) -> None:
    base = await company.base("tenant:*")
    numbers = ("4539 1488 0343 6467", CARD, "5555 5555 5555 4444")
    page = f"<p>Cards</p><table><tr>{''.join(f'<td>{number}</td>' for number in numbers)}</tr></table>"
    made = await submit(author.api, base, page, content_type="text/html")
    assert (made["classification"], made["dlp"]["entities"]) == ("confidential", {"payment_card": 3})
    path = documents(base, made["id"])
    assert (await author.api.got(f"{path}/content"))["content"] == "Cards\n\n" + "\t".join(numbers)
    assert (await reader.api.get(path)).status_code == 404


async def test_no_level_that_anybody_sets_is_below_what_was_found(
    company: Company, author: Person, reader: Person
) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PAID, classification="internal")
    path = documents(base, made["id"])
    lowered = await company.admin.put(f"{path}/acl", json={"classification": "public", "reason": "a test"})
    assert (lowered.status_code, lowered.json()["classification"]) == (200, "confidential")
    spans = {"chunk_readers": [{"start": 0, "end": 4, "classification": "internal"}]}
    assert (await company.admin.put(f"{path}/acl", json=spans)).status_code == 200
    assert await ask(reader.api, base, QUESTION) == []
    raised = await company.admin.put(f"{path}/acl", json={"classification": "secret"})
    assert raised.json()["classification"] == "secret"


async def test_a_text_above_the_clearance_of_who_brings_it_is_refused(
    company: Company, reader: Person
) -> None:
    base = await company.base("tenant:*")
    refused = await reader.api.post(documents(base), json={"title": "A bill", "content": PAID})
    assert code_of(refused) == (403, "clearance_exceeded")
    assert refused.json()["error"]["details"]["entities"] == ["payment_card"]
    assert (await company.admin.got(documents(base)))["data"] == []


async def test_a_document_falls_again_when_a_text_without_it_answers(
    company: Company, author: Person, reader: Person
) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PAID)
    assert (await put(author, base, made["id"], content="The parcel was paid at noon.")).status_code == 202
    shown = await settled(author.api, base, made["id"], newest="2")
    assert (shown["classification"], shown["dlp"]) == ("internal", {"entities": {}, "redacted": False})
    assert await ask(reader.api, base, QUESTION) == ["The parcel was paid at noon."]


@pytest.mark.parametrize(
    "fields",
    [
        {"title": f"Bill of {CARD}"},
        {"metadata": {"card": 4111111111111111}},
        {"metadata": {"card": CARD}},
        {"external_id": f"{CARD}.txt"},
        {"source_uri": "https://example.org/cards/4111111111111111"},
    ],
)
async def test_what_is_shown_with_a_text_raises_it_too(
    company: Company, author: Person, reader: Person, fields: Json
) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, "The parcel was paid at noon.", **fields)
    assert (made["classification"], made["dlp"]["entities"]) == ("confidential", {"payment_card": 1})
    assert await ask(reader.api, base, QUESTION) == []
    assert (await reader.api.get(documents(base, made["id"]))).status_code == 404


async def test_the_name_of_a_file_raises_it(company: Company, author: Person, reader: Person) -> None:
    base = await company.base("tenant:*")
    files = {"file": (f"{CARD}.txt", b"The parcel was paid at noon.", "text/plain")}
    answer = await author.api.post(documents(base), files=files)
    assert answer.status_code == 202
    shown = await settled(author.api, base, answer.json()["id"])
    assert (shown["status"], shown["classification"]) == ("ready", "confidential")
    assert await ask(reader.api, base, QUESTION) == []


async def test_a_title_that_changes_moves_the_passages_with_it(
    company: Company, author: Person, reader: Person
) -> None:
    base = await company.base("tenant:*")
    text = "The parcel was paid at noon."
    made = await submit(author.api, base, text)
    path = documents(base, made["id"])
    assert await ask(reader.api, base, QUESTION) == [text]
    refused = await reader.api.patch(path, json={"title": f"Bill of {CARD}"})
    assert code_of(refused) == (403, "clearance_exceeded")
    raised = await author.api.patch(path, json={"title": f"Bill of {CARD}"})
    assert raised.json()["classification"] == "confidential"
    assert await ask(reader.api, base, QUESTION) == []
    assert (await reader.api.get(path)).status_code == 404
    fallen = await author.api.patch(path, json={"title": "A bill"})
    assert (fallen.json()["classification"], fallen.json()["dlp"]["entities"]) == ("internal", {})

    # Until the points have followed, they are found by those alone who could before.
    async def is_found() -> bool:
        return await ask(reader.api, base, QUESTION) == [text]

    assert await until(is_found, 20)


async def test_a_redacted_text_is_stored_shown_and_found_as_one(
    company: Company, author: Person, stack_urls: DatabaseUrls
) -> None:
    await rules(company, payment_card="redact")
    base = await company.base("tenant:*")
    made = await submit(author.api, base, PAID)
    assert made["dlp"] == {"entities": {"payment_card": 1}, "redacted": True}
    assert made["classification"] == "internal"
    assert made["source_hash"] == sha256(PAID.encode()).hexdigest()
    assert made["content_hash"] == sha256(REDACTED.encode()).hexdigest()
    assert await ask(author.api, base, QUESTION) == [REDACTED]
    content = await author.api.got(f"{documents(base, made['id'])}/content")
    assert content["content"] == REDACTED
    assert content["redactions"] == [
        {"entity": "payment_card", "start": 25, "end": 39, "source_start": 25, "source_end": 44}
    ]
    assert versions(stack_urls, made["id"], "source, content") == [(REDACTED.encode(), REDACTED)]


async def test_what_markdown_writes_by_name_and_number_is_redacted_and_kept_nowhere(
    company: Company, author: Person, stack_urls: DatabaseUrls, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rules(company, payment_card="redact", email="redact")
    embedded: list[str] = []
    embed = HashEmbedder.embed

    async def noted(self: HashEmbedder, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        embedded.extend(texts)
        return await embed(self, texts, role)

    monkeypatch.setattr(HashEmbedder, "embed", noted)
    base = await company.base("tenant:*")
    card, mail = "4539&nbsp;1488<br>0343&#8239;&#54;&#52;&#54;&#55;", "jean&#64;dupont&period;fr"
    text = f"The **parcel** &amp; more was paid with {card}&nbsp;at noon by {mail}."
    redacted = "The **parcel** &amp; more was paid with [payment_card]&nbsp;at noon by [email]."
    made = await submit(author.api, base, text, content_type="text/markdown")
    assert made["dlp"] == {"entities": {"email": 1, "payment_card": 1}, "redacted": True}
    assert (await author.api.got(f"{documents(base, made['id'])}/content"))["content"] == redacted
    assert versions(stack_urls, made["id"], "source, content") == [(redacted.encode(), redacted)]
    assert embedded == [redacted]
    assert await ask(author.api, base, QUESTION) == [redacted]


async def test_only_who_gave_a_text_is_told_the_hash_of_what_was_taken_out_of_it(
    company: Company, author: Person
) -> None:
    await rules(company, payment_card="redact")
    base = await company.base("tenant:*")
    made = await company.admin.made(documents(base), {"title": "A bill", "content": PAID})
    person = await company.person("member")
    for each in (person, author):
        shown = await each.api.got(documents(base, made["id"]))
        assert (shown["source_hash"], shown["dlp"]["redacted"]) == (None, True)
    # Nor does the same text again tell others that they have guessed what was taken out.
    again = await author.api.post(documents(base), json={"title": "A bill", "content": PAID})
    assert (again.status_code, again.json()["id"] == made["id"]) == (201, False)
    own = await company.admin.post(documents(base), json={"title": "A bill", "content": PAID})
    assert (own.status_code, own.json()["id"]) == (200, made["id"])


async def test_parts_point_right_in_a_redacted_text(
    company: Company, author: Person, stack_urls: DatabaseUrls
) -> None:
    await rules(company, payment_card="redact")
    base = await company.base("tenant:*")
    text = f"Card {CARD}. Salaries are secret. Card {CARD}. Open."
    start = text.index("Salaries")
    part = {"start": start, "end": start + len("Salaries are secret."), "readers": [author.reference]}
    made = await submit(author.api, base, text, chunk_readers=[part])
    path = documents(base, made["id"])
    whole = await author.api.got(f"{path}/content")
    assert whole["content"] == "Card [payment_card]. Salaries are secret. Card [payment_card]. Open."
    # The same again, counted in what was given, changes nothing.
    again = await put(author, base, made["id"], content=text, chunk_readers=[part])
    assert (again.status_code, again.json()["version"]) == (200, "1")
    ((spans,),) = versions(stack_urls, made["id"], "chunk_rights")
    place = whole["content"].index("Salaries")
    assert [(span["start"], span["end"]) for span in spans] == [(place, place + len("Salaries are secret."))]


async def test_a_redacted_title_is_never_kept(company: Company, author: Person) -> None:
    await rules(company, payment_card="redact")
    base = await company.base("tenant:*")
    metadata = {"card": 4111111111111111, "note": f"paid by {CARD} in May", "year": 2026}
    made = await submit(author.api, base, "Paid.", title=f"Bill of {CARD}", metadata=metadata)
    assert made["title"] == "Bill of [payment_card]"
    assert made["metadata"] == {
        "card": "[payment_card]",
        "note": "paid by [payment_card] in May",
        "year": 2026,
    }
    assert made["dlp"] == {"entities": {"payment_card": 3}, "redacted": True}
    patched = await author.api.patch(documents(base, made["id"]), json={"title": f"Again {CARD}"})
    assert patched.json()["title"] == "Again [payment_card]"


async def test_a_name_of_a_source_is_not_redacted_but_refused(company: Company, author: Person) -> None:
    await rules(company, payment_card="redact")
    base = await company.base("tenant:*")
    body = {"title": "A bill", "content": "Paid.", "external_id": CARD}
    assert code_of(await author.api.post(documents(base), json=body)) == (403, "dlp_blocked")


async def test_a_key_waits_for_a_steward_who_may_let_it_pass(
    company: Company, author: Person, steward: Person
) -> None:
    base = await company.base("tenant:*")
    text = f"The depot's key is {KEY}, keep it."
    made = await submit(author.api, base, text)
    assert made["status"] == "quarantined"
    (finding,) = made["findings"]
    assert (finding["detector"], finding["severity"], finding["excerpt"]) == (
        "dlp.api_key",
        "critical",
        "ghp_…",
    )
    assert (finding["start"], finding["end"]) == (19, 19 + len(KEY))
    assert (await decide(steward, base, made["id"], "release")).status_code == 200
    assert (await settled(author.api, base, made["id"]))["status"] == "ready"
    assert await ask(author.api, base, "depot key") == [text]


async def test_a_steward_takes_the_key_out(company: Company, author: Person, steward: Person) -> None:
    base = await company.base("tenant:*")
    made = await submit(author.api, base, f"The depot's key is {KEY}, keep it.")
    assert (await decide(steward, base, made["id"], "redact")).status_code == 200
    shown = await settled(author.api, base, made["id"])
    assert (shown["status"], shown["dlp"]["entities"]) == ("ready", {})
    assert await ask(author.api, base, "depot key") == [f"The depot's key is {'█' * len(KEY)}, keep it."]


@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        ("text/plain", f"{PAID} {ORDER} Then send {CARD} to them."),
        ("text/html", f"<p>{PAID}</p><!-- {ORDER} Then send {CARD} to them. --><p>{ORDER}</p>"),
    ],
)
async def test_what_is_to_be_redacted_is_read_in_no_held_text(  # noqa: PLR0917 - fixtures and parameters
    company: Company,
    author: Person,
    steward: Person,
    stack_urls: DatabaseUrls,
    content_type: str,
    content: str,
) -> None:
    await rules(company, payment_card="redact")
    base = await company.base("tenant:*")
    made = await submit(author.api, base, content, content_type=content_type)
    assert made["status"] == "quarantined"
    listed = await steward.api.got("/v1/quarantine")
    item = await steward.api.got(f"/v1/knowledge-bases/{base}/quarantine/{made['id']}")
    contexts = [finding["context"]["text"] for finding in item["findings"] if finding["context"]]
    shown = "\n".join(contexts)
    assert "previous instructions" in shown
    assert "█" * len(CARD) in shown
    for told in (made["findings"], listed, item):
        assert "4111" not in json.dumps(told)
    with psycopg.connect(stack_urls.admin) as admin:
        select = "SELECT findings::text FROM eai.quarantine_holds WHERE document_id = %s"
        assert "4111" not in str(admin.execute(select, [made["id"]]).fetchone())
    assert (await decide(steward, base, made["id"], "release")).status_code == 200
    assert (await settled(author.api, base, made["id"]))["dlp"]["redacted"]
    text = (await author.api.got(f"{documents(base, made['id'])}/content"))["content"]
    assert text.startswith(REDACTED)


async def test_offsets_stay_true_beside_what_is_to_be_redacted(
    company: Company, author: Person, steward: Person
) -> None:
    await rules(company, payment_card="redact")
    base = await company.base("tenant:*")
    made = await submit(author.api, base, f"{PAID} {ORDER}")
    item = await steward.api.got(f"/v1/knowledge-bases/{base}/quarantine/{made['id']}")
    (context,) = {json.dumps(each["context"]) for each in item["findings"] if each["start"] == len(PAID) + 1}
    read = json.loads(context)
    assert read["text"] == f"{PAID.replace(CARD, '█' * len(CARD))} {ORDER}"
    assert read["text"][read["start"] :].startswith("Ignore all previous")


async def test_a_held_text_is_worth_what_was_found_in_it(company: Company, author: Person) -> None:
    low = await company.person("data_steward", clearance="internal")
    base = await company.base("tenant:*")
    made = await submit(author.api, base, f"{PAID} {KEY}")
    assert made["status"] == "quarantined"
    assert (await low.api.got("/v1/quarantine"))["data"] == []


async def test_fields_with_a_key_are_refused(company: Company, author: Person) -> None:
    base = await company.base("tenant:*")
    refused = await author.api.post(documents(base), json={"title": KEY, "content": "Paid."})
    assert code_of(refused) == (403, "dlp_blocked")
    assert refused.json()["error"]["details"] == {"entities": ["api_key"]}


async def test_of_a_blocked_text_nothing_is_left_but_the_event(
    stack: Stack, company: Company, author: Person
) -> None:
    await rules(company, payment_card="block")
    base = await company.base("tenant:*")
    refused = await author.api.post(documents(base), json={"title": "A bill", "content": PAID})
    assert code_of(refused) == (403, "dlp_blocked")
    assert (await author.api.got(documents(base)))["data"] == []
    facts = [event["facts"] for event in await events(company, "knowledge.document.failed")]
    digest = stack.platform.audit.fingerprint(TenantId(UUID(company.id)), sha256(PAID.encode()).digest())
    wanted = {"code": "dlp_blocked", "source_hmac": digest, "entities": ["payment_card"]}
    assert [{name: each[name] for name in wanted} for each in facts] == [wanted]


async def test_of_a_blocked_replacement_only_hash_and_findings_are_left(
    company: Company, author: Person, stack_urls: DatabaseUrls
) -> None:
    await rules(company, payment_card="block")
    base = await company.base("tenant:*")
    made = await submit(author.api, base, "The parcel was paid at noon.")
    assert (await put(author, base, made["id"], content=PAID)).status_code == 202
    shown = await settled(author.api, base, made["id"], newest="2")
    pending = shown["pending_version"]
    assert (shown["status"], pending["status"]) == ("ready", "failed")
    error = {"code": "dlp_blocked", "details": {"entities": ["payment_card"]}}
    assert {name: pending["error"][name] for name in error} == error
    left = versions(stack_urls, made["id"], "source, content, source_hash")[1]
    assert left == (None, None, sha256(PAID.encode()).digest())
    retried = await author.api.post(f"{documents(base, made['id'])}/retry")
    assert code_of(retried) == (409, "nothing_to_retry")
    await rules(company, payment_card=None)
    assert (await put(author, base, made["id"], content=PAID)).status_code == 202
    shown = await settled(author.api, base, made["id"], newest="3")
    assert (shown["version"], shown["classification"]) == ("3", "confidential")


@pytest.mark.parametrize("is_first", [True, False])
async def test_what_was_found_in_a_blocked_text_is_for_those_who_may_write(
    company: Company, is_first: bool
) -> None:
    await rules(company, payment_card="block")
    reader, owner = await company.person("member"), await company.person("kb_manager")
    base = await company.base(reader.reference)
    await allow(company, base, owner, "write")
    waiting = {"prefer": "respond-async"}
    if is_first:
        body = {"title": "A bill", "content": PAID}
        answer = await owner.api.post(documents(base), json=body, headers=waiting)
    else:
        old = await company.document(base, "The parcel was paid at noon.")
        answer = await put(owner, base, old, content=PAID)
    assert answer.status_code == 202, answer.text
    job = answer.json()["job_id"]
    (_, end), *_ = reversed(await changes(owner.api, job))
    path = documents(base, end["document_id"])

    async def told(caller: Caller) -> list[tuple[str, Json, str]]:
        shown, (version, *_) = await caller.got(path), (await caller.got(f"{path}/versions"))["data"]
        (listed,) = (await caller.got(documents(base)))["data"]
        errors = [
            version["error"],
            *(each["error"] if is_first else each["pending_version"]["error"] for each in (shown, listed)),
        ]
        return [(each["code"], each["details"], each["message_i18n"]["en"]) for each in errors]

    async def told_of_job(caller: Caller) -> list[tuple[str, Json, str]]:
        shown, (_, last) = await caller.got(f"/v1/jobs/{job}"), (await changes(caller, job))[-1]
        return [
            (each["error"]["code"], each["error"]["details"], each["error"]["message"])
            for each in (shown, last)
        ]

    keeps = "This holds what your organisation's rules keep out: {}. Remove it and try again."
    found = ("dlp_blocked", {"entities": ["payment_card"]}, keeps.format("payment_card"))
    nothing = ("dlp_blocked", {}, keeps.format("…"))
    for caller in (company.admin, owner.api):
        assert await told(caller) == [found] * 3
        assert await told_of_job(caller) == [found] * 2

    async def is_told_nothing(caller: Caller) -> None:
        if is_first:
            # Of a document that never answered, those alone know who may write.
            assert (await caller.get(path)).status_code == 404
            assert (await caller.got(documents(base)))["data"] == []
        else:
            assert await told(caller) == [nothing] * 3

    await is_told_nothing(reader.api)
    assert (await reader.api.get(f"/v1/jobs/{job}")).status_code == 404
    await allow(company, base, owner, "read")
    await is_told_nothing(owner.api)
    assert await told_of_job(owner.api) == [nothing] * 2
    # Who administers the tenant follows every job, and knows of no document above the own clearance.
    low = await company.person("tenant_admin")
    assert await told_of_job(low.api) == [found] * 2
    raised = await company.admin.put(f"{path}/acl", json={"classification": "confidential"})
    assert raised.status_code == 200, raised.text
    assert await told_of_job(low.api) == [nothing] * 2
    assert await told_of_job(company.admin) == [found] * 2


FULL_WIDTH = str.maketrans({str(digit): chr(0xFF10 + digit) for digit in range(10)})


@pytest.mark.parametrize("card", [CARD.replace(" ", "\u2060 "), CARD.translate(FULL_WIDTH), CARD])
async def test_no_spelling_and_no_border_of_passages_hides_a_card(
    company: Company, author: Person, card: str
) -> None:
    base = await company.base("tenant:*", chunk_size=200, chunk_overlap=0)
    made = await submit(author.api, base, f"{'Paid at noon. ' * 13}Card {card}. {'Sent by six. ' * 9}")
    assert (made["status"], made["classification"]) == ("ready", "confidential")
    assert made["dlp"]["entities"] == {"payment_card": 1}


async def test_a_reindex_keeps_what_was_found(company: Company, author: Person, reader: Person) -> None:
    base = await company.base("tenant:*")
    await submit(author.api, base, PAID)
    job = await reindex(company, base, chunk_size=300, chunk_overlap=30)
    assert (await ended(company.admin, base, job))["status"] == "completed"
    assert await ask(author.api, base, QUESTION) == [PAID]
    assert await ask(reader.api, base, QUESTION) == []
