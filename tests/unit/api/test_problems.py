import orjson

from eai.access.scopes import Scope
from eai.api.errors import MethodNotAllowed
from eai.api.problems import problem_response
from eai.identity.errors import ScopeMissing
from eai.kernel.errors import InvalidInput, NotFound, RateLimited, Unavailable
from eai.platform.context import WorkContext, enter_work


def _scope(language: bytes = b"en", path: str = "/v1/things/a b") -> dict[str, object]:
    return {"path": path, "headers": [(b"accept-language", language)]}


def test_a_problem_has_the_members_of_the_rfc_and_ours() -> None:
    enter_work(WorkContext("req_1"))
    answer = problem_response(NotFound(), _scope())
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert orjson.loads(answer.body) == {
        "type": "urn:eai:error:not_found",
        "title": "Not Found",
        "status": 404,
        "detail": "There is nothing here that you can see. Check the address and the identifiers in it.",
        "instance": "/v1/things/a%20b",
        "error": {
            "code": "not_found",
            "message": "There is nothing here that you can see. Check the address and the identifiers in it.",
            "message_i18n": {
                "en": "There is nothing here that you can see. Check the address and the identifiers in it.",
                "fr": "Il n'y a rien ici que vous puissiez voir. "
                "Vérifiez l'adresse et les identifiants qu'elle contient.",
            },
            "request_id": "req_1",
            "retryable": False,
            "details": {},
            "docs_url": "/docs/errors/not_found",
        },
    }


def test_the_message_follows_the_language_and_says_which() -> None:
    answer = problem_response(ScopeMissing([Scope.RAG_QUERY]), _scope(b"fr-CA, en;q=0.5"))
    error = orjson.loads(answer.body)["error"]
    assert answer.headers["content-language"] == "fr"
    assert answer.headers["vary"] == "Accept-Language"
    assert error["message"] == error["message_i18n"]["fr"]
    assert "rag:query" in error["message"]
    assert error["details"] == {"scopes": ["rag:query"]}


def test_headers_go_with_their_status() -> None:
    assert problem_response(RateLimited(retry_after_s=7), _scope()).headers["retry-after"] == "7"
    assert problem_response(Unavailable(), _scope()).headers["retry-after"] == "5"
    assert problem_response(MethodNotAllowed({"PUT", "GET"}), _scope()).headers["allow"] == "GET, PUT"
    assert "retry-after" not in problem_response(NotFound(), _scope()).headers


def test_a_fault_keeps_its_own_words_where_the_catalogue_has_none() -> None:
    error = InvalidInput.field("acl.0.principal", "no_such_code", "names nobody")
    fields = orjson.loads(problem_response(error, _scope()).body)["error"]["details"]["fields"]
    assert fields == [{"path": "acl.0.principal", "code": "no_such_code", "message": "names nobody"}]


def test_names_that_cannot_be_encoded_do_not_break_the_answer() -> None:
    error = InvalidInput.field("a\ud800", "string_surrogate", "")
    fields = orjson.loads(problem_response(error, _scope()).body)["error"]["details"]["fields"]
    assert fields[0]["path"] == "a?"


def test_a_long_path_is_cut() -> None:
    body = orjson.loads(problem_response(NotFound(), _scope(path="/" + "a" * 10_000)).body)
    assert len(body["instance"]) == 300
