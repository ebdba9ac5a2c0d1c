"""One effect per key, on the real table: leases, replays, secrets and what a crash leaves."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any
from uuid import uuid4

import pytest
from fastapi import Depends
from pydantic import BaseModel
from sqlalchemy import text
from starlette.requests import Request
from starlette.responses import Response

from eai.access.acl import Permission
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import NewId, Transaction
from eai.api.governed_route import GovernedRouter
from eai.api.idempotency import Idempotency, Replay, replay
from eai.api.intake import accepts
from eai.api.requirement import require
from eai.kernel.errors import Conflict, Unavailable
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.platform.expiry import erase_expired
from eai.platform.keys import Keyring, MasterKey
from tests.fakes.platform import Plumbing, subject

Writer = Annotated[Subject, Depends(require(Scope.KB_WRITE))]
BaseWriter = Annotated[Subject, Depends(require(Scope.KB_WRITE, base=Permission.WRITE))]


class Order(BaseModel):
    name: str
    outcome: str = "done"


class Shop:
    """Where effects are counted, outside of any transaction."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.begun: asyncio.Queue[str] = asyncio.Queue()
        self.may_finish = asyncio.Event()
        self.may_finish.set()


shop = Shop()
router = GovernedRouter()


@router.post("/orders", status_code=201)
async def order(
    caller: Writer, session: Transaction, made: NewId, body: Order, response: Response
) -> dict[str, str]:
    """Order something."""
    shop.effects.append(str(made))
    shop.begun.put_nowait(str(made))
    await shop.may_finish.wait()
    match body.outcome:
        case "refused":
            raise Conflict
        case "unavailable":
            raise Unavailable
        case "crash":
            raise RuntimeError
    response.headers["location"] = f"/v1/orders/{made}"
    return {"id": str(made), "name": body.name}


@router.post("/secrets", status_code=201)
@replay(Replay.ONCE)
async def secret(caller: Writer, made: NewId) -> dict[str, str]:
    """Make a secret."""
    shop.effects.append(str(made))
    return {"id": str(made), "secret": "the secret sentence"}


@router.post("/searches")
@replay(Replay.IGNORED)
async def search(caller: Writer) -> dict[str, int]:
    """Change nothing."""
    shop.effects.append("search")
    return {"count": len(shop.effects)}


@router.post("/knowledge-bases/{base}/orders", status_code=201)
async def order_in(caller: BaseWriter, base: str) -> dict[str, str]:
    """Order something for a base."""
    shop.effects.append(base)
    return {"base": base}


@router.post("/uploads", status_code=201)
@accepts("multipart/form-data")
async def upload(caller: Writer, request: Request) -> dict[str, Any]:
    """Take a file."""
    form = await request.form()
    shop.effects.append("upload")
    return {"names": sorted(form)}


@pytest.fixture
async def plumbing(database: Database) -> AsyncIterator[Plumbing]:
    shop.effects.clear()
    shop.begun = asyncio.Queue()
    keyring = Keyring(MasterKey(b"m" * 32), database)
    yield Plumbing(router, database=database, keyring=keyring)
    shop.may_finish.set()


@pytest.fixture
def who(tenant: TenantId) -> Subject:
    return subject(Scope.KB_WRITE, tenant=tenant)


def _key() -> dict[str, str]:
    return {"idempotency-key": uuid4().hex}


async def _set(database: Database, tenant: TenantId, change: str) -> None:
    async with database.transaction(tenant) as session:
        await session.execute(text(f"UPDATE eai.idempotency_records SET {change}"))


async def _lease_s(database: Database, tenant: TenantId) -> float:
    left = text("SELECT EXTRACT(epoch FROM lease_until - now()) FROM eai.idempotency_records")
    async with database.transaction(tenant) as session:
        return float(await session.scalar(left) or 0)


