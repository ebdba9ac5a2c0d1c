from typing import Any

import orjson
import pytest

from eai.access.scopes import Scope
from eai.api.problems import problem_response
from eai.gateway.errors import KillSwitchEngaged, ModelNotFound, ProviderUnavailable
from eai.identity.errors import ScopeMissing
from eai.kernel.errors import EaiError, InvalidInput, NotFound, RateLimited, Unauthenticated
from eai.platform.context import WorkContext, enter_work

OPENAI = "/v1/openai/embeddings"


def told(error: EaiError, path: str = OPENAI, language: bytes = b"en") -> tuple[Any, dict[str, str]]:
    enter_work(WorkContext("req_1"))
    answer = problem_response(error, {"path": path, "headers": [(b"accept-language", language)]})
    return orjson.loads(answer.body), dict(answer.headers)


def test_an_error_has_the_form_that_openais_clients_read() -> None:
    body, headers = told(ModelNotFound(model="gpt"))
    assert headers["content-type"] == "application/json"
    assert body == {
        "error": {
            "message": "There is no model called gpt. List the models and name one of them.",
            "type": "invalid_request_error",
            "param": None,
            "code": "model_not_found",
            "details": {"model": "gpt"},
        }
    }


def test_a_refused_field_is_named_in_the_message_too() -> None:
    body, _ = told(InvalidInput.field("api_base", "extra_forbidden", ""), language=b"fr")
    assert body["error"]["param"] == "api_base"
    assert body["error"]["message"].endswith("api_base: Champ inconnu ; retirez-le.")


@pytest.mark.parametrize(
    ("error", "kind", "again"),
    [
        (Unauthenticated(), "authentication_error", "false"),
        (ScopeMissing([Scope.GATEWAY_INVOKE]), "permission_error", "false"),
        (KillSwitchEngaged(scope="tenant"), "permission_error", "false"),
        (RateLimited(retry_after_s=1), "rate_limit_error", "true"),
        (ProviderUnavailable(provider="p"), "server_error", "true"),
        (NotFound(), "invalid_request_error", "false"),
    ],
)
def test_the_kind_and_whether_to_repeat_follow_the_error(error: EaiError, kind: str, again: str) -> None:
    body, headers = told(error)
    assert (body["error"]["type"], headers["x-should-retry"]) == (kind, again)


def test_every_other_path_keeps_the_problem_document() -> None:
    body, headers = told(NotFound(), path="/v1/openai-things")
    assert headers["content-type"] == "application/problem+json"
    assert "x-should-retry" not in headers
    assert body["status"] == 404
