"""Hits, rows and snapshots by hand."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np

from eai.access.classification import Classification
from eai.access.scopes import Role, scopes_of
from eai.access.subject import PrincipalKind, Subject
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.facts import Facts
from eai.kernel.ids import (
    ApiKeyId,
    BaseId,
    GenerationId,
    PointId,
    PrincipalId,
    TenantId,
)
from eai.knowledge.lexical import QueryWeights
from eai.knowledge.ports import Hit, SearchFilter, SearchHits, SpaceId, SparseVector
from eai.retrieval.fusion import ScoredHit
from eai.retrieval.rows import PassageRow, Snapshot
from eai.retrieval.schemas import QueryRequest
from eai.retrieval.values import Found, Opening, Question, Ranked, SearchedBase

TENANT = UUID(int=1)
NO_WEIGHTS = QueryWeights(SparseVector(np.zeros(0, np.uint32), np.zeros(0, np.float32)), 0.0)

SUBJECT = Subject(
    tenant=TenantId(TENANT),
    principal=PrincipalId(UUID(int=2)),
    kind=PrincipalKind.USER,
    name="me",
    roles=(Role.MEMBER,),
    groups=frozenset(),
    scopes=scopes_of([Role.MEMBER]),
    clearance=Classification.INTERNAL,
    api_key=ApiKeyId(UUID(int=3)),
)
SUBJECT_ROW: dict[str, Any] = {
    "tenant": str(TENANT),
    "api_key": str(UUID(int=3)),
    "principal": str(UUID(int=2)),
    "kind": "user",
    "name": "me",
    "roles": ["member"],
    "clearance": 1,
    "is_bootstrap": False,
    "key_scopes": None,
    "key_clearance": None,
    "groups": [],
}
READ = ("tenant:*", "read", "allow")


def question(*, rights_keys: tuple[str, ...] | None = ("g:1",), **request: Any) -> Question:
    base = SearchedBase(
        BaseId(UUID(int=4)), Classification.INTERNAL, "model", SpaceId("space", 3), GenerationId(UUID(int=5))
    )
    opening = Opening(SUBJECT, base, SearchFilter("g", rights_keys), NO_WEIGHTS, Facts(LOCAL_HASH_256))
    return Question.of(QueryRequest.model_validate({"query": "refund", **request}), opening)


def ranked(asked: Question, count: int, *, is_everything: bool = True) -> Ranked:
    """Hits 1, 2, ... with falling scores, all from the keyword leg."""
    hits = tuple(ScoredHit(PointId(UUID(int=n)), 1 / n, None, 1 / n) for n in range(1, count + 1))
    answered = asked.reach.fetched - is_everything
    legs = SearchHits(sparse=tuple(Hit(PointId(UUID(int=n)), 1.0) for n in range(answered)))
    return Ranked(Found(asked, legs), hits)


def row(number: int, *, document: int | None = None, **changes: Any) -> PassageRow:
    """A passage that every reader of the base may see, of a document of its own unless one is named."""
    plain = PassageRow(
        point=str(UUID(int=number)),
        tenant=str(TENANT),
        chunk=str(UUID(int=1_000 + number)),
        document=str(UUID(int=2_000 + (document or number))),
        title="A document",
        ordinal=0,
        content="refund",
        start=0,
        end=6,
        language="en",
        version=1,
        source_uri=None,
        source_connector="direct",
        source_uri_verified=False,
        document_readers=None,
        chunk_readers=None,
        document_level=None,
        chunk_level=None,
        is_kept=True,
        is_serving=True,
        is_source_enabled=True,
        metadata=None,
    )
    return plain._replace(**changes)


def snapshot(rows: Sequence[PassageRow], **changes: Any) -> Snapshot:
    base = {"is_live": True, "classification": 1, "generation": str(UUID(int=5))}
    return Snapshot(SUBJECT_ROW, base, [READ], {each.point: each for each in rows})._replace(**changes)
