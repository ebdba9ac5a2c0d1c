"""What a changed operation takes away from its clients."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from eai.contracts.changes.operations import broken_operations

Json = dict[str, Any]

ASKED = {"type": "object", "properties": {"query": {"type": "string"}, "top_k": {"type": "integer"}}}
TOLD = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


def content(form: Json) -> Json:
    return {"content": {"application/json": {"schema": form}}}


BEFORE: Json = {
    "paths": {
        "/v1/bases/{base}/query": {
            "post": {
                "operationId": "query_base",
                "x-required-scope": ["rag:query"],
                "x-required-scope-match": "all",
                "parameters": [
                    {"name": "base", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 200}},
                ],
                "requestBody": {"required": True, **content({"$ref": "#/components/schemas/Asked"})},
                "responses": {"200": content({"$ref": "#/components/schemas/Told"}), "202": {}},
            }
        }
    },
    "components": {"schemas": {"Asked": ASKED, "Told": TOLD}},
}
PLACE = "POST /v1/bases/{base}/query"


def changed(change: Callable[[Json, Json], Any]) -> list[str]:
    after = copy.deepcopy(BEFORE)
    change(after, after["paths"]["/v1/bases/{base}/query"]["post"])
    return list(broken_operations(BEFORE, after))


def asked(document: Json) -> Json:
    form: Json = document["components"]["schemas"]["Asked"]
    return form


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d, _: d["paths"].clear(), f"{PLACE}: the operation is gone"),
        (
            lambda d, _: d["paths"]["/v1/bases/{base}/query"].clear(),
            f"{PLACE}: the operation is gone",
        ),
        (
            lambda _, o: o.update(operationId="ask"),
            f"{PLACE}: the operation is called ask now, and was called query_base",
        ),
        (
            lambda _, o: o["x-required-scope"].append("kb:read"),
            f"{PLACE}: it takes kb:read and rag:query now, and took rag:query",
        ),
        (lambda _, o: o["parameters"].pop(), f"{PLACE}: the query parameter limit is gone"),
        (
            lambda _, o: o["parameters"][1].update(required=True),
            f"{PLACE}: the query parameter limit is required now",
        ),
        (
            lambda _, o: o["parameters"].append({"name": "X", "in": "header", "required": True}),
            f"{PLACE}: the header parameter X is required now",
        ),
        (
            lambda _, o: o["parameters"][1]["schema"].update(maximum=100),
            f"{PLACE}, query parameter limit: maximum is 100 now, and was 200",
        ),
        (lambda _, o: o.pop("requestBody"), f"{PLACE}, body: none is read any more"),
        (
            lambda d, _: asked(d).update(required=["query"]),
            f"{PLACE}, body.query: the field is required now",
        ),
        (lambda d, _: asked(d)["properties"].pop("top_k"), f"{PLACE}, body.top_k: the field is gone"),
        (
            lambda _, o: o["requestBody"]["content"].clear(),
            f"{PLACE}, body: application/json is gone",
        ),
        (
            lambda d, _: d["components"]["schemas"]["Told"]["properties"].clear(),
            f"{PLACE}, answer 200.count: the field is gone",
        ),
        (lambda _, o: o["responses"].pop("202"), f"{PLACE}: the answer 202 is gone"),
    ],
)
def test_what_breaks_is_told_in_a_sentence(change: Callable[[Json, Json], Any], said: str) -> None:
    assert changed(change) == [said]


@pytest.mark.parametrize(
    "change",
    [
        lambda *_: None,
        lambda d, _: d["paths"].update({"/v1/new": {"get": {"operationId": "new"}}}),
        lambda _, o: o["parameters"].append({"name": "q", "in": "query", "schema": {"type": "string"}}),
        lambda d, _: asked(d)["properties"].update(mode={"type": "string"}),
        lambda _, o: o["responses"].update({"204": {}}),
        lambda _, o: o.update(description="Other words."),
        lambda _, o: o["x-required-scope"].clear(),
    ],
)
def test_what_is_added_breaks_nobody(change: Callable[[Json, Json], Any]) -> None:
    assert changed(change) == []


def test_a_body_that_must_be_sent_by_now_is_told() -> None:
    before = copy.deepcopy(BEFORE)
    del before["paths"]["/v1/bases/{base}/query"]["post"]["requestBody"]
    assert list(broken_operations(before, BEFORE)) == [f"{PLACE}, body: one is required now"]
