"""Reads what a provider answered in OpenAI's form, and of rerankers in the form that Cohere began.

Nothing here quotes an answer in an error: it may hold the very text that was sent.
"""

import base64
import binascii
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import orjson

from eai.gateway.ports import ProviderCompletion, ProviderDelta, ProviderEmbeddings, ProviderRanking

Json = Mapping[str, Any]

END_OF_STREAM = b"[DONE]"


class Unreadable(Exception):
    """An answer that is not of the promised form."""


def parsed(body: bytes) -> Json:
    """The object in `body`, unless it tells of an error. Raises Unreadable."""
    answer = _loaded(body)
    if not isinstance(answer, dict) or answer.get("error"):
        raise Unreadable
    return answer


def _loaded(body: bytes) -> object:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        # The library's error holds the document, so ours is raised where it is no longer at hand.
        return None


def embeddings(answer: Json) -> ProviderEmbeddings:
    """Vectors as lists of numbers or as packed floats. Raises Unreadable, also where no model is named."""
    model = answer.get("model")
    if not isinstance(model, str):
        raise Unreadable
    items = [(_index(item), _vector(item.get("embedding"))) for item in _objects(answer, "data")]
    return ProviderEmbeddings(items, model, _first_count(answer, ("usage", "prompt_tokens")))


def ranking(answer: Json) -> ProviderRanking:
    """Scores by index; what has no number for an index was never sent and is left out. Raises Unreadable."""
    items = [
        (item["index"], _number(item.get("relevance_score")))
        for item in _objects(answer, "results")
        if _is_whole(item.get("index"))
    ]
    tokens = _first_count(
        answer,
        ("usage", "total_tokens"),
        ("meta", "tokens", "input_tokens"),
        ("meta", "billed_units", "total_tokens"),
    )
    return ProviderRanking(items, _text(answer.get("model")), tokens)


def completion(answer: Json) -> ProviderCompletion:
    """A whole answer. Raises Unreadable."""
    choice = next(iter(_objects(answer, "choices")), None)
    message = choice.get("message") if choice is not None else None
    if choice is None or not isinstance(message, dict):
        raise Unreadable
    return ProviderCompletion(
        content=_content(message),
        finish_reason=_text(choice.get("finish_reason")),
        model=_text(answer.get("model")),
        read_tokens=_first_count(answer, ("usage", "prompt_tokens")),
        written_tokens=_first_count(answer, ("usage", "completion_tokens")),
    )


def delta(answer: Json) -> ProviderDelta:
    """One piece of a streamed answer. Raises Unreadable."""
    choice = next(iter(_objects(answer, "choices")), {})
    piece = choice.get("delta") or {}
    if not isinstance(piece, dict):
        raise Unreadable
    return ProviderDelta(
        content=_content(piece),
        finish_reason=_text(choice.get("finish_reason")),
        model=_text(answer.get("model")),
        read_tokens=_first_count(answer, ("usage", "prompt_tokens")),
        written_tokens=_first_count(answer, ("usage", "completion_tokens")),
    )


async def events(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each server-sent event; whatever else such a stream may hold is passed over."""
    parts: list[bytes] = []
    async for line in _lines(chunks):
        if line.startswith(b"data:"):
            parts.append(line[5:].removeprefix(b" "))
        elif not line and parts:
            yield b"\n".join(parts)
            parts = []
    if parts:
        yield b"\n".join(parts)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    # A line may come in a million pieces: it grows in place, and is copied once, when it ends.
    rest = bytearray()
    async for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest += first
        for begun in others:
            yield bytes(rest).removesuffix(b"\r")
            rest = bytearray(begun)
    if rest:
        yield bytes(rest)


def _objects(answer: Json, name: str) -> Sequence[Json]:
    found = answer.get(name)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise Unreadable
    return found


def _index(item: Json) -> int:
    index = item.get("index")
    if not _is_whole(index):
        raise Unreadable
    return index


def _vector(value: object) -> Sequence[float]:
    if isinstance(value, list):
        return value
    packed = _unpacked(value) if isinstance(value, str) else None
    if packed is None or len(packed) % 4:
        raise Unreadable
    vector: Sequence[float] = np.frombuffer(packed, dtype="<f4")  # type: ignore[assignment]
    return vector


def _unpacked(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _content(message: Json) -> str:
    content = message.get("content")
    if content is None:
        return ""
    if not isinstance(content, str):
        raise Unreadable
    return content


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable
    return float(value)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _first_count(answer: Json, *paths: tuple[str, ...]) -> int | None:
    """The first whole number at one of these places; a count is never worth refusing an answer."""
    for path in paths:
        value: Any = answer
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if _is_whole(value):
            return value
    return None
