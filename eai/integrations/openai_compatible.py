"""Providers that speak OpenAI's HTTP form: its own service, vLLM, LiteLLM's proxy and many others.

A request holds what the registration and the call say, and nothing a caller could slip in. The address
of an endpoint is what such clients call a base URL; one without a path is taken to mean `/v1`.
"""

import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import orjson

from eai.gateway.errors import EgressDenied, ProviderResponseInvalid
from eai.gateway.failures import ProviderFailure, retry_after_s
from eai.gateway.ports import (
    ChatMessage,
    EmbeddingRole,
    ProviderCompletion,
    ProviderDelta,
    ProviderEmbeddings,
    ProviderRanking,
    Target,
)
from eai.gateway.templates import ROLE_PARAMETERS, TEXT_PREFIX
from eai.integrations import openai_answers as answers
from eai.integrations.packed_vectors import PARAMETER, PackedVectors
from eai.platform.egress import AddressRefused
from eai.platform.outbound import Failure, Outbound, OutboundFailed

Json = Mapping[str, Any]
Options = Mapping[str, float | int]

_ID_HEADERS = ("X-Request-Id", "X-Client-Request-Id", "X-LiteLLM-Call-Id")
"""Where servers take a caller's name for an exchange, to give it back with the answer."""
_MARKERS = re.compile(r"eai-[0-9a-f]{32}")

_MARGIN = 1024 * 1024
_MOST_NUMBERS = 8192
_BYTES_PER_NUMBER = 40
_BYTES_PER_CHARACTER = 12
"""Of an answer that repeats a text: every character may be written as two of `\\uXXXX`."""
_BYTES_PER_TOKEN = 2048

_CHAT = "/chat/completions"
_OPENAI_HOST = "api.openai.com"
"""Its newer models refuse `max_tokens`, while many other servers know nothing else."""


