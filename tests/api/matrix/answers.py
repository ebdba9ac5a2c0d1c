"""When two answers are alike: nothing in them tells which question they answer."""

import httpx2

from tests.stack import Json

OWN_TO_A_REQUEST = {"date", "x-request-id"}


def told(answer: httpx2.Response) -> tuple[int, Json | str, list[tuple[str, str]]]:
    """Status, body and headers, without what differs from request to request.

    The body's length may differ by the length of `instance`, which is the caller's own path.
    """
    headers = [(n, v) for n, v in answer.headers.multi_items() if n not in OWN_TO_A_REQUEST]
    if (
        not answer.headers.get("content-type", "").startswith("application/problem+json")
        or not answer.content
    ):
        return answer.status_code, answer.text, sorted(headers)
    body = answer.json()
    length = len(answer.content) - len(body.pop("instance"))
    assert body["error"].pop("request_id") == answer.headers["x-request-id"]
    headers = [(n, str(length) if n == "content-length" else v) for n, v in headers]
    return answer.status_code, body, sorted(headers)


def told_without_body(answer: httpx2.Response) -> tuple[int, list[tuple[str, str]]]:
    """The same of an answer to HEAD; its length counts `instance`."""
    assert answer.content == b""
    headers = [
        (n, v) for n, v in answer.headers.multi_items() if n not in {*OWN_TO_A_REQUEST, "content-length"}
    ]
    return answer.status_code, sorted(headers)


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    """Status and code of a refusal."""
    return answer.status_code, answer.json()["error"]["code"]
