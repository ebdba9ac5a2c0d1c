"""Attacks on where documents come from: others' connectors, others' stamps, and what happens meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from uuid import uuid4

import pytest

from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.ports import Embedded, EmbeddingRole
from eai.gateway.service import RegisteredModel
from eai.integrations.local_models import HashEmbedder
from tests.api.matrix.answers import code_of, told
from tests.conftest import fresh_database
from tests.stack import Caller, Company, Json, Person, Stack, running_stack, settings

TEXT = "The refund is paid within fourteen days."
CONNECTORS = "/v1/source-connectors"


class Paused:
    """A model that waits at a text with this word in it until it may go on."""

    def __init__(self) -> None:
        self.word = "pause"
        self.reached = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self._hash = HashEmbedder()

    async def warm_up(self) -> None:
        """There is nothing to load."""

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        if any(self.word in text for text in texts):
            self.reached.set()
            await self.may_go_on.wait()
        return await self._hash.embed(texts, role)


@pytest.fixture(scope="module")
def model() -> Paused:
    return Paused()


@pytest.fixture(scope="module")
async def pausing(model: Paused, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """A product whose only model can be made to wait."""
    models = {"local-hash-256": RegisteredModel(LOCAL_HASH_256, model)}
    with fresh_database() as urls:
        chosen = settings(urls.app, tmp_path_factory.mktemp("pausing"))
        async with running_stack(chosen, models=models) as running:
            yield running


@pytest.fixture
async def company(pausing: Stack, model: Paused) -> Company:
    model.reached.clear()
    model.may_go_on.clear()
    return await pausing.company()


async def writer(company: Company, base: str, *roles: str) -> Person:
    """A service that may read and write in the base."""
    service = await company.person("member", "ingestor", *roles, kind="service", clearance="secret")
    path = f"/v1/knowledge-bases/{base}/acl"
    entries = (await company.admin.got(path))["entries"]
    entries.append({"principal": service.reference, "permission": "write", "effect": "allow"})
    assert (await company.admin.put(path, json={"entries": entries})).status_code == 200
    return service


async def ask(caller: Caller, base: str, query: str = "refund") -> list[str]:
    answer = await caller.made(f"/v1/knowledge-bases/{base}/query", {"query": query}, status=200)
    return [result["content"] for result in answer["results"]]


def stamped(name: str, content: str = TEXT, **fields: object) -> Json:
    return {"title": "Terms", "content": content, "source_connector": name, **fields}


class TestOthersConnectors:
    async def test_another_tenants_connector_is_unknown_by_name_and_by_id(
        self, pausing: Stack, company: Company
    ) -> None:
        theirs = await (await pausing.company()).connector()
        base = await company.base()
        documents = f"/v1/knowledge-bases/{base}/documents"
        unknown = told(await company.admin.post(documents, json=stamped("no-such-source")))
        assert unknown[0] == 422
        for reference in (theirs["name"], theirs["id"], theirs["id"].upper(), str(uuid4())):
            assert told(await company.admin.post(documents, json=stamped(reference))) == unknown
        assert (await company.admin.got(documents))["data"] == []

    async def test_a_name_that_another_tenant_has_is_free_here_and_stays_apart(
        self, pausing: Stack, company: Company
    ) -> None:
        other = await pausing.company()
        mine = await company.connector(name="wiki")
        theirs = await other.connector(name="wiki")
        base = await company.base()
        await company.document(base, TEXT, source_connector="wiki")
        await other.switch("wiki", enabled=False)
        assert await ask(company.admin, base) == [TEXT]
        assert code_of(await other.admin.get(f"{CONNECTORS}/{mine['id']}")) == (404, "not_found")
        assert (await company.admin.got(f"{CONNECTORS}/wiki"))["id"] == mine["id"] != theirs["id"]

    async def test_names_that_would_pass_for_something_else_are_refused(self, company: Company) -> None:
        taken = (await company.connector())["name"]
        for name in (taken, "direct", "Direct", "DIRECT"):
            answer = await company.admin.post(CONNECTORS, json={"name": name, "kind": "wiki"})
            assert code_of(answer) == (409, "name_taken"), name
        for name in (str(uuid4()), uuid4().hex, "", "a b", "w\u0131ki", "wiki\u200b", "../x", "x" * 64):
            answer = await company.admin.post(CONNECTORS, json={"name": name, "kind": "wiki"})
            assert code_of(answer) == (422, "invalid_input"), name

    async def test_only_a_service_of_the_tenant_can_be_the_one_that_stamps(
        self, pausing: Stack, company: Company
    ) -> None:
        other = await (await pausing.company()).person("ingestor", kind="service")
        user, agent = await company.person("ingestor"), await company.person("ingestor", kind="agent")
        own = await company.person("ingestor", kind="service")
        group = await company.group(own)
        name = (await company.connector(principal=own.id))["name"]
        assert (await company.admin.got(f"{CONNECTORS}/{name}"))["principal"] == own.reference
        for principal in (
            other.reference, other.id, user.reference, user.id, agent.reference, group, "tenant:*",
            f"user:{own.id}", f"service:{uuid4()}", "service:", "nonsense",
        ):  # fmt: skip
            made = {"name": f"s-{uuid4().hex[:12]}", "kind": "wiki", "principal": principal}
            for answer in (
                await company.admin.post(CONNECTORS, json=made),
                await company.admin.patch(f"{CONNECTORS}/{name}", json={"principal": principal}),
            ):
                assert code_of(answer) == (422, "principal_unknown"), principal
        assert (await company.admin.got(f"{CONNECTORS}/{name}"))["principal"] == own.reference

    async def test_nobody_but_a_security_officer_touches_the_registry(self, company: Company) -> None:
        name = (await company.connector())["name"]
        officer = await company.person("security_officer")
        assert (await officer.api.got(f"{CONNECTORS}/{name}"))["name"] == name
        for role in ("member", "developer", "kb_manager", "ingestor", "data_steward", "auditor"):
            person = await company.person(role)
            for answer in (
                await person.api.get(CONNECTORS),
                await person.api.get(f"{CONNECTORS}/{name}"),
                await person.api.post(CONNECTORS, json={"name": "mine", "kind": "wiki"}),
                await person.api.patch(f"{CONNECTORS}/{name}", json={"enabled": False}),
            ):
                assert code_of(answer) == (403, "scope_missing"), role
        assert (await officer.api.delete(f"{CONNECTORS}/{name}")).status_code == 405


class TestOthersStamps:
    async def test_any_key_of_the_service_stamps_and_nobody_elses(
        self, pausing: Stack, company: Company
    ) -> None:
        base = await company.base()
        wiki, other = await writer(company, base), await writer(company, base, "kb_manager")
        name = (await company.connector(principal=wiki.reference))["name"]
        documents = f"/v1/knowledge-bases/{base}/documents"
        second = await company.admin.made("/v1/api-keys", {"principal_id": wiki.id})
        for number, caller in enumerate((wiki.api, pausing.caller(second["api_key"]))):
            await caller.made(documents, stamped(name, f"{TEXT} {number}"))
        for caller in (other.api, company.admin):
            answer = await caller.post(documents, json=stamped(name, "Forged."))
            assert code_of(answer) == (403, "source_connector_refused")
            answer = await caller.post(
                documents,
                data={"source_connector": name, "title": "Terms"},
                files={"file": ("terms.txt", b"Forged.", "text/plain")},
            )
            assert code_of(answer) == (403, "source_connector_refused")
        assert "Forged." not in await ask(company.admin, base, "Forged.")

    async def test_a_stranger_is_not_told_whether_a_connector_is_off_or_what_it_brings(
        self, company: Company
    ) -> None:
        base = await company.base()
        wiki, other = await writer(company, base), await writer(company, base)
        name = (await company.connector(principal=wiki.reference, allowed_classifications=["public"]))["name"]
        documents = f"/v1/knowledge-bases/{base}/documents"
        answers = [told(await other.api.post(documents, json=stamped(name)))]
        await company.switch(name, enabled=False)
        answers.append(told(await other.api.post(documents, json=stamped(name))))
        assert answers[0] == answers[1]
        assert answers[0][0] == 403

    async def test_a_stranger_learns_of_no_document_by_its_external_id(self, company: Company) -> None:
        base = await company.base()
        wiki, other = await writer(company, base), await writer(company, base)
        name = (await company.connector(principal=wiki.reference))["name"]
        documents = f"/v1/knowledge-bases/{base}/documents"
        await wiki.api.made(documents, stamped(name, external_id="page-1", classification="secret"))
        there, absent = [
            told(await other.api.post(documents, json=stamped(name, external_id=page)))
            for page in ("page-1", "page-2")
        ]
        assert there == absent
        own = await other.api.made(documents, {"title": "Own", "content": "Own.", "external_id": "page-1"})
        assert own["source_connector"] == "direct"

    async def test_a_stamp_cannot_be_put_on_or_taken_off_later(self, company: Company) -> None:
        base = await company.base()
        wiki = await writer(company, base)
        made = await company.connector(principal=wiki.reference)
        name, other = made["name"], (await company.connector(principal=wiki.reference))["id"]
        documents = f"/v1/knowledge-bases/{base}/documents"
        of_wiki = (await wiki.api.made(documents, stamped(name)))["id"]
        direct = (await wiki.api.made(documents, {"title": "Mine", "content": "Mine."}))["id"]
        for document, wanted in (
            (of_wiki, "direct"), (of_wiki, other), (direct, name), (direct, made["id"]),
            (direct, "no-such-source"),
        ):  # fmt: skip
            answer = await wiki.api.put(f"{documents}/{document}", json={"source_connector": wanted})
            assert code_of(answer) == (422, "invalid_input")
        assert (await wiki.api.got(f"{documents}/{of_wiki}"))["source_connector"] == name
        for wanted in (name, made["id"], made["id"].upper(), None):
            given = {"source_connector": wanted}
            answer = await wiki.api.put(f"{documents}/{of_wiki}", json={"title": "Terms of all", **given})
            assert answer.status_code == 200, answer.text
        assert (await wiki.api.got(f"{documents}/{of_wiki}"))["source_connector"] == name

    async def test_once_its_service_is_gone_nobody_stamps_until_an_officer_names_another(
        self, company: Company
    ) -> None:
        base = await company.base()
        old, new = await writer(company, base), await writer(company, base)
        name = (await company.connector(principal=old.reference))["name"]
        documents = f"/v1/knowledge-bases/{base}/documents"
        assert (await company.admin.delete(f"/v1/principals/{old.id}")).status_code == 204
        for caller in (new.api, company.admin):
            answer = await caller.post(documents, json=stamped(name))
            assert code_of(answer) == (403, "source_connector_refused")
        assert (await company.admin.got(f"{CONNECTORS}/{name}"))["principal"] == old.reference
        await company.switch(name, principal=new.reference)
        assert (await new.api.made(documents, stamped(name)))["status"] == "ready"

    async def test_an_address_is_not_believed_because_its_connector_was_bound_later(
        self, company: Company
    ) -> None:
        base = await company.base()
        wiki, forger = await writer(company, base), await writer(company, base)
        name = (await company.connector())["name"]
        documents = f"/v1/knowledge-bases/{base}/documents"
        forged = stamped(name, "Pay to me.", source_uri="https://bank.example/terms")
        document = (await forger.api.made(documents, forged))["id"]
        await company.switch(name, principal=wiki.reference)
        shown = await company.admin.got(f"{documents}/{document}")
        assert (shown["source_uri"], shown["source_uri_verified"]) == (forged["source_uri"], False)
        confirmed = await wiki.api.put(
            f"{documents}/{document}", json={"source_uri": "https://bank.example/terms"}
        )
        assert (confirmed.status_code, confirmed.json()["source_uri_verified"]) == (200, True)


class TestMeanwhile:
    async def test_switched_off_while_a_document_comes_in_it_is_shown_to_nobody_until_it_is_back(
        self, company: Company, model: Paused
    ) -> None:
        base, name = await company.base(), (await company.connector())["name"]
        documents = f"/v1/knowledge-bases/{base}/documents"
        content = "The refund, after a pause."
        coming = asyncio.create_task(company.admin.made(documents, stamped(name, content)))
        await model.reached.wait()
        await company.switch(name, enabled=False)
        late = await company.admin.post(documents, json=stamped(name, "Too late."))
        assert code_of(late) == (403, "source_connector_refused")
        model.may_go_on.set()
        made = await coming
        assert made["status"] == "ready"
        assert await ask(company.admin, base) == []
        content_of = await company.admin.get(f"{documents}/{made['id']}/content")
        assert content_of.status_code == 404
        await company.switch(name, enabled=True)
        assert await ask(company.admin, base) == [content]

    async def test_switched_off_while_a_question_is_asked_it_answers_nothing(
        self, company: Company, model: Paused
    ) -> None:
        base, name = await company.base(), (await company.connector())["name"]
        await company.document(base, TEXT, source_connector=name)
        await company.document(base, "Every other refund takes a month.")
        asked = asyncio.create_task(ask(company.admin, base, "refund pause"))
        await model.reached.wait()
        await company.switch(name, enabled=False)
        model.may_go_on.set()
        assert await asked == ["Every other refund takes a month."]

    async def test_of_many_documents_and_questions_around_the_switch_none_shows_anything_after_it(
        self, company: Company
    ) -> None:
        base, name = await company.base(), (await company.connector())["name"]
        documents = f"/v1/knowledge-bases/{base}/documents"
        is_off = asyncio.Event()

        async def bring(number: int) -> tuple[bool, int]:
            late = is_off.is_set()
            answer = await company.admin.post(documents, json=stamped(name, f"{TEXT} Page {number}."))
            return late, answer.status_code

        async def question() -> list[str]:
            late = is_off.is_set()
            found = await ask(company.admin, base)
            return found if late else []

        async def switch_off() -> None:
            await company.switch(name, enabled=False)
            is_off.set()

        work = [bring(number) for number in range(8)]
        asking = [question() for _ in range(8)]
        outcomes, shown, _ = await asyncio.gather(
            asyncio.gather(*work), asyncio.gather(*asking), switch_off()
        )
        late = [await bring(number) for number in (100, 101)]
        assert {status for _, status in outcomes} <= {201, 403}
        assert late == [(True, 403), (True, 403)]
        assert shown == [[]] * 8
        assert await ask(company.admin, base) == []
        await company.switch(name, enabled=True)
        accepted = [status for _, status in outcomes].count(201)
        assert len(await ask(company.admin, base)) == min(accepted, 5)

    async def test_two_officers_who_have_seen_the_same_do_not_undo_each_other(self, company: Company) -> None:
        name = (await company.connector())["name"]
        path = f"{CONNECTORS}/{name}"
        tag = (await company.admin.get(path)).headers["etag"]
        first = await company.admin.patch(path, json={"enabled": False}, headers={"if-match": tag})
        second = await company.admin.patch(path, json={"kind": "drive"}, headers={"if-match": tag})
        assert (first.status_code, code_of(second)) == (200, (412, "precondition_failed"))
        assert (await company.admin.got(path))["enabled"] is False


async def test_every_change_of_the_registry_is_on_record(company: Company) -> None:
    wiki = await company.person("ingestor", kind="service")
    made = await company.connector(name="intranet", principal=wiki.reference)
    await company.switch("intranet", enabled=False, allowed_classifications=["internal", "public"])
    await company.switch("intranet", enabled=False)
    changes = {"enabled": None, "kind": None, "principal": None, "allowed_classifications": None}
    await company.switch(made["id"], **changes)
    told_of = [
        (event["action"], event["resource"], event["facts"])
        for event in (await company.admin.got("/v1/audit/events", limit=200))["data"]
        if event["action"].startswith("source_connector.")
    ]
    resource = {"kind": "source_connector", "id": made["id"]}
    facts = {"name": "intranet", "kind": "wiki", "enabled": True, "principal": wiki.reference}
    assert told_of == [
        ("source_connector.create", resource, {**facts, "allowed_classifications": None}),
        (
            "source_connector.update",
            resource,
            {
                **facts,
                "enabled": False,
                "allowed_classifications": ["public", "internal"],
                "changed": ["allowed_classifications", "enabled"],
            },
        ),
        (
            "source_connector.update",
            resource,
            {
                **facts,
                "enabled": False,
                "principal": None,
                "allowed_classifications": None,
                "changed": ["allowed_classifications", "principal"],
            },
        ),
    ]
