"""Attack lines 14 and 15: paths, hosts and methods that are meant to be read in two ways."""

import pytest

from tests.api.attacks.wire import get, sent
from tests.api.matrix.answers import told_without_body
from tests.api.matrix.world import missing
from tests.stack import Company, Stack

TARGETS = [
    "/v1/me", "//v1/me", "///v1/me", "/v1//me", "/v1/./me", "/v1/../v1/me", "/v1/%2e%2e/v1/me",
    "/healthz/../v1/me", "/healthz/%2e%2e/v1/me", "/healthz%2f..%2fv1%2fme", "/healthz;/../v1/me",
    "/v1/me/", "/v1/me;x=1", "/v1/me%2f", "/v1/me%00", "/v1/me%20", "/v1/me%0d%0a", "/V1/me", "/v1/ME",
    "/v1/%6d%65", "/v1\\me", "\\v1\\me", "/v1/me?/healthz", "/v1/me#/healthz", "/v1/me?path=/healthz",
    "http://127.0.0.1/v1/me", "http://evil.example/v1/me", "http://127.0.0.1/healthz/../v1/me",
    "/docs/../v1/me", "/docs/errors/..%2f..%2f..%2fv1%2fme", "/openapi.json/../v1/me", "/metrics/../v1/me",
    "/v1/%c0%ae%c0%ae/me", "/v1/me%e2%80%8b",
]  # fmt: skip

HOSTS = [
    "x/v1/healthz?", "127.0.0.1/healthz?", "127.0.0.1#", "healthz", "", "evil.example", "a b",
    "127.0.0.1:99999", "[::1", "@127.0.0.1", "127.0.0.1\\@evil.example", "x" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
async def test_no_spelling_of_an_address_opens_it_without_a_credential(stack: Stack, target: str) -> None:
    answer = await sent(stack.url, get(target))
    assert answer.status in {400, 401, 404}, answer.head
    assert (answer.status, answer.code) in {(400, ""), (401, "unauthenticated"), (404, "not_found")}


@pytest.mark.parametrize("target", TARGETS)
async def test_a_spelling_means_the_operation_or_nothing(stack: Stack, company: Company, target: str) -> None:
    answer = await sent(stack.url, get(target, f"Authorization: Bearer {company.admin.key}"))
    assert answer.status in {200, 400, 404}, answer.head
    if answer.status == 200:
        assert company.id.encode() in answer.body
    assert b"http" not in answer.head.lower().encode().partition(b"\r\n")[2].replace(b"http/1.1", b"")


@pytest.mark.parametrize("host", HOSTS, ids=[host[:20] for host in HOSTS])
async def test_the_host_a_client_names_decides_nothing_and_is_told_nowhere(
    stack: Stack, company: Company, host: str
) -> None:
    await company.base()
    await company.base()
    refused = await sent(stack.url, get("/v1/me", host=host))
    assert refused.status in {400, 401, 421}
    listed = await sent(
        stack.url,
        get("/v1/knowledge-bases?limit=1", f"Authorization: Bearer {company.admin.key}", host=host),
    )
    assert listed.status in {200, 400, 421}
    if host not in {"", "healthz"}:
        assert host.encode() not in refused.body + listed.body
        assert host not in refused.head + listed.head


@pytest.mark.parametrize(
    "header",
    [
        "X-HTTP-Method-Override: DELETE", "X-HTTP-Method: DELETE", "X-Method-Override: DELETE",
        "X-Original-URL: /v1/me", "X-Rewrite-URL: /v1/me", "X-Forwarded-Prefix: /v1",
        "Forwarded: for=127.0.0.1;host=x;proto=https", "X-Forwarded-For: 127.0.0.1", "X-Real-IP: 127.0.0.1",
    ],
)  # fmt: skip
async def test_headers_that_rewrite_a_request_rewrite_nothing(
    stack: Stack, company: Company, header: str
) -> None:
    base = await company.base()
    path, key = f"/v1/knowledge-bases/{base}", f"Authorization: Bearer {company.admin.key}"
    assert (await sent(stack.url, get("/healthz", header))).body == b'{"status":"alive"}'
    assert (await sent(stack.url, get(path, header))).code == "unauthenticated"
    shown = await sent(stack.url, get(path, header, key))
    assert (shown.status, base.encode() in shown.body) == (200, True)
    posted = await sent(stack.url, get(path, header, key, "Content-Length: 0", method="POST"))
    assert (posted.status, posted.code) == (405, "method_not_allowed")
    assert (await company.admin.get(path)).status_code == 200


@pytest.mark.parametrize(
    "method", ["OPTIONS", "TRACE", "CONNECT", "POST", "PROPFIND", "get", "BREW", "GETT", "HEAD"]
)
async def test_another_method_tells_a_foreign_from_a_missing_thing_no_better(
    stack: Stack, company: Company, method: str
) -> None:
    other = await stack.company()
    key = f"Authorization: Bearer {other.admin.key}"
    base, document = await company.base(), ""
    document = await company.document(base, "Some words.")
    for path in ("/v1/knowledge-bases/{}", "/v1/knowledge-bases/{}/documents/{}"):
        answers = [
            await sent(stack.url, get(path.format(*ids), *credential, method=method))
            for ids in ((base, document), (missing(), missing()))
            for credential in ((key,), ())
        ]
        assert {answer.status for answer in answers} <= {0, 400, 401, 404, 405}
        for foreign, absent in ((answers[0], answers[2]), (answers[1], answers[3])):
            assert (foreign.status, foreign.code) == (absent.status, absent.code)
            assert _without_own(foreign.head) == _without_own(absent.head)


def _without_own(head: str) -> list[str]:
    own = ("date:", "x-request-id:", "content-length:")
    return [line for line in head.splitlines() if not line.lower().startswith(own)]


async def test_a_tag_that_was_good_for_its_owner_is_no_oracle(stack: Stack, company: Company) -> None:
    other = await stack.company()
    path = f"/v1/knowledge-bases/{await company.base()}"
    tag = (await company.admin.get(path)).headers["etag"]
    absent = f"/v1/knowledge-bases/{missing()}"
    for headers in (
        {"if-none-match": tag},
        {"if-none-match": "*"},
        {"if-match": tag},
        {"range": "bytes=0-0"},
        {"if-modified-since": "Mon, 01 Jan 2001 00:00:00 GMT"},
        {"if-range": tag, "range": "bytes=0-"},
    ):
        answers = [await other.admin.head(where, headers=headers) for where in (path, absent)]
        assert answers[0].status_code == 404
        assert told_without_body(answers[0]) == told_without_body(answers[1])


SMUGGLED = "GET /v1/me HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Content-Length: 5", "Content-Length: 50"),
        ("Content-Length: -1",),
        ("Content-Length: 5, 5",),
        ("Content-Length: +5",),
        ("Content-Length: 0x5",),
        ("Content-Length: 99999999999999999999999",),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding : chunked",),
        ("Content-Length: 10485760000",),
    ],
)
async def test_a_body_of_two_lengths_is_no_second_request(
    stack: Stack, company: Company, headers: tuple[str, ...]
) -> None:
    head = get(
        "/v1/knowledge-bases",
        f"Authorization: Bearer {company.admin.key}",
        "Content-Type: application/json",
        *headers,
        method="POST",
    )
    answer = await sent(stack.url, head, b"0\r\n\r\n" + SMUGGLED.encode())
    assert answer.status in {0, 400, 401, 411, 413, 422, 501}
    assert b"HTTP/1.1 200" not in answer.body
    assert (await company.admin.got("/v1/knowledge-bases"))["data"] == []
