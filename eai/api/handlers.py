"""Every way a request can fail, turned into a problem document in one place."""

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any, cast

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from eai.api.denials import record_denial
from eai.api.errors import MethodNotAllowed
from eai.api.etags import NotModified
from eai.api.field_faults import refusal_of
from eai.api.problems import problem_response
from eai.api.requirement import known_subject
from eai.kernel.errors import BadRequest, EaiError, NotFound

Handler = Callable[[Request, Any], Coroutine[Any, Any, Response]]

_DENIALS = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})


async def answer_error(request: Request, error: EaiError) -> Response:
    """Tell of `error`; what was refused to somebody known is audited first."""
    subject = known_subject(request)
    if subject is not None and error.status in _DENIALS:
        try:
            await record_denial(request, subject, error)
        except EaiError as unaudited:
            return problem_response(unaudited, request.scope)
    return problem_response(error, request.scope)


async def answer_validation(request: Request, error: RequestValidationError) -> Response:
    """Tell which fields were refused."""
    return await answer_error(request, refusal_of(error))


async def answer_http(request: Request, error: HTTPException) -> Response:
    """Tell of what the framework itself refuses: unrouted paths and methods."""
    if error.status_code == HTTPStatus.NOT_FOUND:
        return problem_response(NotFound(), request.scope)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return problem_response(MethodNotAllowed(_methods_of(request)), request.scope)
    return problem_response(BadRequest(), request.scope)


async def answer_unchanged(_request: Request, answer: NotModified) -> Response:
    """The caller has this representation already."""
    return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"etag": answer.tag})


def _methods_of(request: Request) -> set[str]:
    path = request.scope["path"]
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    methods = [route.methods or set() for route in routes if route.path_regex.match(path)]
    return set().union(*methods)


HANDLERS = cast(
    "dict[int | type[Exception], Handler]",
    {
        EaiError: answer_error,
        RequestValidationError: answer_validation,
        HTTPException: answer_http,
        NotModified: answer_unchanged,
    },
)
