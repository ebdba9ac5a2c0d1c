"""Attack line 91, each way of tampering by itself, with what finds it and what does not.

Whoever can write the tables can also compute hashes. What keeps such a forger from rewriting a chain
whole, or cutting off its end, is only what was anchored before; what came after the last anchored
checkpoint is not protected, and these tests say so.
"""

from dataclasses import replace

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from eai.audit.checkpoint import first_key
from eai.audit.scan import Fault, Reason
from tests.factories.chains import (
    ALPHA,
    BETA,
    START,
    Stored,
    chain,
    checkpoint,
    entry,
    head_of,
    placed,
    verify,
)

BLOCK_SIZES = pytest.mark.parametrize("block_size", [1, 3, 64])


@pytest.fixture
def good() -> list[Stored]:
    return chain(ALPHA, 10)


@BLOCK_SIZES
def test_an_untouched_chain_is_valid(good: list[Stored], block_size: int) -> None:
    report = verify(good, block_size=block_size)
    assert (report.valid, report.events, report.first_bad_seq) == (True, 10, None)
    assert report.head == head_of(good)


def test_an_empty_chain_is_valid() -> None:
    report = verify([])
    assert (report.valid, report.events, report.head.seq) == (True, 0, 0)


@BLOCK_SIZES
@pytest.mark.parametrize("seq", [1, 4, 10])
def test_a_flipped_byte_of_a_body_is_named(good: list[Stored], seq: int, block_size: int) -> None:
    victim = good[seq - 1]
    good[seq - 1] = replace(victim, body=victim.body.replace(b"req_", b"rEq_"))
    report = verify(good, block_size=block_size)
    assert report.fault == Fault(seq, Reason.HASH_MISMATCH)
    assert report.events == seq - 1


@BLOCK_SIZES
@pytest.mark.parametrize("seq", [1, 4, 10])
def test_a_flipped_byte_of_a_hash_is_named(good: list[Stored], seq: int, block_size: int) -> None:
    victim = good[seq - 1]
    good[seq - 1] = replace(victim, hash=bytes([victim.hash[0] ^ 1]) + victim.hash[1:])
    fault = verify(good, stated=head_of(chain()), block_size=block_size).fault
    assert fault == Fault(seq, Reason.HASH_MISMATCH)


@BLOCK_SIZES
def test_a_body_that_is_no_text_any_more_is_named(good: list[Stored], block_size: int) -> None:
    good[5] = replace(good[5], body=b"\xff" + good[5].body[1:])
    assert verify(good, block_size=block_size).fault == Fault(6, Reason.HASH_MISMATCH)


@BLOCK_SIZES
@pytest.mark.parametrize("seq", [1, 5])
def test_a_deleted_entry_in_the_middle_is_named(good: list[Stored], seq: int, block_size: int) -> None:
    del good[seq - 1]
    assert verify(good, block_size=block_size).fault == Fault(seq, Reason.GAP)


@BLOCK_SIZES
def test_a_deleted_entry_with_the_rest_renumbered_is_named(good: list[Stored], block_size: int) -> None:
    del good[4]
    renumbered = [replace(each, seq=place) for place, each in enumerate(good, 1)]
    assert verify(renumbered, block_size=block_size).fault == Fault(5, Reason.HASH_MISMATCH)


@BLOCK_SIZES
def test_two_swapped_rows_are_named(good: list[Stored], block_size: int) -> None:
    good[4], good[5] = good[5], good[4]
    assert verify(good, block_size=block_size).fault == Fault(5, Reason.OUT_OF_ORDER)


@BLOCK_SIZES
def test_two_entries_that_swapped_their_numbers_are_named(good: list[Stored], block_size: int) -> None:
    good[4], good[5] = replace(good[5], seq=5), replace(good[4], seq=6)
    assert verify(good, block_size=block_size).fault == Fault(5, Reason.HASH_MISMATCH)