async def test_a_repetition_gets_the_same_answer_and_has_no_effect(plumbing: Plumbing, who: Subject) -> None:
    key = _key()
    async with plumbing.client(who) as client:
        first = await client.post("/v1/orders", json={"name": "a"}, headers=key)
        again = await client.post(
            "/v1/orders", content=b'{ "name" : "a" }', headers={**key, "content-type": "application/json"}
        )
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert first.headers["x-request-id"] != again.headers["x-request-id"]
    assert shop.effects == [first.json()["id"]]


async def test_without_a_key_every_request_counts(plumbing: Plumbing, who: Subject) -> None:
    async with plumbing.client(who) as client:
        ids = {(await client.post("/v1/orders", json={"name": "a"})).json()["id"] for _ in range(2)}
    assert len(ids) == 2


async def test_a_key_means_nothing_to_others_and_elsewhere(
    plumbing: Plumbing, who: Subject, other_tenant: TenantId
) -> None:
    key = _key()
    colleague = subject(Scope.KB_WRITE, tenant=who.tenant)
    foreigner = subject(Scope.KB_WRITE, tenant=other_tenant)
    for someone in (who, colleague, foreigner):
        async with plumbing.client(someone) as client:
            assert (
                await client.post("/v1/orders", json={"name": someone.name}, headers=key)
            ).status_code == 201
    async with plumbing.client(who) as client:
        assert (await client.post("/v1/secrets", headers=key)).status_code == 201
    assert len(set(shop.effects)) == 4


async def test_another_body_under_the_same_key_is_refused(plumbing: Plumbing, who: Subject) -> None:
    key = _key()
    async with plumbing.client(who) as client:
        await client.post("/v1/orders", json={"name": "a"}, headers=key)
        other = await client.post("/v1/orders", json={"name": "b"}, headers=key)
        query = await client.post("/v1/orders?x=1", json={"name": "a"}, headers=key)
    for answer in (other, query):
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "idempotency_key_reused")
    assert len(shop.effects) == 1


async def test_while_it_runs_a_repetition_is_told_to_wait(plumbing: Plumbing, who: Subject) -> None:
    key = _key()
    shop.may_finish.clear()
    async with plumbing.client(who) as client:
        running = asyncio.create_task(client.post("/v1/orders", json={"name": "a"}, headers=key))
        await shop.begun.get()
        waiting = await client.post("/v1/orders", json={"name": "a"}, headers=key)
        shop.may_finish.set()
        assert (await running).status_code == 201
    error = waiting.json()["error"]
    assert (waiting.status_code, error["code"], error["retryable"]) == (409, "idempotency_in_progress", True)
    assert waiting.headers["retry-after"] == "5"


async def test_many_at_once_have_one_effect(plumbing: Plumbing, who: Subject) -> None:
    key = _key()
    async with plumbing.client(who) as client:
        posts = [client.post("/v1/orders", json={"name": "a"}, headers=key) for _ in range(30)]
        answers = await asyncio.gather(*posts)
    assert len(shop.effects) == 1
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 201}) == 1


async def test_a_refused_request_leaves_its_key_free(plumbing: Plumbing, who: Subject) -> None:
    key = _key()
    async with plumbing.client(who) as client:
        refused = await client.post("/v1/orders", json={"name": "a", "outcome": "refused"}, headers=key)
        invalid = await client.post("/v1/orders", json={}, headers=key)
        accepted = await client.post("/v1/orders", json={"name": "b"}, headers=key)
    assert [answer.status_code for answer in (refused, invalid, accepted)] == [409, 422, 201]


