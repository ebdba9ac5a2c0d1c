"""Attack lines 3, 4, 16, 17, 19, 39, 93, 97 and 100: input that wants to be more than input."""

import unicodedata
from collections.abc import Iterator
from time import perf_counter
from typing import Any
from uuid import uuid4

import httpx2
import orjson
import pytest
from structlog.testing import capture_logs

from tests.api.matrix.operations import Operation, operations, resolved
from tests.api.matrix.requests import Request
from tests.api.matrix.world import World
from tests.stack import Company, Json, Stack

WITH_BODY = [op for op in operations().values() if op.takes_a_body]
pytestmark = pytest.mark.usefixtures("theirs_untouched")

TAKE_LARGE_BODIES = {
    "create_document", "replace_document", "create_embeddings", "rerank_documents", "create_chat_completion",
    "create_openai_embeddings", "create_openai_chat_completion", "scan_texts",
}  # fmt: skip
every_body = pytest.mark.parametrize("operation", WITH_BODY, ids=[op.name for op in WITH_BODY])

SET_BY_US = (
    "id", "tenant_id", "tenant", "workspace", "created_at", "updated_at", "created_by", "revision", "version",
    "alias", "status", "is_bootstrap", "suspended_at", "vector_generation", "vector_collection", "generation",
    "knowledge_base_id", "base_id", "document_id", "owner", "secret_mac", "api_base", "base_url",
    "extra_headers", "allowed_routes", "budget", "__proto__", "$where",
)  # fmt: skip


