"""Requests made up from the API's own description, half right and half wrong.

Whatever comes in, the answer is never 500, a refusal is always a problem document, and its code is one of
those promised, under the status promised for it. EAI_TEST_FUZZ_EXAMPLES makes more than the usual few.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_from_bytes

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.matrix.operations import Operation, operations, resolved
from tests.api.matrix.requests import VALID, ids_of
from tests.api.matrix.world import Things, things_of
from tests.stack import Caller, Company, Json, Stack

EXAMPLES = int(os.environ.get("EAI_TEST_FUZZ_EXAMPLES", "10"))
CONTRACT = Path(__file__).parents[2] / "contracts" / "v1" / "errors.json"
PROMISED = {error["code"]: error["status"] for error in json.loads(CONTRACT.read_text())["errors"]}

SCALARS = (
    None, True, False, 0, -1, 1, 2**31, 2**53, 2**63 - 1, -(2**63), 2**64, 0.5, -0.0, 1e308, float("nan"),
    float("inf"), "", " ", "a", "\0", "\ud800", "\udfff\ud800", "e\u0301", "\u202e", "\u2028", "\U000e0041",
    "\x1b[2K", "a\nb", "\\", '"', "'", "%", "%00", "%s", "{}", "../..", "null", "1e9", "٣", "ǆ", "ﬁ", "İ",
    "00000000-0000-0000-0000-000000000000", "00000000-0000-4000-8000-000000000001", "tenant:*", "user:x",
    "group:00000000-0000-4000-8000-000000000001", "kb_x", "2026-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59", "https://x.example", "javascript:x", "x" * 300, "é" * 2_000, "restricted",
)  # fmt: skip
NOISE = st.one_of(
    st.sampled_from(SCALARS),
    st.text(st.characters(), max_size=20),
    st.integers(),
    st.floats(),
    st.lists(st.sampled_from(SCALARS), max_size=3),
    st.dictionaries(
        st.sampled_from(["", "a", "id", "tenant_id", "\0", "\ud800", "é"]),
        st.sampled_from(SCALARS),
        max_size=2,
    ),
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "if-match": st.sampled_from(["*", '"1-0123456789abcdef"', '"x"', "W/*", "", '"' * 50, "é".encode()]),
        "if-none-match": st.sampled_from(["*", '"1-0123456789abcdef", *', ",,,", ""]),
        "idempotency-key": st.sampled_from(["a", "b", "c" * 255, "c" * 256, "", "a b", "é".encode()]),
        "prefer": st.sampled_from(["respond-async", "respond-async, wait=1", "x", ""]),
        "accept-language": st.sampled_from(["fr", "fr;q=0", "*", "fr-CA;q=9", ",;=", "q" * 3_000]),
        "accept": st.sampled_from(["text/plain", "*/*", "x", ""]),
        "traceparent": st.sampled_from(["00-x", f"00-{'1' * 32}-{'1' * 16}-01", "ff-"]),
        "range": st.sampled_from(["bytes=0-0", "bytes=9-1", "x"]),
        "content-type": st.sampled_from(
            ["application/json", "application/json; charset=utf-16", "application/x+json", "text/plain", "",
             "multipart/form-data", "multipart/form-data; boundary=X"]
        ),
    },
)  # fmt: skip


def mixed(right: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly what fits."""
    return st.one_of(*[right] * 7, NOISE)


