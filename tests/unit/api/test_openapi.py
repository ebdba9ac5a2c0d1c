from typing import Annotated

from fastapi import Depends
from pydantic import BaseModel

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.governed_route import GovernedRouter
from eai.api.idempotency import Replay, replay
from eai.api.openapi import describe
from eai.api.requirement import authenticated, require

Either = Annotated[Subject, Depends(require(Scope.KB_READ, Scope.MODELS_ADMIN, any_of=True))]
Anybody = Annotated[Subject, Depends(authenticated())]

router = GovernedRouter(tags=["things"])


class Thing(BaseModel):
    name: str


@router.post("/things", status_code=201)
async def create_thing(caller: Either, body: Thing) -> Thing:
    """Make a thing."""
    return body


@router.post("/things/search")
@replay(Replay.IGNORED)
async def search_things(caller: Anybody, body: Thing) -> Thing:
    """Find things."""
    return body


@router.get("/public")
async def public() -> str:
    """Nobody asks."""
    return ""


def test_each_operation_says_what_opens_it() -> None:
    paths = describe(router.routes)["paths"]
    create, search = paths["/v1/things"]["post"], paths["/v1/things/search"]["post"]
    public = paths["/v1/public"]["get"]
    assert create["security"] == search["security"] == [{"bearer": []}, {"apiKey": []}]
    assert (create["x-required-scope"], create["x-required-scope-match"]) == (
        ["kb:read", "models:admin"],
        "any",
    )
    assert (search["x-required-scope"], search["x-required-scope-match"]) == ([], "all")
    assert (public["security"], "x-required-scope" in public) == ([], False)


def test_operations_are_named_after_their_endpoints() -> None:
    paths = describe(router.routes)["paths"]
    assert paths["/v1/things"]["post"]["operationId"] == "create_thing"
    assert paths["/v1/things"]["post"]["description"] == "Make a thing."


def test_only_operations_that_keep_answers_take_an_idempotency_key() -> None:
    paths = describe(router.routes)["paths"]
    names = [parameter["name"] for parameter in paths["/v1/things"]["post"]["parameters"]]
    assert names == ["Idempotency-Key"]
    assert "parameters" not in paths["/v1/things/search"]["post"]


def test_every_refusal_is_described_as_a_problem() -> None:
    document = describe(router.routes)
    responses = document["paths"]["/v1/things"]["post"]["responses"]
    assert set(responses) == {"201", "default"}
    assert responses["default"]["content"]["application/problem+json"]["schema"] == {
        "$ref": "#/components/schemas/Problem"
    }
    assert "error" in document["components"]["schemas"]["Problem"]["properties"]
    assert set(document["components"]["securitySchemes"]) == {"bearer", "apiKey"}
