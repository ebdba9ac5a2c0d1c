"""Whatever happens to documents, the statistics are what a recount of the rows gives."""

import random
from typing import Any

import pytest

from eai.access.classification import Classification
from eai.kernel.ids import DocumentId
from eai.knowledge.bases.schemas import BaseOut
from eai.knowledge.documents.drafts import SpanRights
from eai.knowledge.lexical import Language
from tests.factories.identity import Person
from tests.factories.knowledge import Knowledge, me
from tests.integration.knowledge.recount import misplaced, recounted, stored
from tests.integration.knowledge.test_serving import replace

WORDS = "refund policy travel budget claim remboursement politique voyage".split()


class Random:
    """One sequence of changes, the same for the same seed."""

    def __init__(self, knowledge: Knowledge, admin: Person, base: BaseOut, seed: int) -> None:
        self._knowledge = knowledge
        self._admin = admin
        self._base = base
        self._random = random.Random(seed)
        self._documents: list[DocumentId] = []

    async def step(self) -> None:
        steps = [
            self._create,
            self._rights,
            self._level,
            self._spans,
            self._replace,
            self._delete,
            self._work,
        ]
        await self._random.choice(steps if self._documents else [self._create])()

    async def _create(self) -> None:
        spans = self._some_spans() if self._random.random() < 0.4 else ()
        language = self._random.choice(list(Language))
        fields: dict[str, Any] = {"readers": self._readers(), "classification": self._some_level()}
        document = await self._knowledge.document(
            self._admin, self._base, *self._texts(), spans=spans, language=language, **fields
        )
        self._documents.append(document)

    async def _rights(self) -> None:
        readers = self._readers()
        acl = {"readers": None if readers is None else list(readers)}
        await self._knowledge.set_acl(self._admin, self._base, self._one(), **acl)

    async def _level(self) -> None:
        level = {"classification": self._some_level(), "reason": "Random"}
        await self._knowledge.set_acl(self._admin, self._base, self._one(), **level)

    async def _spans(self) -> None:
        spans = [
            {"start": s.start, "end": s.end, "readers": None if s.readers is None else list(s.readers)}
            for s in self._some_spans()
        ]
        acl = {"chunk_readers": spans, "reason": "Random"}
        await self._knowledge.set_acl(self._admin, self._base, self._one(), **acl)

    async def _replace(self) -> None:
        # The parts of the text before may have had levels, and these fall with it.
        document, texts = self._one(), self._texts()
        draft = await replace(self._knowledge, self._admin, self._base, document, *texts, reason="Random")
        await self._knowledge.serve(draft)

    async def _delete(self) -> None:
        document = self._one()
        self._documents.remove(document)
        await self._knowledge.deletions.delete(self._admin.subject, str(self._base.id), str(document), None)

    async def _work(self) -> None:
        await self._knowledge.work(self._admin.subject.tenant)

    def _one(self) -> DocumentId:
        return self._random.choice(self._documents)

    def _texts(self) -> list[str]:
        return [" ".join(self._random.choices(WORDS, k=4)) for _ in range(self._random.randint(1, 3))]

    def _readers(self) -> frozenset[str] | None:
        return self._random.choice([None, None, frozenset({me(self._admin)}), frozenset()])

    def _some_level(self) -> Classification | None:
        return self._random.choice([None, Classification.PUBLIC, Classification.RESTRICTED])

    def _some_spans(self) -> list[SpanRights]:
        starts = [self._random.randint(0, 40) for _ in range(self._random.randint(0, 2))]
        return [SpanRights(s, s + 9, self._readers(), self._some_level()) for s in starts]


@pytest.mark.parametrize("seed", range(4))
async def test_statistics_and_points_follow_any_history(
    knowledge: Knowledge, admin: Person, seed: int
) -> None:
    base = await knowledge.base(admin)
    handle = await knowledge.handle(admin, base)
    history = Random(knowledge, admin, base, seed)
    for _ in range(25):
        await history.step()
        assert await stored(knowledge, handle) == await recounted(knowledge, handle)
    await knowledge.work(admin.subject.tenant)
    assert await misplaced(knowledge, handle) == []
    ((rows,),) = await knowledge.rows(admin.subject.tenant, "SELECT count(*) FROM eai.kb_chunks")
    assert await knowledge.count(handle) == rows
