"""Writes the answers of `answer_schemas`, whole or as server-sent events."""

import base64
import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import orjson

from eai.gateway.calls import Completion, Embeddings, Ranking, Usage, Vectors

DONE = b"data: [DONE]\n\n"
"""The last event of every stream that went well."""

_CHAT = "chat.completion"


def embeddings(model: str, answer: Embeddings, *, is_base64: bool = False) -> bytes:
    """The vectors of an answer."""
    vectors = np.ascontiguousarray(answer.vectors)
    rows = _packed(vectors) if is_base64 else vectors
    items = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(rows)]
    return _json(
        {"object": "list", "data": items, "model": model, "usage": _read(answer.usage)}, answer.warnings
    )


def ranking(model: str, answer: Ranking, top_n: int | None, documents: Sequence[str] | None) -> bytes:
    """The best `top_n` of a ranking; with their texts where `documents` are given."""
    results = [
        {"index": index, "relevance_score": score}
        | ({} if documents is None else {"document": documents[index]})
        for index, score in answer.ranked[:top_n]
    ]
    return _json(
        {"id": str(uuid4()), "model": model, "results": results, "usage": _read(answer.usage)},
        answer.warnings,
    )


def completion(model: str, answer: Completion) -> bytes:
    """A whole answer."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": answer.content},
        "finish_reason": answer.finish_reason,
    }
    return _json(
        {**_heading(_CHAT, answer.id, model), "choices": [choice], "usage": usage_of(answer.usage)},
        answer.warnings,
    )


def usage_of(usage: Usage) -> dict[str, int]:
    """What a call took that reads and writes."""
    return {
        "prompt_tokens": usage.read_tokens,
        "completion_tokens": usage.written_tokens,
        "total_tokens": usage.tokens,
    }


class Pieces:
    """The events of one streamed answer, in OpenAI's form."""

    def __init__(self, model: str) -> None:
        self._heading = _heading(f"{_CHAT}.chunk", uuid4(), model)
        self._is_first = True
        self._warned: set[str] = set()

    def piece(self, content: str, warnings: Sequence[str] = ()) -> bytes:
        """The next words; the first event says who speaks. A warning is told once, when it is known."""
        delta = {"content": content}
        if self._is_first:
            self._is_first = False
            delta = {"role": "assistant", **delta}
        return self._event([_choice(delta, None)], warnings=self._new(warnings))

    def end(self, finish_reason: str) -> bytes:
        """That the answer is whole."""
        return self._event([_choice({}, finish_reason)])

    def _new(self, warnings: Sequence[str]) -> Sequence[str]:
        new = [warning for warning in warnings if warning not in self._warned]
        self._warned.update(new)
        return new

    def usage(self, usage: Usage) -> bytes:
        """What it took."""
        return self._event([], usage=usage_of(usage))

    def _event(self, choices: list[Any], *, warnings: Sequence[str] = (), **more: Any) -> bytes:
        return event(_json({**self._heading, "choices": choices, **more}, warnings))


def event(data: bytes, name: str | None = None) -> bytes:
    """`data`, a line of JSON, as a server-sent event."""
    return (b"" if name is None else b"event: " + name.encode() + b"\n") + b"data: " + data + b"\n\n"


def _choice(delta: Mapping[str, str], finish_reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason}


def _heading(kind: str, answer: UUID, model: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{answer.hex}", "object": kind, "created": int(time.time()), "model": model}


def _read(usage: Usage) -> dict[str, int]:
    return {"prompt_tokens": usage.read_tokens, "total_tokens": usage.tokens}


def _packed(vectors: Vectors) -> list[str]:
    # Four bytes a number, the lowest first, as every client of this form takes them.
    return [base64.b64encode(row.tobytes()).decode() for row in vectors.astype("<f4", copy=False)]


def _json(body: dict[str, Any], warnings: Sequence[str]) -> bytes:
    whole = {**body, "warnings": list(warnings)} if warnings else body
    return orjson.dumps(whole, option=orjson.OPT_SERIALIZE_NUMPY)