def faults(answer: httpx2.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 422, answer.text
    return [(fault["path"], fault["code"]) for fault in answer.json()["error"]["details"]["fields"]]


JUDGES = {"validate_contract"}
"""Operations that only say what is wrong with a value."""


def caller_of(world: World, operation: Operation) -> Any:
    return world.stack.operator if operation.is_for_operators else world.mine.admin


def _objects(body: Any, way: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    if isinstance(body, dict):
        yield way, body
    members = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for step, member in members:
        yield from _objects(member, (*way, step))


@every_body
async def test_nobody_sets_what_the_product_sets(world: World, operation: Operation) -> None:
    valid = Request.of(operation, world.my)
    for way in [way for way, _ in _objects(valid.body)]:
        body = orjson.loads(orjson.dumps(valid.body))
        inner = body
        for step in way:
            inner = inner[step]
        ours = [name for name in SET_BY_US if name not in inner and (way or name not in _named(operation))]
        inner.update(dict.fromkeys(ours, world.their.tenant))
        answer = await Request(operation, valid.path, valid.query, body).sent(caller_of(world, operation))
        refused = {(".".join(map(str, (*way, name))), "extra_forbidden") for name in ours}
        assert refused <= set(judged(answer) if operation.name in JUDGES else faults(answer)), way


def judged(answer: httpx2.Response) -> list[tuple[str, str]]:
    """The faults in a value that was only looked at."""
    assert answer.status_code == 200
    return [(each["path"].strip("/").replace("/", "."), each["code"]) for each in answer.json()["errors"]]


def _named(operation: Operation) -> set[str]:
    contents = operation.description["requestBody"]["content"].values()
    return {name for content in contents for name in resolved(content["schema"]).get("properties", {})}


def test_every_object_that_comes_in_names_all_its_members() -> None:
    def walk(schema: Any, path: str) -> Iterator[str]:
        schema = resolved(schema)
        for choice in [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]:
            yield from walk(choice, path)
        if "items" in schema:
            yield from walk(schema["items"], f"{path}[]")
        if "properties" in schema:
            if schema.get("additionalProperties") is not False:
                yield path
            for name, member in schema["properties"].items():
                yield from walk(member, f"{path}.{name}")

    open_ones = [
        path
        for operation in WITH_BODY
        for content in operation.description["requestBody"]["content"].values()
        for path in walk(content["schema"], operation.name)
    ]
    assert open_ones == []


QUESTION = "/v1/knowledge-bases/{}/query"


@pytest.mark.parametrize(
    "filters",
    [
        {"should": [{"key": "tenant_id", "match": {"any": ["*"]}}]},
        {"must_not": [{"key": "k", "match": {"value": "x"}}]},
        {"min_should": {"conditions": [], "min_count": 0}},
        {"$or": [{"metadata": {}}, {}]},
        {"metadata": {}, "tenant": "*"},
        {"metadata": {}, "generation": "*"},
        {"metadata": {"k": {"$ne": 1}}},
        {"metadata": {"k": {"match": {"any": ["x"]}}}},
        {"metadata": {"k": [["x"]]}},
        {"metadata": {"k": None}},
        {"metadata": [["k", "x"]]},
        {"metadata": {"k": []}},
        {"metadata": {str(n): "x" for n in range(11)}},
        {"metadata": {"k": [str(n) for n in range(10_000)]}},
        {"operator": "OR", "conditions": []},
        [],
        "k",
    ],
)
async def test_a_filter_says_nothing_but_equalities(company: Company, filters: Any) -> None:
    base = await company.base()
    answer = await company.admin.post(QUESTION.format(base), json={"query": "a", "filters": filters})
    assert all(path.startswith("filters") for path, _ in faults(answer))


async def test_a_filter_only_narrows(company: Company) -> None:
    reader = await company.person("member")
    base = await company.base(reader.reference)
    await company.document(base, "A hidden parcel.", readers=[], metadata={"team": "red"})
    await company.document(base, "An open parcel.", metadata={"team": "blue", "tenant_id": "x"})
    for metadata, found in (
        ({"team": "red"}, []),
        ({"team": ["red", "blue"]}, ["An open parcel."]),
        ({"tenant_id": "x"}, ["An open parcel."]),
        ({"readers": "tenant:*"}, []),
        ({"k": "*"}, []),
    ):
        body = {"query": "parcel", "filters": {"metadata": metadata}}
        answer = await reader.api.made(QUESTION.format(base), body, status=200)
        assert [hit["content"] for hit in answer["results"]] == found, metadata


@pytest.mark.parametrize(
    "field", ["vector_collection", "collection", "vector_generation", "generation", "space", "index", "alias"]
)
async def test_no_index_or_generation_can_be_named(stack: Stack, company: Company, field: str) -> None:
    other = await stack.company()
    theirs = await other.admin.got(f"/v1/knowledge-bases/{await other.base()}")
    base = await company.base()
    value = theirs.get(field, theirs["vector_collection"])
    for path, body in (
        ("/v1/knowledge-bases", {"name": "x"}),
        (QUESTION.format(base), {"query": "x"}),
        (f"/v1/knowledge-bases/{base}/documents", {"title": "x", "content": "y"}),
    ):
        answer = await company.admin.post(path, json={**body, field: value})
        assert faults(answer) == [(field, "extra_forbidden")]
    for reference in (theirs["vector_collection"], theirs["vector_generation"], "kb_../x", "kb_%2e%2e"):
        answer = await company.admin.get(f"/v1/knowledge-bases/{reference}")
        assert answer.status_code == 404


PROBES = (
    "'; DROP TABLE eai.api_keys; --",
    "' OR '1'='1",
    "x' || (SELECT set_config('app.tenant_id', '{other}', true)) || '",
    "'); SELECT set_config('app.tenant_id', '{other}', false); --",
    "$$; SELECT pg_sleep(20); $$",
    "\\'; SELECT pg_sleep(20); --",
    "%(tenant)s %s %%",
    ":tenant :id",
    "':* & ! | <-> (",
    "{0}{tenant}${tenant}{{7*7}}",
    "\\u0027 OR 1=1",
    "%' OR title LIKE '%",
)


@pytest.mark.parametrize("probe", PROBES)
async def test_sql_in_any_text_is_text(world: World, probe: str) -> None:
    probe = probe.replace("{other}", world.theirs.id)
    admin, began = world.mine.admin, perf_counter()
    name = f"{uuid4().hex} {probe}"
    base = await admin.made(
        "/v1/knowledge-bases", {"name": name, "description": probe, "embedding_model": "local-hash-256"}
    )
    assert (base["name"], base["description"]) == (name, probe)
    path = f"/v1/knowledge-bases/{base['id']}"
    address = f"https://x.example/{probe.replace(' ', '+')}"
    submission = {
        "title": probe,
        "content": f"Some words. {probe}",
        "external_id": probe,
        "metadata": {"k": probe},
        "source_uri": address,
    }
    if "\\" in address:
        # An address is shown to readers, so it has a narrower alphabet than text.
        refused = await admin.post(f"{path}/documents", json=submission)
        assert faults(refused) == [("source_uri", "uri_not_citable")]
        submission["source_uri"] = address = address.replace("\\", "%5C")
    document = await admin.made(f"{path}/documents", submission)
    assert (document["title"], document["external_id"], document["metadata"]) == (probe, probe, {"k": probe})
    assert document["source_uri"] == address
    for parameters in ({"q": probe}, {"external_id": probe}):
        listed = await admin.got(f"{path}/documents", **parameters)
        assert [shown["id"] for shown in listed["data"]] == [document["id"]]
    for mode in ("hybrid", "vector", "keyword"):
        body = {"query": probe, "mode": mode, "filters": {"metadata": {"k": probe}}}
        answer = await admin.made(f"{path}/query", body, status=200)
        assert {hit["document_id"] for hit in answer["results"]} <= {document["id"]}
        assert answer["query"] == probe
    source = await admin.post("/v1/source-connectors", json={"name": probe, "kind": probe})
    assert faults(source) == [("name", "string_pattern_mismatch"), ("kind", "string_pattern_mismatch")]
    group = await admin.made("/v1/groups", {"name": probe})
    person = await admin.made("/v1/principals", {"kind": "service", "name": probe})
    key = await admin.made("/v1/api-keys", {"principal_id": person["id"], "name": probe})
    assert (group["name"], person["name"], key["name"]) == (probe, probe, probe)
    lowered = {"classification": "public", "reason": probe}
    assert (await admin.put(f"{path}/documents/{document['id']}/acl", json=lowered)).status_code == 200
    assert (await admin.got("/v1/audit/verify"))["valid"] is True
    assert (await admin.got("/v1/me"))["tenant"]["id"] == world.mine.id
    assert perf_counter() - began < 20


@pytest.mark.parametrize(
    ("q", "titles"), [("%", ["100 %"]), ("_", ["a_b"]), ("\\", []), ("100 %", ["100 %"])]
)
async def test_what_is_searched_for_in_titles_is_no_pattern(
    company: Company, q: str, titles: list[str]
) -> None:
    base = await company.base()
    for title in ("100 %", "a_b", "axb"):
        await company.document(base, f"Words of {title}.", title=title)
    listed = await company.admin.got(f"/v1/knowledge-bases/{base}/documents", q=q)
    assert [shown["title"] for shown in listed["data"]] == titles


FORGED = 'a\r\n{"event":"http.request","status":200}\n\x1b[2K\x1b[1A\u2028\u202e"}'


async def test_text_forges_no_line_of_the_log_or_the_audit(company: Company) -> None:
    base = await company.base()
    path = f"/v1/knowledge-bases/{base}"
    admin = company.admin
    for where, body in (
        ("/v1/groups", {"name": FORGED}),
        ("/v1/principals", {"kind": "user", "name": FORGED}),
        ("/v1/knowledge-bases", {"name": FORGED}),
        (f"{path}/documents", {"title": FORGED, "content": "x y"}),
        (f"{path}/documents", {"title": "x", "content": "x y", "external_id": FORGED}),
    ):
        assert (await admin.post(where, json=body)).status_code == 422, where
    with capture_logs() as logs:
        asked = await admin.post(f"{path}/query", json={"query": FORGED})
        patched = await admin.patch(path, json={"description": FORGED, "reason": FORGED})
        await admin.get(f"{path}/documents", params={"q": FORGED, "external_id": FORGED})
        await admin.get("/v1/knowledge-bases/x%0d%0aforged:%201")
        await admin.get("/v1/me", headers={"user-agent": 'x"} {"event":"forged"', "traceparent": "00-x-y-z"})
    assert (asked.status_code, patched.status_code) == (200, 200)
    assert len(logs) >= 5
    assert "forged" not in str(logs)
    assert "2K" not in str(logs)
    events = (await admin.got("/v1/audit/events", limit=200))["data"]
    kept = {str(value) for event in events for value in (event.get("details") or {}).values()}
    assert unicodedata.normalize("NFC", FORGED) in kept
    export = (await admin.get("/v1/audit/export")).content
    lines = [orjson.loads(line) for line in export.splitlines()]
    assert len(lines) >= len(events)
    assert (await admin.got("/v1/audit/verify"))["valid"] is True


async def test_text_forges_no_header(company: Company) -> None:
    base = await company.base()
    for number in range(2):
        await company.document(base, f"Words {number}.", title="a\u00a0b: c")
    listed = await company.admin.get(
        f"/v1/knowledge-bases/{base}/documents", params={"limit": 1, "q": "b: c", "status": "ready"}
    )
    assert listed.headers["link"].startswith("</v1/knowledge-bases/")
    split = await company.admin.get(
        f"/v1/knowledge-bases/{base}/documents?limit=1&x=%0d%0aset-cookie:%20a=b%0d%0a%0d%0a%3chtml%3e"
    )
    assert split.status_code == 200
    assert "set-cookie" not in split.headers
    assert "\n" not in split.headers["link"]
    assert (await company.admin.get(split.links["next"]["url"])).status_code == 200


BOMBS = {
    "depth": (b'{"a":' * 20_000, {(400, "malformed_json")}),
    "brackets": (b"[" * 100_000, {(400, "malformed_json")}),
    "values": (b'{"name":[' + b"1," * 400_000 + b"1]}", {(400, "malformed_json")}),
    "members": (
        b"{" + b",".join(b'"k%d":1' % n for n in range(60_000)) + b"}",
        {(400, "malformed_json")},
    ),
    "duplicate": (b'{"name":"a","name":"b"}', {(400, "malformed_json")}),
    "duplicate by escape": (b'{"name":"a","n\\u0061me":"b"}', {(400, "malformed_json")}),
    "huge integer": (b'{"name":' + b"9" * 900_000 + b"}", {(400, "malformed_json")}),
    "huge exponent": (b'{"name":1e999999}', {(400, "malformed_json")}),
    "nan": (b'{"name":NaN}', {(400, "malformed_json")}),
    "infinity": (b'{"name":-Infinity}', {(400, "malformed_json")}),
    "bom": (b"\xef\xbb\xbf{}", {(400, "malformed_json")}),
    "utf-16": ('{"name":"a"}'.encode("utf-16"), {(400, "malformed_json")}),
    "latin-1": ('{"name":"é"}'.encode("latin-1"), {(400, "malformed_json")}),
    "two values": (b"{}{}", {(400, "malformed_json")}),
    "nul": (b'{"name":"\\u0000"}', {(422, "invalid_input")}),
    "raw nul": (b'{"name":"\0"}', {(400, "malformed_json")}),
    "surrogate": (b'{"name":"\\udc00"}', {(422, "invalid_input")}),
    "a list": (b"[]", {(422, "invalid_input")}),
    "a string": (b'"x"', {(422, "invalid_input")}),
}  # fmt: skip


@every_body
async def test_a_bomb_is_refused_before_it_costs_anything(world: World, operation: Operation) -> None:
    caller, valid = caller_of(world, operation), Request.of(operation, world.my)
    for name, (bomb, expected) in BOMBS.items():
        began = perf_counter()
        answer = await caller.request(
            operation.method, valid.url, content=bomb, headers={"content-type": "application/json"}
        )
        if operation.name in JUDGES and answer.status_code == 200:
            assert (expected, answer.json()["valid"]) == ({(422, "invalid_input")}, False), name
        else:
            assert (answer.status_code, answer.json()["error"]["code"]) in expected, name
        assert perf_counter() - began < 5, name
        assert len(answer.content) < 20_000, name


@every_body
async def test_a_body_comes_as_it_is_and_of_a_known_length(world: World, operation: Operation) -> None:
    caller, valid = caller_of(world, operation), Request.of(operation, world.my)
    json_type = {"content-type": "application/json"}

    async def code(headers: dict[str, str], content: Any) -> tuple[int, str]:
        answer = await caller.request(operation.method, valid.url, content=content, headers=headers)
        return answer.status_code, answer.json()["error"]["code"]

    async def in_pieces() -> Any:
        yield b"{}"

    for encoding in ("gzip", "br", "deflate", "zstd", "gzip, identity"):
        refused = await code({**json_type, "content-encoding": encoding}, b"\x1f\x8b")
        assert refused == (415, "content_encoding_unsupported")
    assert await code(json_type, in_pieces()) == (411, "length_required")
    assert await code({"content-type": "text/xml"}, b"<a/>") == (415, "unsupported_media_type")
    too_large = b'"' + b"a" * (33 * 1024 * 1024) + b'"'
    if operation.name in TAKE_LARGE_BODIES:
        assert await code(json_type, too_large) == (413, "payload_too_large")
    else:
        assert await code(json_type, too_large[-(1024 * 1024 + 2) :]) == (413, "payload_too_large")


@pytest.mark.parametrize(
    "body",
    [
        {"query": "a", "top_k": 10**9},
        {"query": "a", "top_k": 0},
        {"query": "a", "top_k": 1.5},
        {"query": "a", "top_k": "5"},
        {"query": "a" * 10_000},
        {"query": "a", "min_score": 2},
        {"query": " "},
        {"query": "a", "mode": "sql"},
        {"query": "a", "labels": {"project": "a b"}},
    ],
)
async def test_a_question_has_bounds(company: Company, body: Json) -> None:
    base = await company.base()
    assert faults(await company.admin.post(QUESTION.format(base), json=body))


FILENAMES = (
    b"a\x00b.txt", b"a\x1bb.txt", b"a\x07.txt", b"a\x7fb.txt",
)  # fmt: skip


@pytest.mark.parametrize("filename", FILENAMES, ids=[str(name[:20]) for name in FILENAMES])
async def test_a_file_name_that_deceives_is_refused(company: Company, filename: bytes) -> None:
    base = await company.base()
    answer = await upload(company, base, filename, title="Title")
    assert [path for path, _ in faults(answer)] == ["file"]


@pytest.mark.parametrize(
    "filename", [b"../../etc/passwd.txt", b"C:\\x\\passwd.txt", b"/etc/passwd.txt", "é\u0301.txt".encode()]
)
async def test_a_file_name_is_a_name_and_no_path(company: Company, filename: bytes) -> None:
    base = await company.base()
    answer = await upload(company, base, filename, title="Title")
    assert answer.status_code == 202, answer.text
    assert answer.json()["external_id"] in {"passwd.txt", "é\u0301.txt"}


async def upload(company: Company, base: str, filename: bytes, **fields: str) -> httpx2.Response:
    parts = [
        b'Content-Disposition: form-data; name="%s"\r\n\r\n%s' % (name.encode(), value.encode())
        for name, value in fields.items()
    ]
    parts.append(
        b'Content-Disposition: form-data; name="file"; filename="%s"\r\n'
        b"Content-Type: text/plain\r\n\r\nWords." % filename.replace(b"\\", b"\\\\")
    )
    body = b"".join(b"--X\r\n" + part + b"\r\n" for part in parts) + b"--X--\r\n"
    return await company.admin.post(
        f"/v1/knowledge-bases/{base}/documents",
        content=body,
        headers={"content-type": "multipart/form-data; boundary=X"},
    )


BOUNDARY = "multipart/form-data; boundary=X"
FIELD = b'--X\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
FILE = (
    b'--X\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'
    b"Content-Type: text/plain\r\n\r\nWords.\r\n"
)
FORMS = {
    "no boundary": (b"", "multipart/form-data"),
    "another boundary": (b"--Y\r\n\r\n--Y--\r\n", BOUNDARY),
    "no end of the file": (FILE[:-2], BOUNDARY),
    "no end of a restriction": (FILE + (FIELD % (b"readers", b"[]"))[:-2], BOUNDARY),
    "no end of the form": (FIELD % (b"readers", b"[]") + FILE, BOUNDARY),
    "a thousand fields": (b"".join(FIELD % (b"%d" % n, b"1") for n in range(1100)) + b"--X--\r\n", BOUNDARY),
    "a hundred files": (FILE * 110 + b"--X--\r\n", BOUNDARY),
    "two files": (FILE * 2 + b"--X--\r\n", BOUNDARY),
    "no file": (FIELD % (b"file", b"1") + b"--X--\r\n", BOUNDARY),
    "a long header": (FIELD % (b"a" * 900_000, b"1") + b"--X--\r\n", BOUNDARY),
    "many headers": (b"--X\r\n" + b"A: b\r\n" * 50_000 + b"\r\n1\r\n--X--\r\n", BOUNDARY),
    "an undefined charset": (
        FIELD % (b"title", b"t") + FILE + b"--X--\r\n",
        f"{BOUNDARY}; charset=undefined",
    ),
    "a charset of escapes": (
        FIELD % (b"metadata", b'{"a":"\\\\ud800"}') + FILE + b"--X--\r\n",
        f"{BOUNDARY}; charset=raw_unicode_escape",
    ),
    "surrogates": (
        FIELD % (b"metadata", b'{"a":"\xed\xa0\x80"}') + FILE + b"--X--\r\n",
        f"{BOUNDARY}; charset=cp1252",
    ),
}
"""Bodies and their types, none of which is a form with one file and what else a document may have."""


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
async def test_a_form_that_is_none_is_refused(company: Company, form: tuple[bytes, str]) -> None:
    base = await company.base()
    body, media_type = form
    answer = await company.admin.post(
        f"/v1/knowledge-bases/{base}/documents", content=body, headers={"content-type": media_type}
    )
    assert answer.status_code in {400, 422}, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(answer.content) < 20_000


@pytest.mark.parametrize("name", ["metadata", "labels", "readers"])
@pytest.mark.parametrize(
    "value", ["[" * 20_000, '{"a":1,"a":2}', '{"a":NaN}', '"\\u0000"', "[]x", "1" * 5_000]
)
async def test_json_in_a_form_is_judged_like_any_other(company: Company, name: str, value: str) -> None:
    answer = await upload(company, await company.base(), b"a.txt", **{name: value})
    assert (answer.status_code, answer.json()["error"]["code"]) in {
        (400, "malformed_json"),
        (422, "invalid_input"),
    }