@BLOCK_SIZES
def test_a_number_given_twice_is_named(good: list[Stored], block_size: int) -> None:
    good.insert(5, good[4])
    assert verify(good, block_size=block_size).fault == Fault(5, Reason.DUPLICATE)


@BLOCK_SIZES
def test_an_inserted_entry_with_a_valid_hash_is_named_by_what_follows(
    good: list[Stored], block_size: int
) -> None:
    inserted = placed([entry(ALPHA, 99)], after=head_of(good[:4]))
    rest = [replace(each, seq=each.seq + 1) for each in good[4:]]
    report = verify([*good[:4], *inserted, *rest], block_size=block_size)
    assert report.fault == Fault(6, Reason.HASH_MISMATCH)


def test_columns_that_say_something_else_than_the_body_are_named(good: list[Stored]) -> None:
    for place, other in enumerate(("2026-01-31T12:00:07.000001Z", "x", "deny", None, "document", None)):
        rows = list(good)
        columns = list(rows[6].columns)
        columns[place] = other
        rows[6] = replace(rows[6], columns=tuple(columns))
        assert verify(rows).fault == Fault(7, Reason.COLUMNS_DIFFER)


@pytest.mark.parametrize(
    "spelling",
    [
        lambda body: body.replace(b'{"action"', b'{ "action"'),
        lambda body: body.replace(b'"v":1}', b'"v":1,"v":1}'),
        lambda body: body.replace(b'"top_k":5', b'"top_k":5e0'),
        lambda body: body.replace(b"knowledge.query", b"knowledge\\u002equery"),
    ],
)
def test_a_second_spelling_of_an_entry_is_refused_even_with_a_valid_hash(spelling) -> None:
    odd = entry(ALPHA, 3)
    rows = placed([entry(ALPHA, 1), entry(ALPHA, 2), replace(odd, body=spelling(odd.body))])
    assert rows[2].body != odd.body
    assert verify(rows).fault == Fault(3, Reason.BODY_UNREADABLE)


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{}", b'{"actor":1}', b'"text"'])
def test_bytes_that_are_no_entry_are_named(body: bytes) -> None:
    rows = placed([entry(ALPHA, 1), replace(entry(ALPHA, 2), body=body)])
    assert verify(rows).fault == Fault(2, Reason.BODY_UNREADABLE)


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
FIELDS = ("occurred_at", "action", "decision", "actor", "resource", "tenant")


@given(st.dictionaries(st.sampled_from(FIELDS), anything), st.booleans())
def test_whatever_a_forger_writes_is_judged_and_stops_nothing(
    changes: dict[str, object], columns: bool
) -> None:
    fields = orjson.loads(entry(ALPHA, 2).body) | changes
    body = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
    rows = placed([entry(ALPHA, 1), replace(entry(ALPHA, 2), body=body), entry(ALPHA, 3)])
    trusting = [replace(row, columns=None) for row in rows]
    report = verify(rows if columns else trusting)
    assert report.first_bad_seq in (None, 2)
    assert report.valid is (report.fault is None)


@given(st.binary(max_size=40))
def test_bytes_of_any_kind_are_judged(body: bytes) -> None:
    rows = placed([entry(ALPHA, 1), replace(entry(ALPHA, 2), body=body)])
    assert verify(rows).fault == Fault(2, Reason.BODY_UNREADABLE)


class TestCutTail:
    """Rows deleted from the end, with the head set back: the chain itself is a chain as before."""

    def test_is_found_when_the_head_was_forgotten(self, good: list[Stored]) -> None:
        assert verify(good[:7], stated=head_of(good)).fault == Fault(8, Reason.TAIL_MISSING, 10)

    def test_is_not_noticed_without_an_anchor(self, good: list[Stored]) -> None:
        assert verify(good[:7]).valid

    def test_is_found_up_to_the_last_anchored_checkpoint(self, good: list[Stored]) -> None:
        anchored = [checkpoint(good, 4), checkpoint(good, 8)]
        report = verify(good[:7], anchored=anchored)
        assert report.fault == Fault(8, Reason.TAIL_MISSING, 8)
        assert report.anchored_seq == 4

    def test_is_not_noticed_after_the_last_anchored_checkpoint(self, good: list[Stored]) -> None:
        report = verify(good[:8], anchored=[checkpoint(good, 8)])
        assert (report.valid, report.anchored_seq) == (True, 8)


