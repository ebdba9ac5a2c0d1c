"""Every operation, with every id that it takes replaced by one that its caller may not know of."""

import pytest

from tests.api.matrix.answers import code_of, told, told_without_body
from tests.api.matrix.operations import EVERYBODYS, Operation, Place, operations
from tests.api.matrix.requests import Request
from tests.api.matrix.world import Things, World, missing
from tests.stack import Caller

pytestmark = pytest.mark.usefixtures("theirs_untouched")

PLACES = [(op, place) for op in operations().values() for place in op.places() if place.kind != "cursor"]
every_id = pytest.mark.parametrize(
    ("operation", "place"), PLACES, ids=[f"{op.name}-{place}" for op, place in PLACES]
)
IN_PATH = [(op, place) for op, place in PLACES if place.part == "path" and place.kind not in EVERYBODYS]
every_id_in_a_path = pytest.mark.parametrize(
    ("operation", "place"), IN_PATH, ids=[f"{op.name}-{place}" for op, place in IN_PATH]
)

NESTED = [op for op in operations().values() if len(op.parameters("path")) > 1]

NONSENSE = (
    "nonsense", "kb_no-such-alias", "%2e%2e", "..%2f..", "' OR 1=1 --", "%00", "1" * 300, "\u0660" * 32,
    "00000000-0000-0000-0000-000000000000", "%ed%a0%80",
)  # fmt: skip

REFUSED_IN_PATHS = (404, "not_found")
REFUSED_MODELS = {"path": (404, "model_not_found"), "body": (422, "invalid_input")}
REFUSED_ELSEWHERE = {
    "create_knowledge_base": (422, "principal_unknown"),
    "set_knowledge_base_acl": (422, "principal_unknown"),
    "explain_knowledge_base_access": (422, "principal_unknown"),
    "create_document": (422, "principal_unknown"),
    "replace_document": (422, "principal_unknown"),
    "set_document_acl": (422, "principal_unknown"),
    "create_principal": (422, "principal_unknown"),
    "update_principal": (422, "principal_unknown"),
    "set_group_members": (422, "principal_unknown"),
    "create_api_key": (422, "principal_unknown"),
    "set_quota": (422, "owner_unknown"),
    "create_retention_policy": (422, "invalid_input"),
    "create_erasure": (422, "principal_unknown"),
    "place_legal_hold": (422, "invalid_input"),
    "create_source_connector": (422, "principal_unknown"),
    "update_source_connector": (422, "principal_unknown"),
    "create_model": (422, "invalid_input"),
    "update_model": (422, "invalid_input"),
    "create_provider_endpoint": (422, "invalid_input"),
    "update_provider_endpoint": (422, "invalid_input"),
}
REFUSED_SOURCES = {
    "create_document": (422, "source_connector_unknown"),
    # Whatever it names: a document stays where it came from.
    "replace_document": (422, "invalid_input"),
}
LEFT_OUT = {"assemble_context"}
"""A passage that is not there is left out of what is answered, and only its place in the request is told."""
TAKES_ANYTHING = {"validate_contract"}
"""No body is wrong there: the answer says what is wrong with it."""
LISTED_BY = {"list_api_keys"}
"""An unknown id that only filters a list leaves the list empty."""


def asker(world: World, operation: Operation) -> Caller:
    return world.stack.operator if operation.is_for_operators else world.mine.admin


def foreign(place: Place, their: Things) -> list[str]:
    ways = {
        "base": [their.base, their.alias, their.base.upper(), their.base.replace("-", "")],
        "reference": [their.reference, f"group:{their.group}"],
        "owner": [f"group:{their.group}", f"knowledge_base:{their.base}"],
        "connector": [their.connector, their.connector_id],
        "switch": [f"model:{their.model}"],
        # Operators may know of every endpoint and every tenant.
        "endpoint": [their.provider] if place.part == "body" else [],
        "tenant": [],
        "model": [],
        # The product's own, and the same for everybody.
        "contract": [],
    }
    return ways[place.kind] if place.kind in ways else [str(getattr(their, place.kind))]


def absent(place: Place) -> str:
    match place.kind:
        case "reference":
            return f"service:{missing()}"
        case "owner":
            return f"group:{missing()}"
        case "model":
            return "no-such-model"
        case _:
            return missing()


@every_id
async def test_a_foreign_and_a_missing_id_are_told_alike(
    world: World, operation: Operation, place: Place
) -> None:
    caller, valid = asker(world, operation), Request.of(operation, world.my)
    unknown = await valid.put(place, absent(place)).sent(caller)
    if operation.name in LISTED_BY:
        assert (unknown.status_code, unknown.json()["data"]) == (200, [])
    elif operation.name in LEFT_OUT:
        left_out = [{"passage": 0, "reason": "unavailable"}]
        assert (unknown.json()["segments"], unknown.json()["left_out"]) == ([], left_out)
    elif place.kind == "model":
        assert code_of(unknown) == REFUSED_MODELS[place.part]
    elif place.part == "path":
        assert code_of(unknown) == REFUSED_IN_PATHS
    elif place.kind == "connector":
        assert code_of(unknown) == REFUSED_SOURCES[operation.name]
    else:
        assert code_of(unknown) == REFUSED_ELSEWHERE[operation.name]
    for value in foreign(place, world.their):
        assert told(await valid.put(place, value).sent(caller)) == told(unknown), value


