import copy

from eai.retrieval.pipeline import retrieval_pipeline
from tests.unit.retrieval.passages import question


def test_the_stages_and_their_order() -> None:
    nobody = object()
    pipeline = retrieval_pipeline(nobody, nobody, nobody, store="test")  # type: ignore[arg-type]
    edges = [(sender, receiver) for sender, receiver, _ in pipeline.graph.edges]
    assert edges == [("embed", "search"), ("search", "fuse"), ("fuse", "recheck"), ("recheck", "cite")]


def test_what_travels_is_shared_and_not_copied() -> None:
    asked = question()
    assert copy.deepcopy({"question": asked})["question"] is asked
