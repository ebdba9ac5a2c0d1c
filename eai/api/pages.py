"""The pages for people: the API page and one page per error code. Nothing is fetched from elsewhere."""

from collections.abc import Mapping
from functools import cache
from html import escape
from importlib import resources

import orjson
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from eai.api.openapi import describe
from eai.kernel.errors import NotFound
from eai.platform.i18n import Language, Message, messages, negotiate

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {"content-security-policy": _POLICY, "cache-control": "no-cache"}
_FILES = {
    "/docs": ("docs.html", "text/html"),
    "/docs/docs.css": ("docs.css", "text/css"),
    "/docs/docs.js": ("docs.js", "text/javascript"),
}
_TITLES = {Language.EN: "Error codes", Language.FR: "Codes d'erreur"}


def mount(app: FastAPI) -> None:
    """Add the pages and the document that they show."""
    app.add_route("/openapi.json", _openapi, include_in_schema=False)
    for path in _FILES:
        app.add_route(path, _file, include_in_schema=False)
    app.add_route("/docs/errors", _all_errors, include_in_schema=False)
    app.add_route("/docs/errors/{code}", _one_error, include_in_schema=False)


async def _openapi(request: Request) -> Response:
    app: FastAPI = request.app
    if app.openapi_schema is None:
        app.openapi_schema = describe(app.routes)
    return Response(orjson.dumps(app.openapi_schema), media_type="application/json")


async def _file(request: Request) -> Response:
    name, media_type = _FILES[request.scope["path"]]
    return Response(_content(name), media_type=media_type, headers=_HEADERS)


async def _all_errors(request: Request) -> Response:
    return _errors(request, messages())


async def _one_error(request: Request) -> Response:
    code = request.path_params["code"]
    if code not in messages():
        raise NotFound
    return _errors(request, {code: messages()[code]})


def _errors(request: Request, shown: Mapping[str, Message]) -> Response:
    language = negotiate(request.headers.get("accept-language"))
    rows = "".join(_row(code, message[language]) for code, message in sorted(shown.items()))
    title = _TITLES[language]
    page = (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>'
        f'<link rel="stylesheet" href="/docs/docs.css"></head><body><h1>{title}</h1>'
        f"<table><tbody>{rows}</tbody></table></body></html>"
    )
    return HTMLResponse(page, headers={**_HEADERS, "content-language": language, "vary": "Accept-Language"})


def _row(code: str, text: str) -> str:
    return (
        f'<tr id="{escape(code)}"><th scope="row"><a href="/docs/errors/{escape(code)}">'
        f"<code>{escape(code)}</code></a></th><td>{escape(text)}</td></tr>"
    )


@cache
def _content(name: str) -> bytes:
    return resources.files("eai.api").joinpath("static", name).read_bytes()
