"""Asks one question as several people, and works out why their answers differ."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from uuid import uuid4

from eai.access.classification import Classification
from eai.cli.demo.api import Api, DemoFailed, Json, Refused
from eai.cli.demo.scenario import Person, Question, Scenario, Source
from eai.cli.demo.seeded import Seeded

_EXCERPT = 170
_WORD = re.compile(r"\w{3,}")
_PART_END = re.compile(r"(?<=[.!?])\s+|\n+")
_CELL = re.compile(r"[|>#]+")
_MARKUP = re.compile(r"[*_`]+")


@dataclass(frozen=True, slots=True)
class Citation:
    """One passage that somebody was shown, and the document it is from."""

    source: Source
    document: str
    chunk: str
    version: str
    start: int
    end: int
    level: str
    score: float
    excerpt: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What one person was shown."""

    person: Person
    citations: tuple[Citation, ...]
    warnings: tuple[str, ...]

    @property
    def files(self) -> frozenset[str]:
        """The files that the passages are from."""
        return frozenset(citation.source.file for citation in self.citations)


@dataclass(frozen=True, slots=True)
class Closed:
    """What `person` was answered on opening, by its id, a passage that only somebody else may read."""

    person: Person
    title: str
    status: int
    code: str


async def ask(url: str, scenario: Scenario, seeded: Seeded, question: Question) -> list[Answer]:
    """The answers, in the order of `question.by`. Raises DemoFailed when one holds what it must not."""
    answers = [await _ask_as(url, scenario, seeded, question, name) for name in question.by]
    for answer in answers:
        leaked = [c.source.title for c in answer.citations if not c.source.is_open_to(answer.person)]
        if leaked:
            raise DemoFailed(f"{answer.person.name} was shown what is not theirs to read: {leaked[0]}")
    return answers


def keeps_its_promise(question: Question, answers: Sequence[Answer]) -> bool:
    """Whether everybody was shown the files that the question says they are."""
    finds = question.finds or {}
    return all(finds.get(answer.person.name, frozenset()) <= answer.files for answer in answers)


def withheld_from(answer: Answer, other: Answer) -> tuple[Citation, ...]:
    """Passages of `other` that the person of `answer` may not read, one for each document."""
    firsts = {c.document: c for c in reversed(other.citations) if not c.source.is_open_to(answer.person)}
    return tuple(citation for citation in other.citations if firsts.get(citation.document) is citation)


async def knock(url: str, seeded: Seeded, person: Person, citation: Citation) -> Closed:
    """Open a passage that `person` may not read. Raises DemoFailed unless it is as if it did not exist."""
    async with Api(url, seeded.keys[person.name]) as api:
        hidden = await _refusal(api, seeded.base, citation.document, citation.chunk)
        missing = await _refusal(api, seeded.base, str(uuid4()), str(uuid4()))
    if (hidden.status, hidden.message) != (missing.status, missing.message):
        raise DemoFailed(f"{person.name} can tell that {citation.source.title} exists")
    return Closed(person, citation.source.title, hidden.status, hidden.code)


async def _refusal(api: Api, base: str, document: str, chunk: str) -> Refused:
    path = f"/v1/knowledge-bases/{base}/documents/{document}/chunks/{chunk}"
    try:
        await api.get(path)
    except Refused as refusal:
        if refusal.status == HTTPStatus.NOT_FOUND:
            return refusal
        raise
    raise DemoFailed(f"GET {path} was answered, and must not be")


async def _ask_as(url: str, scenario: Scenario, seeded: Seeded, question: Question, name: str) -> Answer:
    body = {"query": question.text, "top_k": scenario.top_k, "mode": "hybrid"}
    async with Api(url, seeded.keys[name]) as api:
        answer = await api.post(f"/v1/knowledge-bases/{seeded.alias}/query", body)
    citations = tuple(_citation(seeded, question, result) for result in answer["results"])
    return Answer(scenario.person(name), citations, tuple(answer["warnings"]))


def _citation(seeded: Seeded, question: Question, result: Json) -> Citation:
    return Citation(
        source=seeded.documents.get(result["document_id"]) or _somebody_elses(result),
        document=result["document_id"],
        chunk=result["chunk_id"],
        version=result["provenance"]["version"],
        start=result["position"]["start"],
        end=result["position"]["end"],
        level=result["classification"],
        score=result["score"],
        excerpt=excerpt(result["content"], question.text),
    )


def _somebody_elses(result: Json) -> Source:
    """A document that was in the base before: its readers are not known here, its level is."""
    level = Classification(result["classification"])
    return Source(result["document_id"], result["title"], "", "", level)


def excerpt(passage: str, question: str) -> str:
    """A passage from the sentence on that shares most words with the question, shortened."""
    asked = _words(question)
    parts = [" ".join(_MARKUP.sub("", _CELL.sub(" ", part)).split()) for part in _PART_END.split(passage)]
    sentences = [part for part in parts if any(character.isalnum() for character in part)]
    shared = [len(asked & _words(sentence)) for sentence in sentences]
    # Headings end without a stop.
    closed = [f"{part}:" if part[-1].isalnum() else part for part in sentences[shared.index(max(shared)) :]]
    text = " ".join(closed).rstrip(":")
    if len(text) <= _EXCERPT:
        return text
    cut = text.rfind(" ", 0, _EXCERPT)
    return f"{text[: cut if cut > 0 else _EXCERPT]} …"


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