@every_id_in_a_path
async def test_conditions_ranges_and_keys_tell_nothing_of_a_foreign_id(
    world: World, operation: Operation, place: Place
) -> None:
    caller, valid = asker(world, operation), Request.of(operation, world.my)
    tag = (await world.theirs.admin.get(f"/v1/knowledge-bases/{world.their.base}")).headers["etag"]
    for headers in (
        {"if-none-match": f"*, {tag}", "range": "bytes=0-1"},
        {"if-match": tag, "idempotency-key": missing(), "prefer": "respond-async"},
        {"if-match": '"1-0123456789abcdef"', "accept": "text/plain"},
    ):
        unknown = await valid.put(place, missing()).sent(caller, **headers)
        assert code_of(unknown) == REFUSED_IN_PATHS
        for value in foreign(place, world.their):
            assert told(await valid.put(place, value).sent(caller, **headers)) == told(unknown), headers
    if operation.method == "GET":
        unknown = await valid.put(place, missing()).sent(caller, method="HEAD")
        assert unknown.status_code == 404
        for value in foreign(place, world.their):
            answer = await valid.put(place, value).sent(caller, method="HEAD")
            assert told_without_body(answer) == told_without_body(unknown)


@every_id_in_a_path
async def test_what_is_no_id_is_told_what_a_missing_one_is_told(
    world: World, operation: Operation, place: Place
) -> None:
    caller, valid = asker(world, operation), Request.of(operation, world.my)
    unknown = told(await valid.put(place, missing()).sent(caller))
    for value in NONSENSE:
        assert told(await valid.put(place, value).sent(caller)) == unknown, value


@pytest.mark.parametrize("operation", NESTED, ids=[op.name for op in NESTED])
async def test_ids_that_are_foreign_together_are_missing(world: World, operation: Operation) -> None:
    valid, their = Request.of(operation, world.my), Request.of(operation, world.their)
    nothing = Request(operation, {name: missing() for name in valid.path}, valid.query, valid.body)
    foreign_path = Request(operation, their.path, valid.query, valid.body)
    caller = asker(world, operation)
    assert told(await foreign_path.sent(caller)) == told(await nothing.sent(caller))


DEEP = [op for op in operations().values() if "/documents/{document}" in op.path]


@pytest.mark.parametrize("operation", DEEP, ids=[op.name for op in DEEP])
async def test_a_thing_is_found_only_where_it_belongs(world: World, operation: Operation) -> None:
    """My own document is not in my other base, nor is my own passage in my other document."""
    other_base = await world.mine.base()
    other_document = await world.mine.document(world.my.base, f"Other words: {missing()}.")
    caller, valid = world.mine.admin, Request.of(operation, world.my)
    for place, elsewhere in (
        (Place("path", ("base",)), other_base),
        (Place("path", ("document",)), other_document),
    ):
        if place.name == "document" and "{chunk}" not in operation.path:
            continue
        unknown = await valid.put(place, missing()).sent(caller)
        assert code_of(unknown) == REFUSED_IN_PATHS
        assert told(await valid.put(place, elsewhere).sent(caller)) == told(unknown)


WITH_BODY = [(op, place) for op, place in IN_PATH if op.takes_a_body and op.name not in TAKES_ANYTHING]


@pytest.mark.parametrize(
    ("operation", "place"), WITH_BODY, ids=[f"{op.name}-{place}" for op, place in WITH_BODY]
)
async def test_input_is_judged_before_the_id(world: World, operation: Operation, place: Place) -> None:
    caller, valid = asker(world, operation), Request.of(operation, world.my)
    unknown = await valid.put(place, missing()).spoilt().sent(caller)
    assert code_of(unknown) == (422, "invalid_input")
    for value in [*foreign(place, world.their), "nonsense"]:
        assert told(await valid.put(place, value).spoilt().sent(caller)) == told(unknown), value
    assert told(await valid.spoilt().sent(caller)) == told(unknown)


async def test_the_tries_are_on_record_here_and_name_nothing_of_theirs(world: World) -> None:
    await Request.of(operations()["get_document"], world.their).sent(world.mine.admin)
    found = await world.mine.admin.got("/v1/audit/events", action="access.denied", limit=200)
    assert found["data"]
    export = (await world.mine.admin.get("/v1/audit/export")).text
    assert "access.denied" in export
    their_ids = {str(value) for value in vars(world.their).values() if isinstance(value, str)}
    assert [value for value in their_ids if value in export or value in str(found)] == []
