"""How an error looks to a client of OpenAI: the same codes and statuses in that client's own form."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.types import Scope

PATHS = "/v1/openai/"
"""What lies under it speaks this form, refusals of unknown callers and unknown paths included."""

SHOULD_RETRY = "x-should-retry"
"""What the official clients go by; without it they repeat every 409, an exhausted quota too."""

ERROR_RESPONSE: dict[str, Any] = {
    "description": "Refused or failed, in OpenAI's form; `error.code` says why.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/OpenAIError"}}},
}

_STRING = {"type": "string"}
_NULLABLE = {"anyOf": [_STRING, {"type": "null"}]}
ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "OpenAI's form of an error, with our stable code and details.",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code", "details"],
            "properties": {
                "message": _STRING,
                "type": _STRING,
                "param": _NULLABLE,
                "code": _STRING,
                "details": {"type": "object", "additionalProperties": True},
            },
        },
    },
}

_TYPES = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}
_MOST_TOLD = 5


def is_openai(scope: Scope) -> bool:
    """Whether the request is for this form."""
    return str(scope["path"]).startswith(PATHS)


def openai_error_of(problem: Mapping[str, Any]) -> dict[str, Any]:
    """What a problem document says."""
    error = problem["error"]
    fields = error["details"].get("fields") or []
    told = [f"{fault['path']}: {fault['message']}" for fault in fields[:_MOST_TOLD]]
    return {
        "error": {
            "message": " ".join([error["message"], *told]),
            "type": _type_of(problem["status"], error["code"]),
            "param": fields[0]["path"] if fields else None,
            "code": error["code"],
            "details": error["details"],
        }
    }


def _type_of(status: int, code: str) -> str:
    if code == "quota_exceeded":
        return "insufficient_quota"
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server_error"
    return _TYPES.get(HTTPStatus(status), "invalid_request_error")
