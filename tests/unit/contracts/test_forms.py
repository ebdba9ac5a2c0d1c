"""What a changed form takes away from those who write by it, and from those who read it."""

from typing import Any

import pytest

from eai.contracts.changes.forms import Comparison
from eai.contracts.ways import Way

Json = dict[str, Any]


def breaks(way: Way, before: Json, after: Json) -> list[str]:
    return list(Comparison(before, after, way).breaks(before, after, "it"))


def with_field(form: Json, *, required: bool = False) -> Json:
    return {"type": "object", "properties": {"name": form}, "required": ["name"] if required else []}


TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "number"}
WHOLE: Json = {"type": "integer"}
NULL: Json = {"type": "null"}
OPEN: Json = {"type": "object"}
CLOSED: Json = {"type": "object", "additionalProperties": False}
COLOURS: Json = {"type": "string", "enum": ["red", "green"]}
RED: Json = {"type": "string", "enum": ["red"]}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (with_field(TEXT), CLOSED, ["it: other fields are refused now", "it.name: the field is gone"]),
        (with_field(TEXT), with_field(TEXT, required=True), ["it.name: the field is required now"]),
        (
            with_field(TEXT),
            with_field(NUMBER),
            ["it.name: the type is narrower: string was accepted, now number"],
        ),
        (NUMBER, WHOLE, ["it: the type is narrower: number was accepted, now integer"]),
        ({}, TEXT, ["it: the type is narrower: anything was accepted, now string"]),
        (COLOURS, RED, ["it: the value 'green' is gone"]),
        (TEXT, RED, ["it: only 'red' are accepted now"]),
        (TEXT, {**TEXT, "maxLength": 5}, ["it: maxLength is 5 now, and was not said"]),
        ({**TEXT, "maxLength": 9}, {**TEXT, "maxLength": 5}, ["it: maxLength is 5 now, and was 9"]),
        ({**WHOLE, "minimum": 1}, {**WHOLE, "minimum": 2}, ["it: minimum is 2 now, and was 1"]),
        (TEXT, {**TEXT, "pattern": "^a"}, ["it: pattern is '^a' now, and was not said"]),
        ({"anyOf": [TEXT, NULL]}, TEXT, ["it: null is not accepted any more"]),
        (
            {"anyOf": [COLOURS, NULL]},
            {"anyOf": [RED, NULL]},
            ["it: the value 'green' is gone"],
        ),
        (
            {"patternProperties": {"^a": TEXT}},
            {"patternProperties": {"^a": NUMBER}},
            ["it[]: the type is narrower: string was accepted, now number"],
        ),
        (
            {"patternProperties": {"^a": TEXT}},
            {"patternProperties": {"^b": TEXT}},
            ["it: names match '^b' now, and matched '^a'"],
        ),
        (
            {"propertyNames": {"maxLength": 9}},
            {"propertyNames": {"maxLength": 5}},
            ["it, names: maxLength is 5 now, and was 9"],
        ),
        (
            {"type": "array", "items": TEXT},
            {"type": "array", "items": NUMBER},
            ["it[]: the type is narrower: string was accepted, now number"],
        ),
    ],
)
def test_what_clients_send_must_still_be_accepted(before: Json, after: Json, said: list[str]) -> None:
    assert breaks(Way.SENT, before, after) == said


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (with_field(TEXT, required=True), with_field(TEXT)),
        (OPEN, with_field(TEXT)),
        (CLOSED, OPEN),
        (WHOLE, NUMBER),
        (TEXT, {}),
        (RED, COLOURS),
        (RED, TEXT),
        ({**TEXT, "maxLength": 5}, {**TEXT, "maxLength": 9}),
        ({**TEXT, "pattern": "^a"}, TEXT),
        (TEXT, {"anyOf": [TEXT, NULL]}),
        ({**TEXT, "title": "Old", "description": "a"}, {**TEXT, "title": "New", "description": "b"}),
    ],
)
def test_what_accepts_more_breaks_nobody_who_sends(before: Json, after: Json) -> None:
    assert breaks(Way.SENT, before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (with_field(TEXT), OPEN, ["it.name: the field is gone"]),
        (with_field(TEXT, required=True), with_field(TEXT), ["it.name: the field may be absent by now"]),
        (WHOLE, NUMBER, ["it: the type is another one: was integer, may be number by now"]),
        (TEXT, {}, ["it: the type is another one: was string, may be anything by now"]),
        (TEXT, {"anyOf": [TEXT, NULL]}, ["it: may be null by now, which clients do not expect"]),
        (COLOURS, RED, ["it: the value 'green' is gone"]),
        ({**TEXT, "format": "uuid"}, TEXT, ["it: format was 'uuid', and is not said now"]),
    ],
)
def test_what_clients_are_answered_must_still_be_there(before: Json, after: Json, said: list[str]) -> None:
    assert breaks(Way.ANSWERED, before, after) == said


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OPEN, with_field(TEXT, required=True)),
        (with_field(TEXT), with_field(TEXT, required=True)),
        (NUMBER, WHOLE),
        (RED, COLOURS),
        ({"anyOf": [TEXT, NULL]}, TEXT),
        ({**TEXT, "maxLength": 5}, {**TEXT, "maxLength": 9}),
    ],
)
def test_what_tells_more_breaks_nobody_who_reads(before: Json, after: Json) -> None:
    assert breaks(Way.ANSWERED, before, after) == []


def test_a_form_is_followed_to_where_it_is_described() -> None:
    before = {"$defs": {"Name": {**TEXT, "maxLength": 9}}, **with_field({"$ref": "#/$defs/Name"})}
    after = {"$defs": {"Name": {**TEXT, "maxLength": 5}}, **with_field({"$ref": "#/$defs/Name"})}
    assert breaks(Way.SENT, before, after) == ["it.name: maxLength is 5 now, and was 9"]


def test_a_form_that_holds_itself_is_compared_once() -> None:
    def tree(leaf: Json) -> Json:
        node = {"type": "object", "properties": {"leaf": leaf, "next": {"$ref": "#/$defs/Node"}}}
        return {"$defs": {"Node": node}, "$ref": "#/$defs/Node"}

    assert breaks(Way.SENT, tree(TEXT), tree(NUMBER)) == [
        "it.leaf: the type is narrower: string was accepted, now number"
    ]


def test_of_several_kinds_the_one_that_is_meant_is_told() -> None:
    def kinds(most: int) -> Json:
        cat = {"title": "Cat", **with_field({**TEXT, "maxLength": most})}
        return {"oneOf": [cat, {"title": "Dog", **with_field(TEXT)}]}

    # The dog, whose name may be longer, still takes what the cat did not.
    assert breaks(Way.SENT, kinds(9), kinds(5)) == []
    before, after = kinds(9), kinds(5)
    for form in (before, after):
        form["oneOf"][0]["properties"]["kind"] = {"const": "cat", "type": "string"}
        form["oneOf"][1]["properties"]["kind"] = {"const": "dog", "type": "string"}
    assert breaks(Way.SENT, before, after) == ["it.name: maxLength is 5 now, and was 9"]
