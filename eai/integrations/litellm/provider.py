"""Providers that LiteLLM knows how to speak to, from inside this process.

The library turns a call into its provider's form and back. Where it goes, as whom, and how often, is
decided here; what went wrong is read from the exchange and not from the library's errors, whose words
quote keys and texts.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx

from eai.gateway.answers import believed, believed_completion, believed_delta, size_of
from eai.gateway.errors import EgressDenied, ModelDisabled, ProviderResponseInvalid
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
from eai.gateway.registry import Capability
from eai.gateway.templates import TEXT_PREFIX, applied_roles
from eai.integrations.litellm.library import Library
from eai.integrations.litellm.routes import Route, route_of
from eai.integrations.litellm.transport import Exchange, Strayed
from eai.platform.egress import AddressRefused
from eai.platform.outbound import Failure, Outbound, OutboundFailed

T = TypeVar("T")
Options = Mapping[str, float | int]

_MARGIN = 1024 * 1024
_BYTES_OF_A_VECTOR = 8192 * 40
_BYTES_PER_CHARACTER = 12
_BYTES_PER_TOKEN = 2048
_FILE_LIKE = ("data:", "files/", "gs://")
"""How a text begins that the library would send as something else than a text."""


@dataclass(frozen=True, slots=True)
class _Way:
    """Where one call goes, in the library's words."""

    route: Route
    url: str
    model: str


@dataclass(frozen=True, slots=True)
class _Asked(Generic[T]):
    """What is asked for beyond what the registration says, and how the answer is read."""

    fields: Mapping[str, Any]
    read: Callable[[Any], T]
    most_bytes: int
    requests: int = 1