def made_for(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values of a schema, each part of which may be noise instead."""
    schema = resolved(schema)
    if "anyOf" in schema:
        return mixed(st.one_of(*map(made_for, schema["anyOf"])))
    if "enum" in schema or "const" in schema:
        return mixed(st.sampled_from(schema.get("enum", [schema.get("const")])))
    makers: dict[str, Callable[[Mapping[str, Any]], st.SearchStrategy[Any]]] = {
        "object": _object,
        "array": lambda array: st.lists(made_for(array.get("items", {})), max_size=3),
        "string": _text,
        "integer": lambda number: st.integers(*_bounds(number)),
        "number": lambda _: st.floats(0, 1),
        "boolean": lambda _: st.booleans(),
        "null": lambda _: st.none(),
    }
    kind = schema.get("type")
    return mixed(makers[kind](schema)) if kind in makers else NOISE


def _bounds(schema: Mapping[str, Any]) -> tuple[int, int]:
    low = int(schema.get("minimum", 0))
    return low, min(int(schema.get("maximum", 100)), low + 100)


def _object(schema: Mapping[str, Any]) -> st.SearchStrategy[Json]:
    members = {name: made_for(member) for name, member in schema.get("properties", {}).items()}
    required = set(schema.get("required", ()))
    if not members:
        return st.dictionaries(st.sampled_from(["a", "b-c", "é", ""]), NOISE, max_size=2)
    return st.fixed_dictionaries(
        {name: member for name, member in members.items() if name in required},
        optional={name: member for name, member in members.items() if name not in required},
    )


def _text(schema: Mapping[str, Any]) -> st.SearchStrategy[str]:
    if schema.get("format") == "uuid":
        return st.uuids().map(str)
    if schema.get("format") == "date-time":
        return st.datetimes().map(lambda instant: f"{instant.isoformat()}Z")
    if "pattern" in schema:
        return st.sampled_from(["en", "fr", "https://x.example/a", "run-1", "a.b:c/d@e", "x-1"])
    return st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)


def requests_of(operation: Operation, things: Things) -> st.SearchStrategy[Json]:
    """Keyword arguments of a request for the operation."""
    noise_in_path = st.one_of(
        st.binary(max_size=12).map(quote_from_bytes),
        st.sampled_from([value for value in SCALARS if isinstance(value, str)]).map(
            lambda text: quote(text, safe="", errors="replace")
        ),
    )
    ids = ids_of(things)
    names = [parameter["name"] for parameter in operation.parameters("path")]
    path = st.fixed_dictionaries({n: st.one_of(*[st.just(ids[n])] * 7, noise_in_path) for n in names})
    query = st.fixed_dictionaries(
        {}, optional={p["name"]: made_for(p["schema"]).map(_as_query) for p in operation.parameters("query")}
    )
    content = operation.description.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema")
    body = (
        st.none()
        if schema is None
        else st.one_of(st.just(VALID[operation.name](things).body), made_for(schema))
    )
    return st.fixed_dictionaries({"path": path, "query": query, "body": body, "headers": HEADERS})


def _as_query(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode()


async def sent(operation: Operation, caller: Caller, made: Json) -> httpx2.Response:
    """The answer to a request that `requests_of` made."""
    url = operation.path.format(**made["path"])
    headers = {"content-type": "application/json", **made["headers"]}
    raw = [
        (name.encode(), value if isinstance(value, bytes) else value.encode())
        for name, value in headers.items()
    ]
    content = None if made["body"] is None else json.dumps(made["body"]).encode()
    return await caller.request(operation.method, url, params=made["query"], headers=raw, content=content)


def judge(answer: httpx2.Response, made: Json) -> None:
    """Fail with the request that led to it, unless the answer keeps every promise."""
    about = f"{answer.request.method} {answer.request.url} {made} -> {answer.status_code} {answer.text[:500]}"
    assert answer.status_code < 500, about
    assert answer.headers["x-request-id"].startswith("req_"), about
    if answer.status_code < 400:
        assert answer.status_code in {200, 201, 202, 204, 304}, about
        return
    is_openai = answer.request.url.path.startswith("/v1/openai/")
    media_type = "application/json" if is_openai else "application/problem+json"
    assert answer.headers["content-type"] == media_type, about
    told = answer.json()
    error = told["error"]
    assert PROMISED.get(error["code"]) == answer.status_code, about
    if is_openai:
        assert set(error) == {"message", "type", "param", "code", "details"}, about
    else:
        assert told["status"] == answer.status_code, about
        assert error["request_id"] == answer.headers["x-request-id"], about
        assert set(error["message_i18n"]) == {"en", "fr"}, about
    assert not re.search(r"\{[a-z_]{2,}\}", error["message"]), about
    assert len(answer.content) < 50_000, about


ALONE = {"update_settings", "set_quota", "set_kill_switch", "set_model_kill_switch"}
"""What would slow down or shut out the others: a limit of one a minute is a valid setting."""
IN_ORDER = sorted(operations().values(), key=lambda op: op.method == "DELETE")

bounded = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="EAI_TEST_FUZZ_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
async def shared(stack: Stack) -> tuple[Company, Things]:
    """A tenant that is read, added to, changed, and at last deleted from."""
    company = await stack.company()
    return company, await things_of(company)


@pytest.mark.parametrize("operation", IN_ORDER, ids=[op.name for op in IN_ORDER])
@bounded
@given(data=st.data())
async def test_whatever_is_asked_is_answered_in_order(
    stack: Stack, shared: tuple[Company, Things], operation: Operation, data: st.DataObject
) -> None:
    company, things = shared
    if operation.name in ALONE:
        company = await stack.company()
    caller = stack.operator if operation.is_for_operators else company.admin
    made = data.draw(requests_of(operation, things))
    judge(await sent(operation, caller, made), made)
