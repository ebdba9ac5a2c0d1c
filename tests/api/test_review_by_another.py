"""Four eyes over HTTP: whoever ever held a secret of who submitted a text does not decide on it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import psycopg
import pytest

from tests.api.test_review_routes import HANDBOOK, code_of, decide, held
from tests.conftest import DatabaseUrls
from tests.stack import Caller, Company, Json, Person, Stack

ROBOT: Json = {"kind": "service", "clearance": "internal", "roles": ["tenant_admin", "member"]}
REFUSED = (403, "self_review_forbidden")


@dataclass(frozen=True)
class Scene:
    """A tenant in which one steward administers principals, and another does not."""

    stack: Stack
    company: Company
    both: Person
    steward: Person
    base: str

    async def robot(self, maker: Caller, name: str) -> str:
        """The id of a new service without a key."""
        return str((await maker.made("/v1/principals", {**ROBOT, "name": name}))["id"])

    async def key(self, maker: Caller, robot: str) -> Json:
        """A new key of the service, with its secret."""
        return await maker.made("/v1/api-keys", {"principal_id": robot})

    async def made(self, maker: Caller, name: str) -> tuple[str, Caller]:
        """A new service, and a client that has a key of it which its maker made."""
        robot = await self.robot(maker, name)
        return robot, self.stack.caller((await self.key(maker, robot))["api_key"])

    async def rotated(self, by: Caller, key: str) -> Caller:
        """A client that has the new secret of a key."""
        answer = await by.made(f"/v1/api-keys/{key}/rotate", {}, status=200)
        return self.stack.caller(answer["api_key"])

    async def submitted(self, caller: Caller, text: str = HANDBOOK) -> str:
        """A document of whoever calls, which waits."""
        return await held(caller, self.base, text)

    async def delete(self, robot: str) -> None:
        answer = await self.both.api.delete(f"/v1/principals/{robot}")
        assert answer.status_code == 204, answer.text


@pytest.fixture
async def scene(stack: Stack, company: Company) -> Scene:
    both = await company.person("tenant_admin", "data_steward", "member", clearance="confidential")
    steward = await company.person("data_steward", clearance="confidential")
    return Scene(stack, company, both, steward, await company.base("tenant:*"))


async def their_own_deleted(scene: Scene) -> str:
    robot, caller = await scene.made(scene.both.api, "robot")
    document = await scene.submitted(caller)
    await scene.delete(robot)
    return document


async def anothers_with_a_key_of_theirs_deleted(scene: Scene) -> str:
    robot = await scene.robot(scene.company.admin, "robot")
    caller = scene.stack.caller((await scene.key(scene.both.api, robot))["api_key"])
    document = await scene.submitted(caller)
    await scene.delete(robot)
    return document


async def anothers_with_a_key_of_theirs_revoked(scene: Scene) -> str:
    robot = await scene.robot(scene.company.admin, "robot")
    key = await scene.key(scene.both.api, robot)
    document = await scene.submitted(scene.stack.caller(key["api_key"]))
    assert (await scene.both.api.delete(f"/v1/api-keys/{key['id']}")).status_code == 204
    return document


async def anothers_with_a_key_that_they_rotated(scene: Scene) -> str:
    robot = await scene.robot(scene.company.admin, "robot")
    key = await scene.key(scene.company.admin, robot)
    return await scene.submitted(await scene.rotated(scene.both.api, key["id"]))


async def two_makers_on(scene: Scene) -> str:
    _, first = await scene.made(scene.both.api, "first")
    _, second = await scene.made(first, "second")
    return await scene.submitted(second)


async def two_makers_on_with_the_first_deleted(scene: Scene) -> str:
    robot, first = await scene.made(scene.both.api, "first")
    _, second = await scene.made(first, "second")
    await scene.delete(robot)
    return await scene.submitted(second)


async def three_makers_on(scene: Scene) -> str:
    _, first = await scene.made(scene.both.api, "first")
    _, second = await scene.made(first, "second")
    _, third = await scene.made(second, "third")
    return await scene.submitted(third)


async def behind_two_that_hold_each_other(scene: Scene) -> str:
    robot = await scene.robot(scene.both.api, "first")
    key = await scene.key(scene.both.api, robot)
    _, second = await scene.made(scene.stack.caller(key["api_key"]), "second")
    await scene.rotated(second, key["id"])
    return await scene.submitted(second)


@pytest.mark.parametrize(
    "submits",
    [
        their_own_deleted,
        anothers_with_a_key_of_theirs_deleted,
        anothers_with_a_key_of_theirs_revoked,
        anothers_with_a_key_that_they_rotated,
        two_makers_on,
        two_makers_on_with_the_first_deleted,
        three_makers_on,
        behind_two_that_hold_each_other,
    ],
)
async def test_nobody_decides_on_what_they_could_have_submitted_under_another_name(
    scene: Scene, submits: Callable[[Scene], Awaitable[str]]
) -> None:
    document = await submits(scene)
    for decision in ("release", "redact", "reject"):
        assert code_of(await decide(scene.both, scene.base, document, decision)) == REFUSED
    decided = await decide(scene.steward, scene.base, document, "reject")
    assert (decided.status_code, decided.json()["status"]) == (200, "rejected")


async def test_the_first_administrator_from_whom_everybody_comes_decides_on_nothing(scene: Scene) -> None:
    _, caller = await scene.made(scene.both.api, "robot")
    document = await scene.submitted(caller)
    founder = Person("", "", scene.company.admin)
    assert code_of(await decide(founder, scene.base, document, "reject")) == REFUSED
    assert (await decide(scene.steward, scene.base, document, "reject")).status_code == 200


async def test_what_a_steward_has_made_decides_no_less_than_others_but_not_on_its_own(scene: Scene) -> None:
    """Whoever holds a secret is behind a principal, and not the other way about."""
    robot = {**ROBOT, "name": "robot", "roles": ["data_steward", "member"], "clearance": "confidential"}
    made = await scene.both.api.made("/v1/principals", robot)
    key = await scene.key(scene.both.api, made["id"])
    below = Person(made["id"], f"service:{made['id']}", scene.stack.caller(key["api_key"]))
    document = await scene.submitted(scene.both.api)
    assert (await decide(below, scene.base, document, "reject")).status_code == 200


async def test_of_a_submitter_that_is_gone_without_a_record_nobody_can_tell_who_was_behind_it(
    scene: Scene, stack_urls: DatabaseUrls
) -> None:
    robot, caller = await scene.made(scene.company.admin, "robot")
    document = await scene.submitted(caller)
    forget = "DELETE FROM eai.principal_secret_holders WHERE principal_id = %s"
    with psycopg.connect(stack_urls.admin) as admin:
        admin.execute(forget, [robot])
    assert (await decide(scene.both, scene.base, document, "reject")).status_code == 200
    again = await scene.submitted(caller, f"{HANDBOOK} Again.")
    await scene.delete(robot)
    assert code_of(await decide(scene.steward, scene.base, again, "reject")) == REFUSED
