"""What a verdict says beside tampering: checkpoints, resuming, clocks, pieces joined."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from eai.audit.checkpoint import SignedCheckpoint, TrustedKeys, succeed
from eai.audit.scan import Fault, Reason, scan
from eai.audit.verification import Head, Report, Start, Verification
from tests.factories.chains import (
    ALPHA,
    KEY,
    KEY_RECORD,
    START,
    Stored,
    blocks,
    chain,
    checkpoint,
    entry,
    head_of,
    placed,
    start_after,
    verify,
)

GOOD = chain(ALPHA, 40)
FORGER = Ed25519PrivateKey.from_private_bytes(bytes(32))


def resume(start: Start, rest: list[Stored]) -> Report:
    verification = Verification(ALPHA, TrustedKeys([KEY_RECORD]), start)
    verification.join(scan(ALPHA, blocks(rest)))
    return verification.finish(head_of(rest))


@given(st.lists(st.integers(0, 40), max_size=5), st.integers(1, 9))
def test_a_chain_checked_in_pieces_gives_the_verdict_on_the_whole(cuts: list[int], block_size: int) -> None:
    verification = Verification(ALPHA, TrustedKeys([KEY_RECORD]))
    verification.expect([checkpoint(GOOD, 17), checkpoint(GOOD, 40)], anchored=True)
    edges = sorted({0, 40, *cuts})
    for begin, end in pairwise(edges):
        verification.join(scan(ALPHA, blocks(GOOD[begin:end], block_size)))
    report = verification.finish(head_of(GOOD))
    assert (report.valid, report.events, report.checkpoints, report.anchored_seq) == (True, 40, 2, 40)


@given(st.integers(1, 40), st.lists(st.integers(1, 39), max_size=4))
def test_a_changed_entry_is_named_wherever_the_pieces_meet(seq: int, cuts: list[int]) -> None:
    rows = list(GOOD)
    rows[seq - 1] = rows[seq - 1].saying(request_id="req_forged")
    verification = Verification(ALPHA, TrustedKeys([KEY_RECORD]))
    edges = sorted({0, 40, *cuts})
    for begin, end in pairwise(edges):
        verification.join(scan(ALPHA, blocks(rows[begin:end], 7)))
    assert verification.finish(head_of(rows)).fault == Fault(seq, Reason.HASH_MISMATCH)


def test_pieces_in_the_wrong_order_are_named() -> None:
    verification = Verification(ALPHA, TrustedKeys([]))
    verification.join(scan(ALPHA, blocks(GOOD[:10])))
    verification.join(scan(ALPHA, blocks(GOOD[20:])))
    assert verification.finish(head_of(GOOD)).fault == Fault(11, Reason.GAP)
    verification = Verification(ALPHA, TrustedKeys([]))
    verification.join(scan(ALPHA, blocks(GOOD[:10])))
    verification.join(scan(ALPHA, blocks(GOOD[8:])))
    assert verification.finish(head_of(GOOD)).fault == Fault(9, Reason.DUPLICATE)


class TestCheckpoints:
    def test_those_that_agree_are_counted(self) -> None:
        report = verify(GOOD, recorded=[checkpoint(GOOD, 10), checkpoint(GOOD, 20)])
        assert (report.valid, report.checkpoints, report.anchored_seq) == (True, 2, 0)

    def test_one_of_other_entries_is_named(self) -> None:
        other = placed([*GOOD[:4], GOOD[4].saying(decision="deny"), *GOOD[5:]])
        report = verify(GOOD, recorded=[checkpoint(GOOD, 2), checkpoint(other, 20)])
        assert report.fault == Fault(3, Reason.ROOT_MISMATCH, 20)

    def test_one_with_a_forged_signature_is_named(self) -> None:
        forged = replace(checkpoint(GOOD, 10), signature=bytes(64))
        assert verify(GOOD, recorded=[forged]).fault == Fault(10, Reason.SIGNATURE_INVALID)

    def test_one_that_cannot_be_read_is_named(self) -> None:
        damaged = SignedCheckpoint(b"?", b"", b"")
        assert verify(GOOD, recorded=[damaged]).fault == Fault(1, Reason.SIGNATURE_INVALID)

    def test_one_by_a_stranger_is_named(self) -> None:
        stranger = checkpoint(GOOD, 10, key=FORGER)
        assert verify(GOOD, recorded=[stranger]).fault == Fault(10, Reason.KEY_UNTRUSTED)

    def test_one_by_an_endorsed_successor_agrees(self) -> None:
        keys = [KEY_RECORD, succeed(KEY, FORGER, START)]
        signed = [checkpoint(GOOD, 10), checkpoint(GOOD, 20, key=FORGER)]
        assert verify(GOOD, recorded=signed, keys=keys).checkpoints == 2

    def test_one_whose_entries_have_passed_is_named(self) -> None:
        verification = Verification(ALPHA, TrustedKeys([KEY_RECORD]))
        verification.join(scan(ALPHA, blocks(GOOD[:20])))
        verification.expect([checkpoint(GOOD, 10)], anchored=True)
        assert verification.finish(None).fault == Fault(10, Reason.CHECKPOINT_MISPLACED)

    def test_one_that_was_anchored_twice_is_no_fault(self) -> None:
        twice = [checkpoint(GOOD, 10), checkpoint(GOOD, 10)]
        assert verify(GOOD, anchored=twice).valid


class TestHead:
    def test_another_hash_is_named(self) -> None:
        report = verify(GOOD, stated=Head(40, bytes(32)))
        assert report.fault == Fault(40, Reason.HEAD_MISMATCH)

    def test_one_that_was_set_back_is_named(self) -> None:
        report = verify(GOOD, stated=Head(30, GOOD[29].hash))
        assert report.fault == Fault(31, Reason.HEAD_MISMATCH)

    def test_a_missing_one_is_not_asked_for(self) -> None:
        verification = Verification(ALPHA, TrustedKeys([]))
        verification.join(scan(ALPHA, blocks(GOOD)))
        assert verification.finish(None).valid


class TestUnanchored:
    def test_without_any_anchor_it_is_the_first_entry(self) -> None:
        assert verify(GOOD).unanchored_since == START + timedelta(seconds=1)

    def test_it_is_the_last_anchored_checkpoint(self) -> None:
        report = verify(GOOD, anchored=[checkpoint(GOOD, 10), checkpoint(GOOD, 30)])
        assert report.unanchored_since == START + timedelta(seconds=30, milliseconds=500)

    def test_recorded_checkpoints_do_not_count(self) -> None:
        report = verify(GOOD, anchored=[checkpoint(GOOD, 10)], recorded=[checkpoint(GOOD, 30)])
        assert report.unanchored_since == START + timedelta(seconds=10, milliseconds=500)

    def test_it_is_null_when_everything_is_anchored(self) -> None:
        assert verify(GOOD, anchored=[checkpoint(GOOD, 40)]).unanchored_since is None
        assert verify([]).unanchored_since is None


class TestResuming:
    def test_only_what_follows_the_checkpoint_is_needed(self) -> None:
        report = resume(start_after(GOOD, 25), GOOD[25:])
        assert (report.valid, report.events, report.head) == (True, 15, head_of(GOOD))

    def test_later_checkpoints_still_cover_everything(self) -> None:
        verification = Verification(ALPHA, TrustedKeys([KEY_RECORD]), start_after(GOOD, 25))
        verification.expect([checkpoint(GOOD, 38)], anchored=True)
        verification.join(scan(ALPHA, blocks(GOOD[25:])))
        assert verification.finish(head_of(GOOD)).anchored_seq == 38

    def test_what_does_not_follow_the_checkpoint_is_named(self) -> None:
        other = placed(each.saying(request_id="req_x") for each in GOOD)
        assert resume(start_after(GOOD, 25), other[25:]).fault == Fault(26, Reason.HASH_MISMATCH)
        assert resume(start_after(GOOD, 25), GOOD[26:]).fault == Fault(26, Reason.GAP)

    def test_a_forged_start_is_named(self) -> None:
        start = start_after(GOOD, 25)
        forged = replace(start, signed=replace(start.signed, signature=bytes(64)))
        assert resume(forged, GOOD[25:]).fault == Fault(25, Reason.SIGNATURE_INVALID)
        stranger = replace(start, signed=checkpoint(GOOD, 25, key=FORGER))
        assert resume(stranger, GOOD[25:]).fault == Fault(25, Reason.KEY_UNTRUSTED)

    @pytest.mark.parametrize("frontier", [b"", bytes(96), bytes(5)])
    def test_subtrees_that_are_not_those_of_the_root_are_named(self, frontier: bytes) -> None:
        start = replace(start_after(GOOD, 25), frontier=frontier)
        assert resume(start, GOOD[25:]).fault == Fault(1, Reason.ROOT_MISMATCH, 25)


class TestClock:
    """Attack line 92: a backdated entry is remarked on; order is by seq alone."""

    def at(self, *seconds: float) -> list[Stored]:
        moments = [START + timedelta(seconds=second) for second in seconds]
        return placed(entry(ALPHA, number, at) for number, at in enumerate(moments, 1))

    def test_a_minute_back_is_remarked_on_and_no_fault(self) -> None:
        report = verify(self.at(0, 100, 39.9, 101))
        assert (report.valid, report.clock_back_at) == (True, 3)

    def test_what_processes_differ_by_is_not(self) -> None:
        assert verify(self.at(0, 100, 40, 101)).clock_back_at is None

    def test_it_is_seen_where_pieces_meet(self) -> None:
        rows = self.at(0, 100, 101, 10, 102)
        verification = Verification(ALPHA, TrustedKeys([]))
        for part in (rows[:3], rows[3:]):
            verification.join(scan(ALPHA, blocks(part)))
        assert verification.finish(None).clock_back_at == 4

    def test_an_instant_that_is_none_is_remarked_on(self) -> None:
        odd = entry(ALPHA, 2).saying(occurred_at="2026-01-31 12:00")
        rows = placed([entry(ALPHA, 1), odd])
        assert verify(rows).clock_back_at == 2
