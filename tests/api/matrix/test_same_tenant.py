"""Every operation, asked by colleagues: on no access list, not cleared, or with too little in a base."""

import pytest

from tests.api.matrix.answers import code_of, told
from tests.api.matrix.operations import Operation, Place, operations
from tests.api.matrix.requests import Request
from tests.api.matrix.world import World, missing

PATHS = [(op, place) for op in operations().values() for place in op.places() if place.part == "path"]


def ids(*names: str, but: str | None = None) -> pytest.MarkDecorator:
    """The operations that take such ids in their path; without those that the scope `but` opens."""
    chosen = [(op, place) for op, place in PATHS if place.name in names and but not in op.scopes]
    return pytest.mark.parametrize(
        ("operation", "place"), chosen, ids=[f"{op.name}-{place}" for op, place in chosen]
    )


@ids("document", "chunk", "receipt")
async def test_what_lies_above_the_clearance_does_not_exist(
    world: World, operation: Operation, place: Place
) -> None:
    assert world.my.hidden is not None
    hidden, caller = Request.of(operation, world.my.hidden), world.uncleared.api
    unknown = await hidden.put(place, missing()).sent(caller)
    assert code_of(unknown) == (404, "not_found")
    assert told(await hidden.sent(caller)) == told(unknown)
    spoilt = [await request.spoilt().sent(caller) for request in (hidden, hidden.put(place, missing()))]
    assert told(spoilt[0]) == told(spoilt[1])


@ids("base", "receipt", but="steward:review")
async def test_a_base_whose_list_does_not_name_one_does_not_exist(
    world: World, operation: Operation, place: Place
) -> None:
    listed, caller = Request.of(operation, world.my), world.unlisted.api
    unknown = await listed.put(place, missing()).sent(caller)
    assert code_of(unknown) == (404, "not_found")
    assert told(await listed.sent(caller)) == told(unknown)
    if place.name == "base":
        assert told(await listed.put(place, world.my.alias).sent(caller)) == told(unknown)


@ids("key")
async def test_another_principals_key_does_not_exist(
    world: World, operation: Operation, place: Place
) -> None:
    others, caller = Request.of(operation, world.my), world.unlisted.api
    unknown = await others.put(place, missing()).sent(caller)
    assert code_of(unknown) == (404, "not_found")
    assert told(await others.sent(caller)) == told(unknown)


NEEDS_MORE = {
    "update_knowledge_base", "delete_knowledge_base", "get_knowledge_base_acl", "set_knowledge_base_acl",
    "explain_knowledge_base_access", "create_document", "update_document", "delete_document",
    "set_document_acl", "reindex_knowledge_base", "list_reindex_jobs", "get_reindex_job",
    "cancel_reindex_job", "roll_back_reindex_job",
}  # fmt: skip


@pytest.mark.parametrize("operation", [operations()[n] for n in sorted(NEEDS_MORE)], ids=sorted(NEEDS_MORE))
async def test_a_reader_is_told_what_it_lacks_before_anything_else(
    world: World, operation: Operation
) -> None:
    valid, caller = Request.of(operation, world.my), world.reader.api
    stale = {"if-match": '"0-0123456789abcdef"'}
    assert code_of(await valid.sent(caller)) == (403, "permission_missing")
    assert code_of(await valid.sent(caller, **stale)) == (403, "permission_missing")
    if operation.takes_a_body:
        assert code_of(await valid.spoilt().sent(caller)) == (422, "invalid_input")
    for place in operation.places():
        if place.part == "path":
            assert code_of(await valid.put(place, missing()).sent(caller)) == (404, "not_found")


CHANGES = [(op, place) for op, place in PATHS if op.method in {"PUT", "PATCH", "DELETE"}]


@pytest.mark.parametrize(("operation", "place"), CHANGES, ids=[f"{op.name}-{place}" for op, place in CHANGES])
async def test_a_revision_counts_last(world: World, operation: Operation, place: Place) -> None:
    stale = {"if-match": '"0-0123456789abcdef"'}
    valid = Request.of(operation, world.my)
    caller = world.stack.operator if operation.is_for_operators else world.mine.admin
    assert code_of(await valid.sent(caller, **stale)) == (412, "precondition_failed")
    unknown = await valid.put(place, missing()).sent(caller, **stale)
    assert code_of(unknown) == (404, "model_not_found" if place.kind == "model" else "not_found")


async def test_lists_and_counts_hold_nothing_that_is_hidden(world: World) -> None:
    assert world.my.hidden is not None
    base = f"/v1/knowledge-bases/{world.my.base}"
    told_to = world.uncleared.api
    documents = await told_to.got(f"{base}/documents")
    assert (documents["data"], documents["has_more"], documents["next_cursor"]) == ([], False, None)
    for held in (f"{base}/quarantine", "/v1/quarantine"):
        waiting = await told_to.got(held)
        assert (waiting["data"], waiting["has_more"], waiting["next_cursor"]) == ([], False, None)
    shown = await world.reader.api.got(base)
    assert (shown["documents_count"], shown["chunks_count"]) == (None, None)
    listed = await world.unlisted.api.got("/v1/knowledge-bases")
    assert (listed["data"], listed["has_more"]) == ([], False)
