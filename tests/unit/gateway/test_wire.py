"""Answers byte by byte, as the providers' own clients take them."""

import base64
import json
from typing import Any
from uuid import UUID

import numpy as np

from eai.audit.entries import Evidence
from eai.gateway import wire
from eai.gateway.answer_schemas import CompletionOut, EmbeddingsOut, RankingOut
from eai.gateway.calls import Completion, Embeddings, Ranking, Usage

NOTHING = Evidence()
VECTORS = np.array([[1.0, -0.5], [0.25, 3.0]], dtype=np.float32)
ID = UUID("00000000-0000-4000-8000-000000000001")


def test_vectors_are_written_in_their_order() -> None:
    body = json.loads(wire.embeddings("m", Embeddings(VECTORS, Usage(7), NOTHING)))
    assert body == {
        "object": "list",
        "data": [
            {"object": "embedding", "index": 0, "embedding": [1.0, -0.5]},
            {"object": "embedding", "index": 1, "embedding": [0.25, 3.0]},
        ],
        "model": "m",
        "usage": {"prompt_tokens": 7, "total_tokens": 7},
    }
    EmbeddingsOut.model_validate(body)


def test_vectors_in_base64_are_little_endian_floats() -> None:
    body = json.loads(wire.embeddings("m", Embeddings(VECTORS, Usage(7), NOTHING), is_base64=True))
    packed = [base64.b64decode(item["embedding"]) for item in body["data"]]
    assert packed[0] == b"\x00\x00\x80\x3f\x00\x00\x00\xbf"
    assert np.frombuffer(packed[1], dtype="<f4").tolist() == [0.25, 3.0]
    EmbeddingsOut.model_validate(body)


def test_a_view_of_a_larger_matrix_is_written_all_the_same() -> None:
    wide = np.arange(12, dtype=np.float32).reshape(3, 4)[::2, ::2]
    body = json.loads(wire.embeddings("m", Embeddings(wide, Usage(1), NOTHING)))
    assert [item["embedding"] for item in body["data"]] == [[0.0, 2.0], [8.0, 10.0]]


def test_warnings_are_told_where_there_are_any() -> None:
    body = json.loads(wire.embeddings("m", Embeddings(VECTORS, Usage(7), NOTHING, ("dlp_redacted",))))
    assert body["warnings"] == ["dlp_redacted"]


def test_a_ranking_is_cut_and_shows_texts_only_when_asked() -> None:
    answer = Ranking(((2, 0.9), (0, 0.5), (1, 0.1)), Usage(5), NOTHING)
    bare = json.loads(wire.ranking("m", answer, 2, None))
    assert bare["results"] == [{"index": 2, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.5}]
    shown = json.loads(wire.ranking("m", answer, None, ["a", "b", "c"]))
    assert [result["document"] for result in shown["results"]] == ["c", "a", "b"]
    RankingOut.model_validate_json(wire.ranking("m", answer, None, ["a", "b", "c"]))


def test_a_whole_answer() -> None:
    body = json.loads(wire.completion("m", Completion("hello", "stop", Usage(3, 2), NOTHING, ID)))
    assert body.pop("created") > 1_700_000_000
    assert body == {
        "id": "chatcmpl-00000000000040008000000000000001",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }
    CompletionOut.model_validate({**body, "created": 1})


def test_a_streamed_answer() -> None:
    pieces = wire.Pieces("m")
    told = [
        pieces.piece("he\nllo", ("dlp_redacted",)),
        pieces.piece(" you", ("dlp_redacted",)),
        pieces.end("length"),
        pieces.usage(Usage(3, 2)),
    ]
    bodies = [_read(event) for event in told]
    assert {(body["object"], body["model"]) for body in bodies} == {("chat.completion.chunk", "m")}
    assert len({body["id"] for body in bodies}) == 1
    assert bodies[0]["warnings"] == ["dlp_redacted"]
    assert "warnings" not in bodies[1]
    assert [body["choices"] for body in bodies] == [
        [{"index": 0, "delta": {"role": "assistant", "content": "he\nllo"}, "finish_reason": None}],
        [{"index": 0, "delta": {"content": " you"}, "finish_reason": None}],
        [{"index": 0, "delta": {}, "finish_reason": "length"}],
        [],
    ]
    assert bodies[3]["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def _read(event: bytes) -> dict[str, Any]:
    assert event.startswith(b"data: ")
    assert event.endswith(b"\n\n")
    assert event.count(b"\n") == 2
    return dict(json.loads(event.removeprefix(b"data: ")))