class OpenAiCompatible:
    """One per process, for every endpoint of this kind."""

    def __init__(self, outbound: Outbound, *, now: Callable[[], float] = time.time) -> None:
        self._outbound = outbound
        self._now = now
        self._packed = PackedVectors()

    async def embed(
        self, target: Target, texts: Sequence[str], role: EmbeddingRole, dimensions: int | None
    ) -> ProviderEmbeddings:
        """See `gateway.ports.Provider`."""
        side = target.model.roles.get(role, {})
        prefix = side.get(TEXT_PREFIX, "")
        # Nothing else is ever taken from a model's row, whatever it may hold.
        body: dict[str, Any] = {name: text for name, text in side.items() if name in ROLE_PARAMETERS}
        body |= {"model": target.model.provider_model, "input": [prefix + text for text in texts]}
        if dimensions is not None and len(target.model.dimensions) > 1:
            body["dimensions"] = dimensions
        is_packed = self._packed.are_asked_of(target)
        if is_packed:
            body |= PARAMETER
        # Vectors of another size are read too: they are an error of their own.
        numbers = len(texts) * max(_MOST_NUMBERS, *target.model.dimensions)
        try:
            with _told(target):
                answer = await self._post(target, "/embeddings", body, numbers * _BYTES_PER_NUMBER)
        except ProviderFailure as failure:
            raise self._packed.failed(target, failure, was_asked=is_packed) from None
        with _told(target):
            embeddings = answers.embeddings(answer)
        self._packed.answered(target, was_asked=is_packed)
        return embeddings

    async def rerank(self, target: Target, query: str, documents: Sequence[str]) -> ProviderRanking:
        """See `gateway.ports.Provider`."""
        body = {
            "model": target.model.provider_model,
            "query": query,
            "documents": list(documents),
            "top_n": len(documents),
        }
        # An answer may repeat the documents.
        size = sum(len(document) for document in documents) * _BYTES_PER_CHARACTER
        with _told(target):
            return answers.ranking(await self._post(target, "/rerank", body, size))

    async def chat(
        self, target: Target, messages: Sequence[ChatMessage], options: Options
    ) -> ProviderCompletion:
        """See `gateway.ports.Provider`."""
        body = _conversation(target, messages, options)
        with _told(target):
            return answers.completion(await self._post(target, _CHAT, body, _size(options)))

    async def stream_chat(
        self, target: Target, messages: Sequence[ChatMessage], options: Options
    ) -> AsyncIterator[ProviderDelta]:
        """See `gateway.ports.Provider`."""
        body = {
            **_conversation(target, messages, options),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        with _told(target):
            async with aclosing(self._events(target, body, _size(options))) as events:
                async for answer in events:
                    yield answers.delta(answer)

    async def _post(self, target: Target, path: str, body: Json, size: int) -> Json:
        marker = _marker()
        answer = await self._outbound.post(
            _url(target, path),
            headers=_headers(target, marker),
            body=_written(body),
            deadline_s=target.deadline_s,
            limit_bytes=_MARGIN + size,
        )
        self._check(answer.status, answer.headers, marker)
        found = answers.parsed(answer.body)
        _check_marker(marker, found.get("id"))
        return found

    async def _events(self, target: Target, body: Json, size: int) -> AsyncGenerator[Json, None]:
        marker = _marker()
        has_begun = False
        async with self._outbound.open(
            "POST",
            _url(target, _CHAT),
            headers=_headers(target, marker),
            body=_written(body),
            deadline_s=target.deadline_s,
        ) as opened:
            self._check(opened.status, opened.headers, marker)
            async with aclosing(opened.chunks(limit_bytes=_MARGIN + size)) as chunks:
                async for event in answers.events(chunks):
                    if event == answers.END_OF_STREAM:
                        return
                    found = answers.parsed(event)
                    _check_marker(marker, found.get("id"))
                    has_begun = True
                    yield found
        if not has_begun:
            raise answers.Unreadable

    def _check(self, status: int, headers: Mapping[str, str], marker: str) -> None:
        if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            raise ProviderFailure.of_status(status, retry_after_s(headers.get("retry-after"), self._now()))
        for name in _ID_HEADERS:
            _check_marker(marker, headers.get(name.lower()))


@contextmanager
def _told(target: Target) -> Iterator[None]:
    """What went wrong underneath, as the gateway tells it apart. None of these errors holds any content."""
    try:
        yield
    except AddressRefused as refused:
        raise EgressDenied(provider=target.endpoint.name) from refused
    except answers.Unreadable as unreadable:
        raise ProviderResponseInvalid(model=target.model.name) from unreadable
    except OutboundFailed as failed:
        if failed.failure is Failure.UNREADABLE:
            raise ProviderResponseInvalid(model=target.model.name) from failed
        raise ProviderFailure(is_retryable=True, was_sent=failed.was_sent, reason=failed.failure) from failed


def _url(target: Target, path: str) -> str:
    url = (target.endpoint.url or "").rstrip("/")
    return url + path if urlsplit(url).path else f"{url}/v1{path}"


def _headers(target: Target, marker: str) -> dict[str, str]:
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "User-Agent": "eai",
        **dict.fromkeys(_ID_HEADERS, marker),
    }
    if target.api_key is not None:
        headers["Authorization"] = f"Bearer {target.api_key}"
    return headers


def _marker() -> str:
    """A name for one exchange that means nothing to anybody else."""
    return f"eai-{uuid4().hex}"


def _check_marker(marker: str, value: object) -> None:
    """Raise where an answer carries the name of another exchange: then it was meant for somebody else."""
    if isinstance(value, str) and any(found != marker for found in _MARKERS.findall(value)):
        raise answers.Unreadable


def _written(body: Json) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        # Half of a surrogate pair, which no provider could be sent.
        raise ProviderFailure(is_retryable=False, was_sent=False, reason="unwritable") from None


def _conversation(target: Target, messages: Sequence[ChatMessage], options: Options) -> dict[str, Any]:
    is_openai = urlsplit(target.endpoint.url or "").hostname == _OPENAI_HOST
    bound = "max_completion_tokens" if is_openai else "max_tokens"
    body: dict[str, Any] = {
        "model": target.model.provider_model,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        bound: int(options["max_tokens"]),
    }
    if "temperature" in options:
        body["temperature"] = options["temperature"]
    return body


def _size(options: Options) -> int:
    return int(options["max_tokens"]) * _BYTES_PER_TOKEN
