from typing import Any

import pytest

from eai.access.classification import Classification
from eai.kernel.errors import Forbidden, NotFound, Unauthenticated
from eai.knowledge.errors import PermissionMissing
from eai.retrieval.recheck import effective_level, readable_passages
from tests.unit.retrieval.passages import SUBJECT_ROW, question, ranked, row, snapshot

INTERNAL = Classification.INTERNAL


@pytest.mark.parametrize(
    ("document", "chunk", "effective"),
    [
        (None, None, "internal"),
        (0, None, "public"),
        (0, 0, "public"),
        (0, 3, "restricted"),
        (4, 1, "secret"),
        (None, 0, "internal"),
        (None, 2, "confidential"),
    ],
)
def test_a_level_is_the_documents_or_the_bases_and_never_below(
    document: int | None, chunk: int | None, effective: str
) -> None:
    assert effective_level(row(1, document_level=document, chunk_level=chunk), INTERNAL) == effective


def test_the_best_that_may_be_read_come_in_the_order_of_the_hits() -> None:
    rows = [row(1, document_readers=[]), row(2), row(3, chunk_level=4), row(4, is_kept=False), row(5), row(6)]
    found = readable_passages(ranked(question(top_k=2), 6), snapshot(rows))
    assert [passage.row.point for passage in found.passages] == [rows[1].point, rows[4].point]
    assert not found.is_short


def test_no_more_hits_are_looked_at_than_the_pass_reaches() -> None:
    asked = question(top_k=1)
    rows = [row(n, document_readers=[]) for n in range(1, 17)] + [row(17)]
    found = readable_passages(ranked(asked, 17), snapshot(rows))
    assert (found.passages, found.has_more, asked.reach.checked) == ((), True, 16)


@pytest.mark.parametrize(("is_everything", "has_more"), [(True, False), (False, True)])
def test_a_longer_list_may_hold_more_unless_the_index_gave_everything(
    is_everything: bool, has_more: bool
) -> None:
    found = readable_passages(ranked(question(), 1, is_everything=is_everything), snapshot([row(1)]))
    assert (found.has_more, found.wants_further) == (has_more, has_more)


def test_a_score_below_the_least_ends_the_search() -> None:
    rows = [row(1), row(2), row(3)]
    found = readable_passages(ranked(question(min_score=0.4), 3, is_everything=False), snapshot(rows))
    assert [passage.hit.score for passage in found.passages] == [1.0, 0.5]
    assert (found.is_cut, found.has_more, found.readable) == (True, False, 3)


def test_what_the_filter_refuses_was_looked_at_and_what_is_hidden_was_not() -> None:
    rows = [row(1, metadata={"team": "b"}), row(2, metadata={"team": "a"}), row(3, document_readers=[])]
    asked = question(filters={"metadata": {"team": "a"}})
    found = readable_passages(ranked(asked, 3), snapshot(rows))
    assert [passage.row.point for passage in found.passages] == [rows[1].point]
    assert found.readable == 2


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"subject": None}, Unauthenticated),
        ({"subject": SUBJECT_ROW | {"roles": ["auditor"]}}, Forbidden),
        ({"base": None}, NotFound),
        ({"base": {"is_live": False, "classification": 1}}, NotFound),
        ({"entries": []}, NotFound),
        ({"entries": [("tenant:*", "manage", "allow"), ("tenant:*", "read", "deny")]}, NotFound),
        ({"entries": [], "subject": SUBJECT_ROW | {"roles": ["member", "tenant_admin"]}}, PermissionMissing),
    ],
)
def test_who_may_not_ask_any_more_gets_nothing(changes: dict[str, Any], outcome: type[Exception]) -> None:
    with pytest.raises(outcome):
        readable_passages(ranked(question(), 1), snapshot([row(1)], **changes))


class TestTorn:
    """A document that changed between search and re-check."""

    def test_a_replaced_text_without_its_successor_is_looked_for_again(self) -> None:
        rows = [row(1, is_serving=False), *(row(n) for n in range(2, 8))]
        assert readable_passages(ranked(question(), 7), snapshot(rows)).is_torn

    def test_a_replaced_text_beside_its_successor_is_not(self) -> None:
        rows = [row(1, document=9, is_serving=False), row(2, document=9)]
        assert not readable_passages(ranked(question(), 2), snapshot(rows)).is_torn

    def test_a_deleted_document_is_not(self) -> None:
        rows = [row(1, is_serving=False, is_kept=False), row(2)]
        assert not readable_passages(ranked(question(), 2), snapshot(rows)).is_torn

    def test_another_generation_is_searched_by_now(self) -> None:
        moved = {"is_live": True, "classification": 1, "generation": "00000000-0000-0000-0000-000000000006"}
        assert readable_passages(ranked(question(), 1), snapshot([row(1)], base=moved)).is_torn

    def test_what_changed_otherwise_counts_for_a_short_answer_only(self) -> None:
        rows = [row(n) for n in range(1, 7)]
        changed = {"content": "another", "rights": "", "tenant_rights": "", "most": None}
        assert readable_passages(ranked(question(top_k=7), 6), snapshot(rows, bounds=changed)).is_torn
        assert not readable_passages(ranked(question(top_k=6), 6), snapshot(rows, bounds=changed)).is_torn
        assert not readable_passages(ranked(question(top_k=7), 6), snapshot(rows)).is_torn
