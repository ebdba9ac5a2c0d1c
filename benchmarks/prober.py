"""Somebody who asks twenty questions a second, whatever else goes on, and looks at each answer."""

import math
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import orjson
import psycopg

from benchmarks.load import Answers, Load, answers_of, begun, raw_request, require, send
from benchmarks.product import Product
from benchmarks.prose import Prose

PER_SECOND = 20
_CONNECTIONS = 8
_ASKERS = 4
_ERROR = '"error":'

T = TypeVar("T")


@dataclass(frozen=True)
class Landmark:
    """A question, and the document that has the answer."""

    question: str
    document: str


@dataclass(frozen=True)
class Shown:
    """What an answer shows: the model it was found with, and its passages, the best first."""

    model: str
    passages: tuple[tuple[str, str, str], ...]
    """Chunk, document and version."""

    @property
    def documents(self) -> set[str]:
        return {document for _, document, _ in self.passages}


@dataclass(frozen=True)
class Faults:
    """How many of the answers were errors, lacked the document, or are no generation's own."""

    errors: int
    missing: int
    mixed: int


@dataclass(frozen=True)
class Prober:
    """Who asks which base for what."""

    product: Product
    base: str
    key: str
    landmarks: Sequence[Landmark]

    async def alone(self, seconds: float) -> Answers:
        """Every question once, and then for so long, while nothing else goes on."""
        await self.known()
        return await send(self._load(seconds))

    async def beside(self, work: Awaitable[T]) -> tuple[T, Answers]:
        """Ask until `work` is done."""
        process = await begun(self._load(math.inf))
        try:
            result = await work
        except BaseException:
            process.kill()  # nobody will read what it would have to say
            raise
        process.terminate()
        return result, await answers_of(process)

    async def known(self) -> list[Shown]:
        """What is answered to each question now."""
        load = Load(self.product.port, self._requests(), _ASKERS, keeps=True)
        answers = require(await send(load), 200)
        in_order = sorted(zip(answers.numbers, answers.bodies, strict=True))
        return [_shown(body) for _, body in in_order]

    def faults(self, answers: Answers, generations: Sequence[Sequence[Shown]]) -> Faults:
        """Hold each answer against what the generations alone answer to that question."""
        errors = sum(count for status, count in answers.statuses.items() if status != "200")
        missing = mixed = 0
        for sent, body in zip(answers.numbers, answers.bodies, strict=True):
            if _ERROR in body:
                continue
            number, shown = sent % len(self.landmarks), _shown(body)
            missing += self.landmarks[number].document not in shown.documents
            mixed += shown not in [generation[number] for generation in generations]
        return Faults(errors, missing, mixed)

    def _load(self, seconds: float) -> Load:
        return Load(
            *(self.product.port, self._requests(), _CONNECTIONS, seconds), per_second=PER_SECOND, keeps=True
        )

    def _requests(self) -> list[str]:
        return query_requests(self.base, self.key, [each.question for each in self.landmarks])


async def prober(
    product: Product, base: str, key: str, count: int, classes: Sequence[int] | None = None
) -> Prober:
    """One that asks up to so many questions, whose documents are found while nothing else goes on.

    `classes` are those that the key's owner may see; without them it is everything.
    """
    likely = await landmarks(product, base, classes, 2 * count)
    asked = Prober(product, base, key, likely)
    found = [
        each
        for each, shown in zip(likely, await asked.known(), strict=True)
        if each.document in shown.documents
    ]
    if 2 * len(found) < len(likely):
        raise RuntimeError(f"only {len(found)} of {len(likely)} questions find their document")
    return Prober(product, base, key, found[:count])


def query_requests(base: str, key: str, questions: Sequence[str]) -> list[str]:
    """Each question as a request."""
    path, headers = f"/v1/knowledge-bases/{base}/query", {"Authorization": f"Bearer {key}"}
    return [raw_request("POST", path, headers, {"query": question}) for question in questions]


async def landmarks(
    product: Product, base: str, classes: Sequence[int] | None, count: int
) -> Sequence[Landmark]:
    """Questions of the words of some passage each, no two of one document; most of them find it."""
    prose = Prose()
    wanted = None if classes is None else list(classes)
    async with await psycopg.AsyncConnection.connect(product.postgres.admin_url) as admin:
        rows = await admin.execute(_PASSAGES, {"base": base, "classes": wanted, "count": count})
        return [
            Landmark(prose.question(content), str(document)) for content, document in await rows.fetchall()
        ]


def _shown(body: str) -> Shown:
    answer = orjson.loads(body)
    passages = [
        (each["chunk_id"], each["document_id"], each["provenance"]["version"]) for each in answer["results"]
    ]
    return Shown(answer["embedding_model"], tuple(passages))


# By their ids, which follow no pattern.
_PASSAGES = """
    SELECT content, document_id
      FROM (SELECT DISTINCT ON (c.document_id) c.content, c.document_id, c.id FROM eai.kb_chunks c
              JOIN eai.knowledge_bases b ON b.tenant_id = c.tenant_id AND b.vector_generation = c.generation
             WHERE b.id = %(base)s AND (%(classes)s::integer[] IS NULL OR c.class_number = ANY(%(classes)s))
             ORDER BY c.document_id, c.id) one
     ORDER BY id LIMIT %(count)s"""