class InProcessLiteLLM:
    """One per process, for the endpoints that were approved as one of these providers."""

    def __init__(
        self, outbound: Outbound, *, library: Library | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self._outbound = outbound
        self._library = library or Library()
        self._now = now

    @staticmethod
    def is_available() -> bool:
        """Whether the extra `litellm` is installed; imports nothing."""
        return Library.is_available()

    async def embed(
        self, target: Target, texts: Sequence[str], role: EmbeddingRole, dimensions: int | None
    ) -> ProviderEmbeddings:
        """See `gateway.ports.Provider`."""
        way = _way(target, Capability.EMBEDDINGS)
        litellm = await self._library.loaded()
        model = target.model
        side = dict(applied_roles(model.provider_model, model.roles, way.route.accepted())[role])
        prefix = side.pop(TEXT_PREFIX, "")
        sent = [_as_text(way.route, prefix + text) for text in texts]
        asked: dict[str, Any] = {**side, **way.route.extra, "input": sent}
        if dimensions is not None and len(model.dimensions) > 1:
            asked["dimensions"] = dimensions
        size, requests = len(texts) * _BYTES_OF_A_VECTOR, way.route.requests(len(texts))
        wanted = _Asked(asked, _embeddings, size, requests)
        found = await self._asked(target, way, litellm.aembedding, wanted)
        tokens = believed(found.tokens, sent) if way.route.counts else None
        return ProviderEmbeddings(found.items, found.model if way.route.names_model else None, tokens)

    async def rerank(self, target: Target, query: str, documents: Sequence[str]) -> ProviderRanking:
        """See `gateway.ports.Provider`."""
        way = _way(target, Capability.RERANK)
        litellm = await self._library.loaded()
        size = sum(map(len, documents)) * _BYTES_PER_CHARACTER
        asked = {
            "query": query,
            "documents": list(documents),
            "top_n": len(documents),
            "return_documents": False,
        }
        return await self._asked(target, way, litellm.arerank, _Asked(asked, _ranking, size))

    async def chat(
        self, target: Target, messages: Sequence[ChatMessage], options: Options
    ) -> ProviderCompletion:
        """See `gateway.ports.Provider`."""
        way = _way(target, Capability.CHAT)
        litellm = await self._library.loaded()
        most = int(options["max_tokens"])
        asked = _Asked(_conversation(messages, options), _completion, most * _BYTES_PER_TOKEN)
        found = await self._asked(target, way, litellm.acompletion, asked)
        return believed_completion(found, [message.content for message in messages], most)

    async def stream_chat(
        self, target: Target, messages: Sequence[ChatMessage], options: Options
    ) -> AsyncIterator[ProviderDelta]:
        """See `gateway.ports.Provider`."""
        way = _way(target, Capability.CHAT)
        litellm = await self._library.loaded()
        most, size = int(options["max_tokens"]), size_of([message.content for message in messages])
        exchange = self._exchange(target, way, most * _BYTES_PER_TOKEN)
        asked = {
            **_conversation(messages, options), "stream": True, "stream_options": {"include_usage": True},
        }  # fmt: skip
        try:
            pieces = await self._answered(
                target, exchange, lambda: litellm.acompletion(**self._known(target, way), **asked)
            )
            end = object()
            while True:
                piece = await self._answered(target, exchange, lambda: anext(pieces, end))
                if piece is end:
                    return
                yield believed_delta(_delta(piece), size, most)
        finally:
            await exchange.aclose()

    async def _asked(
        self, target: Target, way: _Way, call: Callable[..., Awaitable[Any]], asked: _Asked[T]
    ) -> T:
        exchange = self._exchange(target, way, asked.most_bytes, requests=asked.requests)

        async def answer() -> T:
            return asked.read(await call(**self._known(target, way), **asked.fields))

        try:
            return await self._answered(target, exchange, answer)
        finally:
            await exchange.aclose()

    async def _answered(self, target: Target, exchange: Exchange, call: Callable[[], Awaitable[T]]) -> T:
        try:
            return await self._library.run(exchange, call)
        except Exception:  # noqa: BLE001 the library's errors are without number, and quote what was sent
            told = self._told(target, exchange)
            if isinstance(told, ProviderFailure):
                # Of several requests one may have been worked on before another failed.
                told.was_sent = told.was_sent or exchange.has_succeeded
        raise told

    def _told(self, target: Target, exchange: Exchange) -> Exception:
        """What went wrong, as the gateway tells it apart. None of it holds any content."""
        error = exchange.error
        if isinstance(error, AddressRefused | Strayed):
            return EgressDenied(provider=target.endpoint.name)
        if isinstance(error, OutboundFailed) and error.failure is not Failure.UNREADABLE:
            return ProviderFailure(is_retryable=True, was_sent=error.was_sent, reason=error.failure)
        if error is None and exchange.status is None:
            return ProviderFailure(is_retryable=False, was_sent=False, reason="library")
        if exchange.status is not None and not httpx.codes.is_success(exchange.status):
            wish_s = retry_after_s(exchange.headers.get("retry-after"), self._now())
            return ProviderFailure.of_status(exchange.status, wish_s)
        return ProviderResponseInvalid(model=target.model.name)

    def _exchange(self, target: Target, way: _Way, size: int, *, requests: int = 1) -> Exchange:
        return Exchange(
            self._outbound,
            way.url,
            target.api_key,
            deadline_s=target.deadline_s,
            limit_bytes=_MARGIN + size,
            requests=requests,
        )

    def _known(self, target: Target, way: _Way) -> dict[str, Any]:
        """What the registration says; nothing that is asked for can stand in its place."""
        key = target.api_key
        client = (
            self._library.openai_client(way.url, key or "") if way.route.is_openai else self._library.client()
        )
        return {
            "model": way.model,
            "api_base": way.url,
            "api_key": key,
            "client": client,
            "timeout": target.deadline_s,
            "max_retries": 0,
            "num_retries": 0,
            "caching": False,
        }


def _way(target: Target, capability: Capability) -> _Way:
    found = route_of(target.model.provider_model, capability)
    if found is None:
        raise ModelDisabled(model=target.model.name)
    route, template = found
    # Whoever chooses a model does not choose who is given the endpoint's key.
    url = target.endpoint.url if target.endpoint.template == template.name else None
    if url is None or (template.needs_key and not target.api_key):
        # Without a key, the library would take whatever the environment holds.
        raise ModelDisabled(model=target.model.name)
    name = target.model.provider_model.partition("/")[2]
    return _Way(route, url.rstrip("/") + route.paths[capability], f"{route.speaks_as}/{name}")


def _as_text(route: Route, text: str) -> str:
    return f" {text}" if route.mistakes_files and text.startswith(_FILE_LIKE) else text


def _conversation(messages: Sequence[ChatMessage], options: Options) -> dict[str, Any]:
    return {
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        **options,
    }


def _embeddings(answer: Any) -> ProviderEmbeddings:
    items = [(item["index"], item["embedding"]) for item in answer.data]
    return ProviderEmbeddings(items, answer.model, _count(answer.usage, "prompt_tokens"))


def _ranking(answer: Any) -> ProviderRanking:
    items = [(item["index"], float(item["relevance_score"])) for item in answer.results or ()]
    return ProviderRanking(items, None, None)


def _completion(answer: Any) -> ProviderCompletion:
    choice = answer.choices[0]
    return ProviderCompletion(
        content=choice.message.content or "",
        finish_reason=choice.finish_reason,
        model=answer.model,
        read_tokens=_count(getattr(answer, "usage", None), "prompt_tokens"),
        written_tokens=_count(getattr(answer, "usage", None), "completion_tokens"),
    )


def _delta(piece: Any) -> ProviderDelta:
    choice = piece.choices[0] if piece.choices else None
    return ProviderDelta(
        content=(choice.delta.content or "") if choice else "",
        finish_reason=choice.finish_reason if choice else None,
        model=piece.model,
        read_tokens=_count(getattr(piece, "usage", None), "prompt_tokens"),
        written_tokens=_count(getattr(piece, "usage", None), "completion_tokens"),
    )


def _count(usage: Any, name: str) -> int | None:
    found = getattr(usage, name, None)
    return found if isinstance(found, int) else None
