"""Every operation, asked by everybody who may not."""

import pytest

from tests.api.matrix.answers import code_of, told
from tests.api.matrix.operations import Operation, operations
from tests.api.matrix.requests import Request
from tests.api.matrix.world import World, missing

pytestmark = pytest.mark.usefixtures("theirs_untouched")

every_operation = pytest.mark.parametrize("operation", operations().values(), ids=operations())
every_scoped_operation = pytest.mark.parametrize(
    "operation",
    [op for op in operations().values() if op.scopes],
    ids=[n for n, op in operations().items() if op.scopes],
)
reads = [op for op in operations().values() if op.method == "GET"]
tenant_operations = [op for op in operations().values() if op.scopes and "platform:admin" not in op.scopes]


@every_operation
async def test_a_credential_that_opens_nothing_is_told_what_none_is_told(
    world: World, operation: Operation
) -> None:
    valid = Request.of(operation, world.my)
    strangers = (await world.strangers.with_fresh_keys(world.mine, world.stack)).all()
    answers = {name: await valid.sent(caller) for name, caller in strangers.items()}
    for name in ("nobody", "revoked", "unknown"):
        caller = strangers[name]
        answers[f"{name}, with a bad body"] = await valid.spoilt().sent(caller)
        answers[f"{name}, with an unreadable body"] = await valid.sent_unreadable(caller)
    assert code_of(answers["nobody"]) == (401, "unauthenticated")
    assert answers["nobody"].headers["www-authenticate"] == "Bearer"
    first = told(answers["nobody"])
    assert {name: told(answer) for name, answer in answers.items()} == dict.fromkeys(answers, first)


@pytest.mark.parametrize("operation", reads, ids=[op.name for op in reads])
async def test_a_stranger_asking_with_head_is_a_stranger(world: World, operation: Operation) -> None:
    answer = await Request.of(operation, world.my).sent(world.strangers.nobody, method="HEAD")
    assert (answer.status_code, answer.content) == (401, b"")


@every_scoped_operation
async def test_every_scope_but_the_needed_one_is_not_enough(world: World, operation: Operation) -> None:
    narrow = await world.without(frozenset(operation.scopes))
    valid = Request.of(operation, world.my)
    requests = (valid, valid.spoilt(), Request.of(operation, world.their))
    for answer in [
        *[await request.sent(narrow) for request in requests],
        await valid.sent_unreadable(narrow),
    ]:
        assert code_of(answer) == (403, "scope_missing")
        assert answer.json()["error"]["details"]["scopes"] == operation.scopes


@pytest.mark.parametrize("operation", tenant_operations, ids=[op.name for op in tenant_operations])
async def test_a_platform_operator_has_no_part_in_tenants(world: World, operation: Operation) -> None:
    valid = Request.of(operation, world.my)
    operator = world.stack.operator
    for answer in (
        await valid.sent(operator),
        await valid.spoilt().sent(operator),
        await valid.sent_unreadable(operator),
    ):
        assert code_of(answer) == (403, "tenant_required")


async def test_a_platform_operator_sees_its_own_keys_only(world: World) -> None:
    operator = world.stack.operator
    own = {key["id"] for key in (await operator.got("/v1/api-keys"))["data"]}
    assert world.my.key not in own
    for name in ("get_api_key", "revoke_api_key", "rotate_api_key"):
        request = Request.of(operations()[name], world.my)
        absent = Request(request.operation, {**request.path, "key": missing()}, {}, request.body)
        assert told(await request.sent(operator)) == told(await absent.sent(operator))
        assert code_of(await request.sent(operator)) == (404, "not_found")
    minted = await Request.of(operations()["create_api_key"], world.my).sent(operator)
    assert minted.status_code in {403, 422}
