"""The last gate: which hits the caller may read, decided on raw rows of one instant. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from uuid import UUID

from eai.access.acl import BaseRights
from eai.access.classification import LEVELS, Classification, highest
from eai.access.subject import Subject
from eai.access.visibility import PassageRights, may_read
from eai.identity.authentication import subject_from_row
from eai.kernel.errors import Unauthenticated
from eai.kernel.ids import TenantId
from eai.retrieval.fusion import ScoredHit
from eai.retrieval.opening import reader_rights
from eai.retrieval.rows import PassageRow, Snapshot
from eai.retrieval.schemas import QueryRequest
from eai.retrieval.values import Bounds, Passage, Question, Ranked, Readable

Rule = Callable[[Subject, BaseRights, PassageRights], bool]
"""Whether a subject may read a passage: `may_read`, except in tests that prove the other gates."""

LevelShown = Callable[[PassageRow], Classification | None]
"""The level at which a passage may be shown; None where it may not be."""

Rows = Sequence[PassageRow | None]


def readable_passages(
    ranked: Ranked, snapshot: Snapshot, rule: Rule = may_read, most: int | None = None
) -> Readable:
    """The passages behind `ranked` that may be shown, by everybody's rights as they are now.

    `most` of the hits are looked at, as many as the pass checks where it is absent.

    Raises Unauthenticated for a credential that opens nothing any more, Forbidden, NotFound and
    PermissionMissing as `reader_rights` does.
    """
    question = ranked.found.question
    hits = ranked.hits[: most or question.reach.checked]
    rows = [snapshot.passages.get(str(hit.id)) for hit in hits]
    permitted = _permitted(hits, rows, snapshot, rule)
    passages, readable, is_cut = _wanted(question.request, permitted)
    is_all = len(hits) == len(ranked.hits) and ranked.found.is_everything
    bounds = Bounds.read(snapshot.bounds) if snapshot.bounds else None
    is_short = len(passages) < question.request.top_k
    return Readable(
        found=ranked.found,
        passages=passages,
        readable=readable,
        is_cut=is_cut,
        has_more=not (is_cut or is_all),
        is_torn=(
            _has_moved(question, snapshot)
            or _is_replaced(rows)
            or (is_short and bounds != question.opening.bounds)
        ),
        bounds=bounds,
    )


def effective_level(row: PassageRow, default: Classification) -> Classification:
    """The base's default where the document sets no level, or the chunk's if higher."""
    document = default if row.document_level is None else LEVELS[row.document_level]
    return document if row.chunk_level is None else highest(document, LEVELS[row.chunk_level])


def rights_of(row: PassageRow, level: Classification) -> PassageRights:
    """What guards the passage of a row."""
    return PassageRights(
        tenant=TenantId(UUID(row.tenant)),
        document_readers=None if row.document_readers is None else frozenset(row.document_readers),
        chunk_readers=None if row.chunk_readers is None else frozenset(row.chunk_readers),
        classification=level,
        is_live=row.is_kept and row.is_serving,
        is_source_enabled=row.is_source_enabled,
    )


def readers_of(snapshot: Snapshot, rule: Rule = may_read) -> LevelShown:
    """The last gate for whoever is the caller of this snapshot, as of its instant.

    Raises Unauthenticated for a credential that opens nothing any more, Forbidden, NotFound and
    PermissionMissing as `reader_rights` does.
    """
    if snapshot.subject is None:
        raise Unauthenticated
    subject = subject_from_row(snapshot.subject)
    base = snapshot.base
    rights = reader_rights(subject, snapshot.entries, is_there=base is not None and base["is_live"])
    assert base is not None
    default = LEVELS[base["classification"]]

    def level_shown(row: PassageRow) -> Classification | None:
        level = effective_level(row, default)
        return level if rule(subject, rights, rights_of(row, level)) else None

    return level_shown


def _permitted(hits: Iterable[ScoredHit], rows: Rows, snapshot: Snapshot, rule: Rule) -> Iterator[Passage]:
    level_shown = readers_of(snapshot, rule)
    for hit, row in zip(hits, rows, strict=True):
        if row is not None and (level := level_shown(row)) is not None:
            yield Passage(hit, row, level)


def _wanted(request: QueryRequest, permitted: Iterable[Passage]) -> tuple[tuple[Passage, ...], int, bool]:
    """What the request asks for of the permitted, how many were looked at, and whether a score ended it."""
    wanted: list[Passage] = []
    looked_at = 0
    for passage in permitted:
        looked_at += 1
        if request.min_score is not None and passage.hit.score < request.min_score:
            return tuple(wanted), looked_at, True
        if not request.filters.metadata or request.filters.accept(passage.row.metadata or {}):
            wanted.append(passage)
            if len(wanted) == request.candidates:
                break
    return tuple(wanted), looked_at, False


def _has_moved(question: Question, snapshot: Snapshot) -> bool:
    """Whether another generation is searched by now: what was written since is found in that one only."""
    moved_to = snapshot.base and snapshot.base["generation"]
    return moved_to != str(question.opening.base.generation)


def _is_replaced(rows: Rows) -> bool:
    """Whether the index was asked before a document's new text was in it, and the rows after.

    Of a replaced document only the old text is among the hits then. Once that has left the index, too, or
    where the new text has rights that were not asked for, no hit tells: for a short answer the epochs do.
    """
    present = [row for row in rows if row is not None and row.is_kept]
    replaced = {row.document for row in present if not row.is_serving}
    return bool(replaced) and not replaced <= {row.document for row in present if row.is_serving}
