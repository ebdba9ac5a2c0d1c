"""Every operation of the API in one line each, from its OpenAPI document."""

from collections.abc import Iterator, Mapping
from typing import Any

from eai.api.openapi import describe
from eai.api.v1 import routers
from eai.cli.reference.tables import page, table

_PREFACE = """\
Every field is described in [`contracts/v1/openapi.json`](../../contracts/v1/openapi.json), which a running
instance shows at `/docs`. This is the list of what there is. The scope opens the operation; a
knowledge base's own access list decides about the base: [grant access](../how-to/grant-access.md).

A credential is `Authorization: Bearer <key>` or `X-API-Key: <key>`. Refusals are described under
[error codes](errors.md)."""

_METHODS = ("get", "post", "put", "patch", "delete")

_TITLES = {"openai": "OpenAI's form"}


def operations_page() -> str:
    """docs/reference/http.md."""
    document = describe([route for router in routers() for route in router.routes])
    return page("HTTP operations", _PREFACE, _sections(document["paths"]))


def _sections(paths: Mapping[str, Any]) -> Iterator[str]:
    found = [
        (operation["tags"][0], f"`{method.upper()} {path}`", _scope(operation), _sentence(operation))
        for path, item in paths.items()
        for method in _METHODS
        if (operation := item.get(method))
    ]
    for tag in dict.fromkeys(entry[0] for entry in found):
        rows = [row for name, *row in found if name == tag]
        yield f"## {_TITLES.get(tag, tag.capitalize())}\n\n" + table(
            ("operation", "scope", "what it does"), rows
        )


def _scope(operation: Mapping[str, Any]) -> str:
    scopes = operation.get("x-required-scope")
    if scopes is None:
        return "open to anybody"
    if not scopes:
        return "any key"
    joint = " or " if operation.get("x-required-scope-match") == "any" else " and "
    return joint.join(f"`{scope}`" for scope in scopes)


def _sentence(operation: Mapping[str, Any]) -> str:
    """The first paragraph of the description, on one line."""
    return " ".join(operation["description"].split("\n\n")[0].split())
