"""Which operations exist without a caller, and what every other one promises."""

import pkgutil
from collections.abc import Iterator

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import Route

import eai.api.v1
from eai.api.governed_route import GovernedRoute
from eai.api.openapi import describe
from eai.api.v1 import routers
from tests.fakes.platform import Plumbing

PUBLIC = {"healthz", "readyz", "metrics"}
"""Operations that anybody may call; `metrics` lets in this machine, and asks all others itself."""

PAGES = {"/docs", "/docs/docs.css", "/docs/docs.js", "/docs/errors", "/docs/errors/{code}", "/openapi.json"}
"""What is no operation: pages that hold nothing of any tenant."""

OWN_KEYS = {"create_api_key", "list_api_keys", "get_api_key", "rotate_api_key", "revoke_api_key"}
FORMS = {"list_contracts", "get_contract", "validate_contract"}
WITHOUT_SCOPE = {"get_me", "get_job", "follow_job", *OWN_KEYS, *FORMS}
"""What any credential opens; the service looks at whose key or job it is, and forms are everybody's."""


def _routes() -> list[GovernedRoute]:
    found = [route for router in routers() for route in router.routes]
    assert [route for route in found if not isinstance(route, GovernedRoute)] == []
    return [route for route in found if isinstance(route, GovernedRoute)]


def _dependants(dependant: Dependant) -> Iterator[Dependant]:
    yield dependant
    for inner in dependant.dependencies:
        yield from _dependants(inner)


def test_the_public_operations_are_these() -> None:
    assert {route.name for route in _routes() if route.requirement is None} == PUBLIC


def test_nothing_else_is_served() -> None:
    app = Plumbing(*routers()).app
    others = [route for route in app.routes if not isinstance(route, GovernedRoute)]
    assert {route.path for route in others if isinstance(route, Route)} == PAGES
    assert [route for route in others if not isinstance(route, Route) or isinstance(route, APIRoute)] == []


def test_every_module_of_routes_is_assembled() -> None:
    modules = {module.name for module in pkgutil.iter_modules(eai.api.v1.__path__)}
    assembled = {route.endpoint.__module__.rpartition(".")[2] for route in _routes()}
    assert modules == assembled


def test_every_operation_has_a_name_of_its_own_and_a_text() -> None:
    names = [route.name for route in _routes()]
    assert sorted({name for name in names if names.count(name) > 1}) == []
    assert [route.name for route in _routes() if not (route.endpoint.__doc__ or "").strip()] == []


def test_every_operation_lies_under_the_version_but_the_operational_ones() -> None:
    assert [
        route.path for route in _routes() if not route.path.startswith("/v1/") and route.name not in PUBLIC
    ] == []


def test_every_operation_that_is_not_public_says_what_opens_it() -> None:
    document = describe(_routes())
    operations = {
        operation["operationId"]: operation
        for path in document["paths"].values()
        for operation in path.values()
    }
    unguarded = {name for name, operation in operations.items() if not operation["security"]}
    assert unguarded <= PUBLIC
    assert {name for name, op in operations.items() if op.get("x-required-scope") == []} <= WITHOUT_SCOPE


def test_no_operation_waits_for_a_thread() -> None:
    """A sync endpoint or dependency runs in a pool of threads, at a cost and without our context."""
    slow = [
        (route.name, dependant.call)
        for route in _routes()
        for dependant in _dependants(route.dependant)
        if not _is_coroutine(dependant.call)
    ]
    assert slow == []


def _is_coroutine(call: object) -> bool:
    code = getattr(call, "__code__", None) or getattr(type(call).__call__, "__code__", None)
    return bool(code and code.co_flags & 0x280)


BY_SCOPE_ALONE = {"review_document"}
"""The scope opens these, which is looked at again, and no access list; they answer the caller's own word."""


def test_an_operation_on_a_base_under_a_key_is_authorised_again_for_its_replay() -> None:
    keyed = [route for route in _routes() if "{base}" in route.path and route.replay.value]
    unguarded = {r.name for r in keyed if r.requirement is None or r.requirement.base is None}
    assert unguarded == BY_SCOPE_ALONE
