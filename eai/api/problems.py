"""How an error looks on the wire: one problem document, in the caller's language.

Under `/v1/openai` the same is said in OpenAI's form.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import orjson
from starlette.responses import Response
from starlette.types import Scope

from eai.api.field_faults import MOST_FAULTS, told
from eai.api.openai_errors import SHOULD_RETRY, is_openai, openai_error_of
from eai.kernel.errors import EaiError
from eai.platform.context import current_work
from eai.platform.i18n import Language, messages, negotiate

MEDIA_TYPE = "application/problem+json"
_JSON = "application/json"
_LONGEST_PATH = 300


def problem_response(error: EaiError, scope: Scope) -> Response:
    """The answer that tells of `error`, with the headers that its status calls for."""
    language = negotiate(_accept_language(scope))
    headers = {"content-language": language.value, "vary": "Accept-Language"}
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    if error.status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["allow"] = ", ".join(cast("list[str]", error.details["allowed"]))
    if error.retry_after_s is not None:
        headers["retry-after"] = str(error.retry_after_s)
    media_type = MEDIA_TYPE
    if is_openai(scope):
        media_type = _JSON
        headers[SHOULD_RETRY] = "true" if error.retryable else "false"
    return Response(
        problem_body(error, scope), status_code=error.status, headers=headers, media_type=media_type
    )


def problem_body(error: EaiError, scope: Scope) -> bytes:
    """What is said of `error` to whoever sent the request of `scope`, as JSON on one line."""
    problem = problem_of(error, scope, negotiate(_accept_language(scope)))
    return orjson.dumps(openai_error_of(problem) if is_openai(scope) else problem, default=str)


def problem_of(error: EaiError, scope: Scope, language: Language) -> dict[str, Any]:
    """The members of RFC 9457 and our own, stable `error` member."""
    details = _details(error, language)
    texts = texts_of(error, details)
    return {
        "type": f"urn:eai:error:{error.code}",
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "detail": texts[language],
        "instance": quote(scope["path"][:_LONGEST_PATH]),
        "error": {
            "code": error.code,
            "message": texts[language],
            "message_i18n": {name.value: text for name, text in texts.items()},
            "request_id": current_work().request_id,
            "retryable": error.retryable,
            "details": details,
            "docs_url": f"/docs/errors/{error.code}",
        },
    }


def texts_of(error: EaiError, details: Mapping[str, Any]) -> dict[Language, str]:
    """What is said of `error` in every language."""
    message = messages().get(error.code)
    if message is None:
        phrase = HTTPStatus(error.status).phrase
        return dict.fromkeys(Language, phrase)
    return {language: message.say(language, details) for language in Language}


def _details(error: EaiError, language: Language) -> dict[str, Any]:
    details: dict[str, Any] = dict(error.details)
    if isinstance(fields := details.get("fields"), list):
        details["fields"] = told(fields[:MOST_FAULTS], language)
    return details


def _accept_language(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == b"accept-language":
            return str(value.decode("latin-1"))
    return None
