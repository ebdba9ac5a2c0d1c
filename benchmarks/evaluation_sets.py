"""Public retrieval sets: passages, questions, and which passage answers which question."""

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SETS = ("xquad-en", "piaf-fr")
CUT, DEPTH = 10, 100
_RESAMPLES = 2_000


@dataclass(frozen=True)
class EvaluationSet:
    """Passages and questions by position; `answers[i]` holds the passages that answer question `i`."""

    name: str
    passages: Sequence[str]
    questions: Sequence[str]
    answers: Sequence[frozenset[int]]


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over all questions of a set."""

    ndcg_at_10: float
    recall_at_100: float

    def __str__(self) -> str:
        return f"{self.ndcg_at_10:.4f} / {self.recall_at_100:.3f}"


def folder() -> Path:
    """Where the evaluation data lies: `EAI_EVAL_DATA`, by default beside the repository."""
    root = Path(__file__).parent.parent
    return Path(os.environ.get("EAI_EVAL_DATA", root.parent / "shared" / "data")) / "retrieval"


def load(name: str) -> EvaluationSet:
    """Read one set. Raises FileNotFoundError where the data is absent."""
    passages = _lines(folder() / name / "corpus.jsonl")
    questions = _lines(folder() / name / "queries.jsonl")
    position = {passage["_id"]: index for index, passage in enumerate(passages)}
    answers: dict[str, set[int]] = {}
    for line in (folder() / name / "qrels.tsv").read_text().splitlines()[1:]:
        question, passage, _ = line.split("\t")
        answers.setdefault(question, set()).add(position[passage])
    return EvaluationSet(
        name=name,
        passages=[passage["text"] for passage in passages],
        questions=[question["text"] for question in questions],
        answers=[frozenset(answers[question["_id"]]) for question in questions],
    )


def sample(whole: EvaluationSet, *, passages: int, every: int) -> EvaluationSet:
    """The first `passages` of a set, and of the questions that they answer each `every`th."""
    answered = [row for row, answers in enumerate(whole.answers) if max(answers) < passages][::every]
    return EvaluationSet(
        name=whole.name,
        passages=whole.passages[:passages],
        questions=[whole.questions[row] for row in answered],
        answers=[whole.answers[row] for row in answered],
    )


def together(first: EvaluationSet, second: EvaluationSet) -> EvaluationSet:
    """Both sets in one base: the passages and questions of `first`, then those of `second`."""
    offset = len(first.passages)
    return EvaluationSet(
        name=f"{first.name} + {second.name}",
        passages=[*first.passages, *second.passages],
        questions=[*first.questions, *second.questions],
        answers=[*first.answers, *(frozenset(row + offset for row in rows) for rows in second.answers)],
    )


def quality(evaluation: EvaluationSet, rankings: Sequence[Sequence[int]]) -> Quality:
    """How well `rankings`, one list of passages per question, find the answers."""
    pairs = list(zip(rankings, evaluation.answers, strict=True))
    return Quality(
        ndcg_at_10=sum(_ndcg(ranking, answers) for ranking, answers in pairs) / len(pairs),
        recall_at_100=sum(_recall(ranking, answers) for ranking, answers in pairs) / len(pairs),
    )


@dataclass(frozen=True, slots=True)
class Gain:
    """Mean difference in nDCG@10 between two rankings, with its 95 % interval over resampled questions."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ({self.low:+.4f} to {self.high:+.4f})"


def gain(evaluation: EvaluationSet, ranked: Sequence[Sequence[int]], over: Sequence[Sequence[int]]) -> Gain:
    """What `ranked` gains on `over`, question by question; the resampling is seeded."""
    triples = zip(ranked, over, evaluation.answers, strict=True)
    differences = np.array([_ndcg(one, answers) - _ndcg(other, answers) for one, other, answers in triples])
    draws = np.random.default_rng(0)
    size = len(differences)
    means = [differences[draws.integers(0, size, size)].mean() for _ in range(_RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return Gain(float(differences.mean()), float(low), float(high))


def _ndcg(ranking: Sequence[int], answers: frozenset[int]) -> float:
    gain = sum(1 / math.log2(rank + 2) for rank, item in enumerate(ranking[:CUT]) if item in answers)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(len(answers), CUT)))


def _recall(ranking: Sequence[int], answers: frozenset[int]) -> float:
    return len(answers.intersection(ranking[:DEPTH])) / len(answers)


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]
