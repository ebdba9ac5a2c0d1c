"""How a body comes in: its type, its size and its JSON are judged before anything else looks at it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

import orjson
from fastapi import params
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.types import Message, Receive, Scope

from eai.api.errors import (
    ContentEncodingUnsupported,
    LengthRequired,
    PayloadTooLarge,
    UnsupportedMediaType,
)
from eai.api.forms import MAX_FIELDS, MAX_FILES, FormInvalid, read_form
from eai.api.json_body import parse_json
from eai.kernel.errors import InvalidInput

JSON = "application/json"
MULTIPART = "multipart/form-data"
MIB = 1024 * 1024
_BLOCK = 64 * 1024
_PARSED_IN_A_THREAD = 256 * 1024

if TYPE_CHECKING:
    from hmac import HMAC

_MARK = "eai_intake"
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Intake:
    """What an operation reads: bodies of these media types, of at most so many bytes."""

    accepted: tuple[str, ...] = ()
    max_bytes: int = MIB

    @classmethod
    def of(cls, endpoint: Callable[..., Any], body: params.Body | None) -> "Intake":
        """As the endpoint is marked by `accepts`, else as its parameters say."""
        marked: Intake = getattr(endpoint, _MARK, cls())
        if marked.accepted or body is None:
            return marked
        return replace(marked, accepted=(MULTIPART if isinstance(body, params.Form) else JSON,))

    async def read(self, request: Request) -> Request:
        """The request with its body in hand; what it costs is bounded by what it declares.

        Raises ContentEncodingUnsupported, LengthRequired, PayloadTooLarge, UnsupportedMediaType,
        MalformedJson and InvalidInput.
        """
        if not self.accepted:
            return request
        headers = request.headers
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise ContentEncodingUnsupported
        length = headers.get("content-length")
        if length is None and "transfer-encoding" in headers:
            raise LengthRequired
        if _declared_length(request) > self.max_bytes:
            raise PayloadTooLarge(limit_bytes=self.max_bytes)
        media_type = _media_type(headers.get("content-type", ""))
        is_json = media_type == JSON or media_type.endswith("+json")
        if length not in {None, "0"} and (JSON if is_json else media_type) not in self.accepted:
            raise UnsupportedMediaType(self.accepted)
        inbound = InboundRequest(request.scope, self._bounded(request.receive))
        await inbound.load(is_json=is_json)
        return inbound

    def _bounded(self, receive: Receive) -> Receive:
        received = 0

        async def bounded() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.max_bytes:
                raise PayloadTooLarge(limit_bytes=self.max_bytes)
            return message

        return bounded


class InboundRequest(Request):
    """A request whose body was read and judged; `json()` gives the value that was judged."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        super().__init__(scope, receive)
        self._value: Any = None

    async def load(self, *, is_json: bool) -> None:
        """Read the body as what it is."""
        if is_json:
            body = await self.body()
            if len(body) > _PARSED_IN_A_THREAD:
                self._value = await asyncio.to_thread(parse_json, body)
            else:
                self._value = parse_json(body) if body else None
            return
        try:
            self._form = await read_form(self)
        except FormInvalid:
            limits = {"max_files": str(MAX_FILES), "max_fields": str(MAX_FIELDS)}
            fault = {"path": "body", "code": "multipart_invalid", "message": "", **limits}
            raise InvalidInput(fault) from None

    async def json(self) -> Any:
        """The judged value."""
        return self._value

    async def add_to(self, digest: "HMAC") -> None:
        """Digest what was read: a value without its key order, a form without its boundary."""
        if self._form is None:
            digest.update(orjson.dumps(self._value, option=orjson.OPT_SORT_KEYS))
            return
        for name, value in self._form.multi_items():
            digest.update(orjson.dumps([name, value if isinstance(value, str) else value.filename]))
            if isinstance(value, UploadFile):
                await _add_file(value, digest)


def accepts(*media_types: str, max_bytes: int = MIB) -> Callable[[Endpoint], Endpoint]:
    """Mark an endpoint that reads other types than its parameters say, or larger bodies."""

    def mark(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _MARK, Intake(media_types, max_bytes))
        return endpoint

    return mark


def validated(model: type[Model], value: object) -> Model:
    """`value` as `model`, for an endpoint that reads its body itself. Raises RequestValidationError."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise RequestValidationError(
            [{**fault, "loc": ("body", *fault["loc"])} for fault in faults]
        ) from None


def is_large(request: Request) -> bool:
    """Whether the body is said to be larger than what most operations accept."""
    return _declared_length(request) > MIB


def refuse_nul(scope: Scope) -> None:
    """Raise InvalidInput for a query string with U+0000, which PostgreSQL cannot hold."""
    if b"%00" in scope["query_string"]:
        parts = [part.decode("latin-1") for part in scope["query_string"].split(b"&") if b"%00" in part]
        names = [unquote(part.partition("=")[0]) for part in parts]
        raise InvalidInput(*({"path": name, "code": "string_nul", "message": ""} for name in names))


def _declared_length(request: Request) -> int:
    length = request.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else 0


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


async def _add_file(file: UploadFile, digest: "HMAC") -> None:
    digest.update(orjson.dumps([file.content_type, file.size]))
    while block := await file.read(_BLOCK):
        digest.update(block)
    await file.seek(0)