@pytest.mark.parametrize(("outcome", "status"), [("unavailable", 503), ("crash", 500)])
async def test_after_an_unknown_outcome_the_next_attempt_makes_the_same_thing(
    plumbing: Plumbing, who: Subject, outcome: str, status: int
) -> None:
    key, body = _key(), {"name": "a", "outcome": outcome}
    async with plumbing.client(who) as client:
        answers = [await client.post("/v1/orders", json=body, headers=key) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [status, status]
    assert len(shop.effects) == 2
    assert len(set(shop.effects)) == 1


async def test_a_lease_that_passed_is_taken_over_and_the_sleeper_keeps_nothing(
    plumbing: Plumbing, who: Subject, database: Database
) -> None:
    key = _key()
    shop.may_finish.clear()
    async with plumbing.client(who) as client:
        sleeper = asyncio.create_task(client.post("/v1/orders", json={"name": "a"}, headers=key))
        await shop.begun.get()
        await _set(database, who.tenant, "lease_until = now() - interval '1 second'")
        other_body = await client.post("/v1/orders", json={"name": "b"}, headers=key)
        successor = asyncio.create_task(client.post("/v1/orders", json={"name": "a"}, headers=key))
        await shop.begun.get()
        shop.may_finish.set()
        answers = await asyncio.gather(sleeper, successor)
        again = await client.post("/v1/orders", json={"name": "a"}, headers=key)
    assert other_body.status_code == 422
    assert {answer.json()["id"] for answer in (*answers, again)} == {shop.effects[0]}
    assert len(set(shop.effects)) == 1


async def test_a_request_that_takes_long_keeps_its_lease(who: Subject, database: Database) -> None:
    key, keyring = _key(), Keyring(MasterKey(b"m" * 32), database)
    shop.effects.clear()
    shop.may_finish.clear()
    plumbing = Plumbing(router, database=database, keyring=keyring)
    plumbing.app.state.idempotency = Idempotency(database, keyring, renewed_every_s=0.05)
    async with plumbing.client(who) as client:
        slow = asyncio.create_task(client.post("/v1/orders", json={"name": "a"}, headers=key))
        await shop.begun.get()
        await _set(database, who.tenant, "lease_until = now() + interval '1 second'")
        async with asyncio.timeout(5):
            while await _lease_s(database, who.tenant) < 25:
                pass
        meanwhile = await client.post("/v1/orders", json={"name": "a"}, headers=key)
        shop.may_finish.set()
        first = await slow
    assert (meanwhile.status_code, first.status_code) == (409, 201)
    assert meanwhile.json()["error"]["code"] == "idempotency_in_progress"
    assert len(shop.effects) == 1


async def test_a_secret_is_told_again_once_and_never_a_third_time(
    plumbing: Plumbing, who: Subject, database: Database
) -> None:
    key = _key()
    async with plumbing.client(who) as client:
        first, second, third = [await client.post("/v1/secrets", headers=key) for _ in range(3)]
    assert first.json() == second.json()
    assert second.headers["idempotent-replayed"] == "true"
    assert (third.status_code, third.json()["error"]["code"]) == (409, "idempotency_answer_erased")
    assert len(shop.effects) == 1


async def test_a_secret_is_not_told_after_ten_minutes(
    plumbing: Plumbing, who: Subject, database: Database
) -> None:
    key = _key()
    async with plumbing.client(who) as client:
        await client.post("/v1/secrets", headers=key)
        async with database.transaction(who.tenant) as session:
            kept = await session.scalar(
                text("SELECT round(EXTRACT(epoch FROM response_until - now())) FROM eai.idempotency_records")
            )
        await _set(database, who.tenant, "response_until = now() - interval '1 second'")
        late = await client.post("/v1/secrets", headers=key)
    assert kept == 600
    assert (late.status_code, late.json()["error"]["code"]) == (409, "idempotency_answer_erased")
    assert len(shop.effects) == 1


async def test_after_a_day_a_key_is_new(plumbing: Plumbing, who: Subject, database: Database) -> None:
    key = _key()
    async with plumbing.client(who) as client:
        first = await client.post("/v1/orders", json={"name": "a"}, headers=key)
        await _set(database, who.tenant, "expires_at = now() - interval '1 second'")
        second = await client.post("/v1/orders", json={"name": "b"}, headers=key)
    assert (second.status_code, second.json()["name"]) == (201, "b")
    assert first.json()["id"] != second.json()["id"]


async def test_answers_lie_sealed_for_their_slot(
    plumbing: Plumbing, who: Subject, database: Database
) -> None:
    async with plumbing.client(who) as client:
        await client.post("/v1/secrets", headers={"idempotency-key": "one"})
        await client.post(
            "/v1/orders", json={"name": "the secret sentence"}, headers={"idempotency-key": "two"}
        )
        async with database.transaction(who.tenant) as session:
            rows = (
                (await session.execute(text("SELECT response FROM eai.idempotency_records"))).scalars().all()
            )
            await session.execute(
                text(
                    "UPDATE eai.idempotency_records r SET response = o.response"
                    " FROM eai.idempotency_records o WHERE r.key = 'two' AND o.key = 'one'"
                )
            )
        moved = await client.post(
            "/v1/orders", json={"name": "the secret sentence"}, headers={"idempotency-key": "two"}
        )
    assert len(rows) == 2
    assert all(b"secret sentence" not in row for row in rows)
    assert moved.status_code == 409


async def test_a_replay_is_authorised_like_the_request(plumbing: Plumbing, who: Subject) -> None:
    key = _key()
    async with plumbing.client(who) as client:
        first = await client.post("/v1/knowledge-bases/kb_gone/orders", headers=key)
        again = await client.post("/v1/knowledge-bases/kb_gone/orders", headers=key)
        plumbing.keys.known = {k: subject(tenant=who.tenant) for k in plumbing.keys.known}
        without_scope = await client.post("/v1/knowledge-bases/kb_gone/orders", headers=key)
    assert first.status_code == 201
    assert (again.status_code, again.json()["error"]["code"]) == (404, "not_found")
    assert without_scope.status_code == 403
    assert shop.effects == ["kb_gone"]


async def test_a_form_is_the_same_whatever_its_boundary(plumbing: Plumbing, who: Subject) -> None:
    key = _key()
    async with plumbing.client(who) as client:
        posts = [
            await client.post("/v1/uploads", data={"title": title}, files={"file": content}, headers=key)
            for title, content in (
                ("a", b"x" * 70_000),
                ("a", b"x" * 70_000),
                ("a", b"y" * 70_000),
                ("b", b"x"),
            )
        ]
    assert [answer.status_code for answer in posts] == [201, 201, 422, 422]
    assert posts[1].headers["idempotent-replayed"] == "true"
    assert shop.effects == ["upload"]


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 256])
async def test_a_key_is_1_to_255_visible_characters(plumbing: Plumbing, who: Subject, key: str) -> None:
    async with plumbing.client(who) as client:
        answer = await client.post(
            "/v1/orders", json={"name": "a"}, headers=[("idempotency-key", key.encode())]
        )
    assert answer.status_code == 422
    assert answer.json()["error"]["details"]["fields"][0]["path"] == "Idempotency-Key"
    assert shop.effects == []


async def test_operations_that_change_nothing_ignore_the_key(plumbing: Plumbing, who: Subject) -> None:
    key = _key()
    async with plumbing.client(who) as client:
        counts = [(await client.post("/v1/searches", headers=key)).json()["count"] for _ in range(2)]
    assert counts == [1, 2]


async def test_what_is_past_its_time_is_erased(plumbing: Plumbing, who: Subject, database: Database) -> None:
    async with plumbing.client(who) as client:
        await client.post("/v1/secrets", headers={"idempotency-key": "one"})
        await client.post("/v1/orders", json={"name": "a"}, headers={"idempotency-key": "two"})
    await _set(database, who.tenant, "response_until = now() WHERE key = 'one'")
    await _set(database, who.tenant, "expires_at = now() WHERE key = 'two'")
    async with database.transaction(who.tenant) as session:
        await erase_expired(session)
        rows = (await session.execute(text("SELECT key, response FROM eai.idempotency_records"))).all()
    assert rows == [("one", None)]