class TestRewrittenWhole:
    """Every entry from some point on replaced, all hashes and the head computed anew."""

    @pytest.fixture
    def rewritten(self, good: list[Stored]) -> list[Stored]:
        changed = good[2].saying(decision="deny")
        return placed([*good[:2], changed, *good[3:]])

    def test_is_not_noticed_without_an_anchor(self, rewritten: list[Stored]) -> None:
        assert verify(rewritten).valid

    def test_is_found_by_an_anchored_checkpoint(self, good: list[Stored], rewritten: list[Stored]) -> None:
        report = verify(rewritten, anchored=[checkpoint(good, 2), checkpoint(good, 6)])
        assert report.fault == Fault(3, Reason.ROOT_MISMATCH, 6)
        assert report.events == 2

    def test_is_not_noticed_after_the_last_anchored_checkpoint(
        self, good: list[Stored], rewritten: list[Stored]
    ) -> None:
        assert verify(rewritten, anchored=[checkpoint(good, 2)]).valid

    def test_is_not_hidden_by_a_new_key_that_signs_the_new_chain(
        self, good: list[Stored], rewritten: list[Stored]
    ) -> None:
        forger = Ed25519PrivateKey.from_private_bytes(bytes(32))
        resigned = [checkpoint(rewritten, 6, key=forger)]
        keys = [first_key(forger, START)]
        assert verify(rewritten, recorded=resigned, keys=keys).valid
        report = verify(rewritten, recorded=resigned, keys=keys, anchored=[checkpoint(good, 6)])
        assert report.fault == Fault(6, Reason.KEY_UNTRUSTED)

    def test_is_not_hidden_by_the_stolen_key_that_signs_the_new_chain(
        self, good: list[Stored], rewritten: list[Stored]
    ) -> None:
        anchored = [checkpoint(good, 6), checkpoint(rewritten, 10)]
        assert verify(rewritten, anchored=anchored).fault == Fault(1, Reason.ROOT_MISMATCH, 6)


class TestSplicedChain:
    """Another tenant's entries in the place of one's own."""

    def test_as_they_are_is_named(self, good: list[Stored]) -> None:
        foreign = chain(BETA, 10)
        assert verify(foreign).fault == Fault(1, Reason.FOREIGN_TENANT)
        spliced = [*good[:5], *placed(foreign[5:], after=head_of(good[:5]))]
        assert verify(spliced).fault == Fault(6, Reason.FOREIGN_TENANT)

    def test_under_ones_own_name_is_not_noticed_without_an_anchor(self) -> None:
        renamed = placed(each.saying(tenant=str(ALPHA)) for each in chain(BETA, 10))
        assert verify(renamed).valid

    def test_under_ones_own_name_is_found_by_an_anchored_checkpoint(self, good: list[Stored]) -> None:
        renamed = placed(each.saying(tenant=str(ALPHA), request_id="req_x") for each in chain(BETA, 10))
        report = verify(renamed, anchored=[checkpoint(good, 5)])
        assert report.fault == Fault(1, Reason.ROOT_MISMATCH, 5)

    def test_with_the_other_tenants_checkpoint_is_named(self, good: list[Stored]) -> None:
        foreign = chain(BETA, 10)
        report = verify(good, recorded=[checkpoint(foreign, 5, tenant=BETA)])
        assert report.fault == Fault(5, Reason.FOREIGN_TENANT)
