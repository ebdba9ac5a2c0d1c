"""What the OpenAPI document says beyond what FastAPI finds out by itself."""

from collections.abc import Sequence
from typing import Any

from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from eai import __version__
from eai.api.idempotency.records import Replay
from eai.api.openai_errors import ERROR_SCHEMA
from eai.api.problems import MEDIA_TYPE
from eai.api.requirement import Requirement

TITLE = "eai"
DESCRIPTION = "Governed retrieval-augmented generation: who may see what, decided, proven and recorded."

PROBLEM_RESPONSE: dict[str, Any] = {
    "description": "Refused or failed; `error.code` says why.",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}

_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "1 to 255 visible ASCII characters. A repetition with the same key has no second effect.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}

_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key, `eai_<id>_<secret>`."},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}

_STRING = {"type": "string"}
_PROBLEM = {
    "type": "object",
    "description": "RFC 9457, with a stable code for programs.",
    "required": ["type", "title", "status", "detail", "instance", "error"],
    "properties": {
        "type": _STRING,
        "title": _STRING,
        "status": {"type": "integer"},
        "detail": _STRING,
        "instance": _STRING,
        "error": {
            "type": "object",
            "required": ["code", "message", "message_i18n", "request_id", "retryable", "details", "docs_url"],
            "properties": {
                "code": _STRING,
                "message": _STRING,
                "message_i18n": {
                    "type": "object",
                    "required": ["en", "fr"],
                    "properties": {"en": _STRING, "fr": _STRING},
                },
                "request_id": _STRING,
                "retryable": {"type": "boolean"},
                "details": {"type": "object", "additionalProperties": True},
                "docs_url": _STRING,
            },
        },
    },
}


def operation_extra(requirement: Requirement | None, replay: Replay) -> dict[str, Any]:
    """Security, required scopes and the idempotency header of one operation.

    `x-required-scope` lists scopes; `x-required-scope-match` is `all` or `any`.
    """
    extra: dict[str, Any] = {"security": []}
    if requirement is not None:
        extra["security"] = [{"bearer": []}, {"apiKey": []}]
        extra["x-required-scope"] = sorted(requirement.scopes)
        extra["x-required-scope-match"] = "any" if requirement.any_of else "all"
    if replay is not Replay.IGNORED:
        extra["parameters"] = [_IDEMPOTENCY_KEY]
    return extra


def describe(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """The OpenAPI document of `routes`."""
    document = get_openapi(title=TITLE, version=__version__, description=DESCRIPTION, routes=routes)
    components = document.setdefault("components", {})
    components["securitySchemes"] = _SCHEMES
    schemas = components.setdefault("schemas", {})
    schemas["Problem"] = _PROBLEM
    schemas["OpenAIError"] = ERROR_SCHEMA
    return document
