"""Every operation of the OpenAPI document, and where each takes an id."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from eai.api.openapi import describe
from eai.api.v1 import routers

Json = dict[str, Any]

METHODS = ("get", "put", "post", "delete", "patch")
PUBLIC = {"healthz", "readyz"}

KINDS = {
    "base": "base",
    "document": "document",
    "chunk": "chunk",
    "receipt": "receipt",
    "job": "job",
    "reindex_job": "reindex_job",
    "group": "group",
    "groups": "group",
    "key": "key",
    "quota": "quota",
    "owner": "owner",
    "members": "principal",
    "principal_id": "principal",
    "principal": "principal",
    "readers": "reference",
    "name": "model",
    "embedding_model": "model",
    "endpoint": "endpoint",
    "scope": "switch",
    "policy": "policy",
    "retention_policy": "retention_policy",
    "legal_hold": "legal_hold",
    "erasure": "erasure",
    "knowledge_base_id": "base",
    "document_id": "document",
    "connector": "connector",
    "contract": "contract",
    "chunk_id": "chunk",
    "source_connector": "connector",
    # Nothing reranks yet, so nothing is looked up; the answer warns of it.
    "rerank_model": None,
    "tenant": "tenant",
    "tenants": "tenant",
    "cursor": "cursor",
    # What a source calls its own things; it names nothing of ours.
    "external_id": None,
}
"""What a field of this name refers to. A field that looks like an id and is not here fails the suite."""

MADE_BY_NAME = {("set_policy", "policy")}
"""Where an unknown name is one to be made; that it reaches nobody else's is tested with the operation."""

EVERYBODYS = {"model"}
"""Kinds whose refusal repeats the name that was asked for; foreign ones are tested with the registry."""


class Place(NamedTuple):
    """Where an id stands: `path`, `query` or `body`, and the way to it."""

    part: str
    way: tuple[str | int, ...]

    @property
    def name(self) -> str:
        return str([step for step in self.way if isinstance(step, str)][-1])

    @property
    def kind(self) -> str:
        """What the id refers to; principals are named bare in a path, and with their kind elsewhere."""
        return "reference" if self.name == "principal" and self.part != "path" else str(KINDS[self.name])

    def __str__(self) -> str:
        return ".".join([self.part, *map(str, self.way)])


@dataclass(frozen=True)
class Operation:
    """One operation as its description tells it."""

    name: str
    method: str
    path: str
    description: Json

    @property
    def scopes(self) -> list[str]:
        return list(self.description["x-required-scope"])

    @property
    def is_for_operators(self) -> bool:
        return self.scopes == ["platform:admin"]

    @property
    def takes_a_body(self) -> bool:
        return "requestBody" in self.description

    def parameters(self, where: str) -> list[Json]:
        return [p for p in self.description.get("parameters", []) if p["in"] == where]

    def places(self) -> list[Place]:
        """Every place where the operation takes an id."""
        found = [
            Place("path", (p["name"],))
            for p in self.parameters("path")
            if (self.name, p["name"]) not in MADE_BY_NAME
        ]
        found += [
            Place("query", (p["name"],)) for p in self.parameters("query") if _is_id(p["name"], p["schema"])
        ]
        for content in self.description.get("requestBody", {}).get("content", {}).values():
            found += [Place("body", way) for way in _ids(content["schema"], ())]
        return sorted(set(found), key=str)


@cache
def document() -> Json:
    """The description of the product's own routes; a test holds the running product to it."""
    return describe([route for router in routers() for route in router.routes])


@cache
def operations() -> dict[str, Operation]:
    """All but the public ones, by name."""
    found = {}
    for path, methods in document()["paths"].items():
        for method in METHODS:
            if method in methods and methods[method]["operationId"] not in PUBLIC:
                name = methods[method]["operationId"]
                found[name] = Operation(name, method.upper(), path, methods[method])
    return found


def with_id(body: Any, way: tuple[str | int, ...], value: Any) -> Any:
    """`body` with `value` at the end of `way`, which must be there."""
    changed = copy.deepcopy(body)
    inner = changed
    for step in way[:-1]:
        inner = inner[step]
    assert way[-1] in inner if isinstance(inner, dict) else len(inner) > int(way[-1])
    inner[way[-1]] = value
    return changed


def with_value(body: Any, way: tuple[str | int, ...], value: Any) -> Any:
    """`body` with `value` at `way`, whose last step may be new; None where the steps before are not there."""
    changed = copy.deepcopy(body)
    inner = changed
    for step in way[:-1]:
        is_there = (
            step in inner if isinstance(inner, dict) else isinstance(inner, list) and len(inner) > int(step)
        )
        if not is_there:
            return None
        inner = inner[step]
    inner[way[-1]] = value
    return changed


def text_places(operation: Operation) -> list[tuple[str | int, ...]]:
    """The way to every text in the operation's JSON body."""
    content = operation.description["requestBody"]["content"]["application/json"]
    return sorted(set(_leaves(content["schema"], ())), key=str)


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema behind a reference into the document. Raises KeyError for one that leads nowhere."""
    while "$ref" in schema:
        pointer = str(schema["$ref"])
        assert pointer.startswith("#/"), pointer
        target: Any = document()
        for step in pointer.removeprefix("#/").split("/"):
            target = target[step]
        schema = target
    return schema


def _ids(schema: Mapping[str, Any], way: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    schema = resolved(schema)
    for choice in [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]:
        yield from _ids(choice, way)
    if "items" in schema:
        yield from _ids(schema["items"], (*way, 0))
    for name, member in schema.get("properties", {}).items():
        yield from _ids(member, (*way, name))
    names = [step for step in way if isinstance(step, str)]
    if schema.get("type") == "string" and names and _is_id(names[-1], schema):
        yield way


def _leaves(schema: Mapping[str, Any], way: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    schema = resolved(schema)
    for choice in [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]:
        yield from _leaves(choice, way)
    if "items" in schema:
        yield from _leaves(schema["items"], (*way, 0))
    for name, member in schema.get("properties", {}).items():
        yield from _leaves(member, (*way, name))
    if schema.get("type") == "string" and way and isinstance(way[-1], str):
        yield way


def _is_id(name: str, schema: Mapping[str, Any]) -> bool:
    choices = [resolved(choice) for choice in (schema, *schema.get("anyOf", ()))]
    looks_like_one = name.endswith("_id") or any(choice.get("format") == "uuid" for choice in choices)
    if looks_like_one:
        assert name in KINDS, f"the matrix must be told what `{name}` refers to"
    # A name in a body is what somebody calls a thing; in a path it is the thing.
    return name != "name" and KINDS.get(name) is not None
