"""Good answers in OpenAI's form, and what can be wrong with them.

Texts that share words have vectors that are alike, so that a search over them finds something.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

_WORD = re.compile(r"\w+")

Change = Mapping[str, Any]


@lru_cache(maxsize=100_000)
def _word(word: str, dimensions: int) -> NDArray[np.float32]:
    seed = int.from_bytes(blake2b(word.encode(errors="replace"), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@lru_cache(maxsize=10_000)
def vector(text: str, dimensions: int) -> NDArray[np.float32]:
    """The sum of the words' vectors, of length one. Not to be written to."""
    total = np.sum([_word(word, dimensions) for word in words(text) or ["nothing"]], axis=0)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


def embeddings(request: dict[str, Any], dimensions: int, change: Change) -> bytes:
    texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
    size = change.get("dimensions", request.get("dimensions", dimensions))
    rows = [vector(text, size) for text in texts]
    if "first" in change:
        rows[0] = np.array([float(change["first"]), *rows[0][1:]])
    if change.get("is_zero"):
        rows[-1] = np.zeros(size, dtype=np.float32)
    data = [
        {"object": "embedding", "index": index, "embedding": _packed(row) if change.get("packed") else row}
        for index, row in enumerate(rows)
    ]
    if change.get("is_permuted"):
        data.reverse()
    if change.get("repeats"):
        data[-1]["index"] = 0
    data = data[: len(data) - change.get("short", 0)]
    tokens = change.get("tokens", sum(len(words(text)) + 2 for text in texts))
    return _json(
        {
            "object": "list",
            "data": data,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            **_named(request, change),
        },
        is_careless="first" in change,
    )


def rerank(request: dict[str, Any], change: Change) -> bytes:
    asked = set(words(request["query"]))
    scores = [len(asked & set(words(text))) / max(len(asked), 1) for text in request["documents"]]
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    results: list[dict[str, Any]] = [
        {"index": index, "relevance_score": scores[index], "document": {"text": request["documents"][index]}}
        for index in order
    ]
    results = results[: len(results) - change.get("short", 0)]
    if "first" in change:
        results[0]["relevance_score"] = float(change["first"])
    if "beyond" in change:
        results.insert(0, {"index": change["beyond"], "relevance_score": 1.0})
    tokens = change.get("tokens", sum(len(words(text)) + 2 for text in request["documents"]))
    return _json(
        {"results": results, "usage": {"total_tokens": tokens}, **_named(request, change)},
        is_careless="first" in change,
    )


def chat(request: dict[str, Any], change: Change) -> bytes:
    said = list(_said(request, change))
    return _json(
        {
            "object": "chat.completion",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "".join(said)},
                    "finish_reason": "stop",
                }
            ],
            "usage": _chat_usage(request, len(said), change),
            **_named(request, change),
        }
    )


def chat_pieces(request: dict[str, Any], change: Change) -> Iterator[bytes]:
    """The same answer as server-sent events."""
    named = {"object": "chat.completion.chunk", **_named(request, change)}
    said = list(_said(request, change))
    for word in said:
        yield _event({**named, "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
    if change.get("cut"):
        return
    yield _event({**named, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    yield _event({**named, "choices": [], "usage": _chat_usage(request, len(said), change)})
    yield b"data: [DONE]\n\n"


def _said(request: dict[str, Any], change: Change) -> Iterator[str]:
    if "said" in change:
        yield from (f"{'' if number == 0 else ' '}{word}" for number, word in enumerate(change["said"]))
        return
    most = request.get("max_tokens", request.get("max_completion_tokens", 16))
    for number in range(min(most, change.get("words", 5))):
        yield f"{'' if number == 0 else ' '}word{number}"


def _chat_usage(request: dict[str, Any], written: int, change: Change) -> dict[str, Any]:
    read = change.get("tokens", sum(len(words(each["content"])) + 4 for each in request["messages"]))
    return {"prompt_tokens": read, "completion_tokens": change.get("written", written)}


def _named(request: dict[str, Any], change: Change) -> dict[str, Any]:
    return {"id": change.get("id", "answer-1"), "model": change.get("model", request["model"])}


def _packed(row: NDArray[Any]) -> str:
    return base64.b64encode(row.astype("<f4").tobytes()).decode()


def _json(answer: dict[str, Any], *, is_careless: bool = False) -> bytes:
    """`is_careless` writes NaN and Infinity, which JSON does not have, as some servers do."""
    if is_careless:
        return json.dumps(answer, default=lambda row: row.tolist()).encode()
    return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)


def _event(answer: dict[str, Any]) -> bytes:
    return b"data: " + _json(answer) + b"\n\n"
