"""An export is verified with nothing but the file: every way of tampering again, and damaged files."""

import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from eai.audit import offline
from eai.audit.checkpoint import SignedCheckpoint
from eai.audit.offline import verify_export
from eai.audit.scan import Fault, Reason
from eai.audit.verification import Head, Report
from tests.factories.chains import (
    ALPHA,
    BETA,
    KEY,
    chain,
    checkpoint,
    entry,
    export_of,
    head_of,
    placed,
    start_after,
)

GOOD = chain(ALPHA, 300)
PUBLIC_KEY = KEY.public_key().public_bytes_raw()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "export.jsonl"


@pytest.fixture(params=[200_000, 4_000], ids=["whole", "stretches"])
def _stretch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline, "STRETCH_BYTES", request.param)


def check(
    file: Path, lines: Sequence[bytes], anchored: Sequence[SignedCheckpoint] = (), processes: int = 1
) -> Report:
    file.write_bytes(b"".join(lines))
    return verify_export(file, anchored=lambda _: iter(anchored), processes=processes)


@pytest.mark.usefixtures("_stretch")
class TestTampering:
    def test_an_honest_export_is_valid(self, file: Path) -> None:
        recorded = [checkpoint(GOOD, 64), checkpoint(GOOD, 200)]
        report = check(file, export_of(GOOD, recorded=recorded), anchored=[checkpoint(GOOD, 250)])
        assert report.valid
        assert (report.tenant, report.events, report.head) == (ALPHA, 300, head_of(GOOD))
        assert (report.checkpoints, report.anchored_seq) == (3, 250)

    def test_a_flipped_byte(self, file: Path) -> None:
        lines = export_of(GOOD)
        lines[181] = lines[181].replace(b"req_", b"rEq_")
        assert check(file, lines).fault == Fault(180, Reason.HASH_MISMATCH)

    def test_a_deleted_entry(self, file: Path) -> None:
        assert check(file, export_of([*GOOD[:149], *GOOD[150:]])).fault == Fault(150, Reason.GAP)

    def test_two_swapped_lines(self, file: Path) -> None:
        rows = [*GOOD[:10], GOOD[11], GOOD[10], *GOOD[12:]]
        assert check(file, export_of(rows)).fault == Fault(11, Reason.OUT_OF_ORDER)

    def test_a_number_given_twice(self, file: Path) -> None:
        rows = [*GOOD[:200], GOOD[199], *GOOD[200:]]
        assert check(file, export_of(rows)).fault == Fault(200, Reason.DUPLICATE)

    def test_a_cut_tail_whose_head_was_forgotten(self, file: Path) -> None:
        report = check(file, export_of(GOOD[:250], stated=head_of(GOOD)))
        assert report.fault == Fault(251, Reason.TAIL_MISSING, 300)

    def test_a_cut_tail_is_only_found_by_the_anchor(self, file: Path) -> None:
        lines = export_of(GOOD[:250])
        assert check(file, lines).valid
        assert check(file, lines, anchored=[checkpoint(GOOD, 250)]).valid
        report = check(file, lines, anchored=[checkpoint(GOOD, 240), checkpoint(GOOD, 260)])
        assert report.fault == Fault(251, Reason.TAIL_MISSING, 260)

    def test_a_rewritten_chain_is_only_found_by_the_anchor(self, file: Path) -> None:
        lines = export_of(placed([*GOOD[:100], GOOD[100].saying(decision="deny"), *GOOD[101:]]))
        assert check(file, lines).valid
        assert check(file, lines, anchored=[checkpoint(GOOD, 100)]).valid
        report = check(file, lines, anchored=[checkpoint(GOOD, 90), checkpoint(GOOD, 200)])
        assert report.fault == Fault(91, Reason.ROOT_MISMATCH, 200)

    def test_another_tenants_chain(self, file: Path) -> None:
        assert check(file, export_of(chain(BETA, 20))).fault == Fault(1, Reason.FOREIGN_TENANT)

    def test_columns_that_differ(self, file: Path) -> None:
        rows = list(GOOD)
        rows[222] = replace(rows[222], columns=("x", *rows[222].columns[1:]))
        assert check(file, export_of(rows)).fault == Fault(223, Reason.COLUMNS_DIFFER)

    def test_a_damaged_body_still_travels_and_is_named(self, file: Path) -> None:
        rows = list(GOOD)
        rows[222] = replace(rows[222], body=b"\xff\xfe" + rows[222].body)
        assert check(file, export_of(rows)).fault == Fault(223, Reason.HASH_MISMATCH)

    def test_a_checkpoint_of_another_chain(self, file: Path) -> None:
        other = placed(each.saying(request_id="req_x") for each in GOOD)
        recorded = [checkpoint(GOOD, 50), checkpoint(other, 70)]
        assert check(file, export_of(GOOD, recorded=recorded)).fault == Fault(51, Reason.ROOT_MISMATCH, 70)


class TestDamagedFiles:
    def test_a_file_that_ends_in_the_middle_is_not_valid(self, file: Path) -> None:
        lines = export_of(GOOD)
        report = check(file, lines[:-1])
        assert (report.fault, report.events) == (Fault(301, Reason.TAIL_MISSING, 301), 300)
        report = check(file, [*lines[:100], lines[100][:40]])
        assert report.fault == Fault(99, Reason.LINE_UNREADABLE)

    @pytest.mark.parametrize(
        "line",
        [
            b"[1,2\n",
            b"[]\n",
            b"[1]\n",
            b'["1","00","{}"]\n',
            b'[1.0,"00","{}"]\n',
            b'[true,"00","{}"]\n',
            b'[99999999999999999999,"00","{}"]\n',
            b'[151,"zz","{}"]\n',
            b'[151,"00",{"damaged":"zz"}]\n',
            b'[151,"00",[]]\n',
            b'[151,"00","{}",{}]\n',
            b"{}\n",
            b'{"checkpoint":{}}\n',
            b'{"head":{"seq":"1","hash":"00"}}\n',
            b"null\n",
            b"\xff\n",
        ],
    )
    def test_a_line_that_cannot_be_read_is_named(self, file: Path, line: bytes) -> None:
        lines = export_of(GOOD)
        lines[152] = line
        report = check(file, lines)
        assert report.fault == Fault(151, Reason.LINE_UNREADABLE)
        assert report.events == 150

    @pytest.mark.parametrize(
        "content", [b"", b"{}\n", b"[]\n", b"\x00", b'{"eai_audit_export":2}\n', b'{"eai_audit_export":1}\n']
    )
    def test_what_is_no_export_is_refused(self, file: Path, content: bytes) -> None:
        file.write_bytes(content)
        with pytest.raises(ValueError):
            verify_export(file)

    def test_a_missing_file_is_an_error_of_the_system(self, file: Path) -> None:
        with pytest.raises(FileNotFoundError):
            verify_export(file)

    @pytest.mark.parametrize("odd", [[], [None] * 6, [{}] * 6, [1e300] * 6, ["\x00"] * 7])
    def test_hostile_columns_do_not_stop_the_verifier(self, file: Path, odd: list[object]) -> None:
        lines = export_of(GOOD[:3])
        lines[3] = orjson.dumps([*orjson.loads(lines[3]), odd]) + b"\n"
        assert check(file, lines).fault == Fault(2, Reason.COLUMNS_DIFFER)


def test_an_empty_chain_is_valid(file: Path) -> None:
    report = check(file, export_of([]))
    assert (report.valid, report.events) == (True, 0)


def test_an_export_can_begin_at_a_checkpoint(file: Path) -> None:
    lines = export_of(GOOD[200:], start=start_after(GOOD, 200))
    report = check(
        file, lines, anchored=[checkpoint(GOOD, 100), checkpoint(GOOD, 200), checkpoint(GOOD, 280)]
    )
    assert (report.valid, report.events, report.anchored_seq) == (True, 100, 280)


def test_pinned_keys_decide_whose_checkpoints_count(file: Path) -> None:
    file.write_bytes(b"".join(export_of(GOOD, recorded=[checkpoint(GOOD, 10)])))
    assert verify_export(file, pinned=[PUBLIC_KEY]).keys_pinned
    assert verify_export(file, pinned=[bytes(32)]).fault == Fault(10, Reason.KEY_UNTRUSTED)


@pytest.mark.parametrize("seq", [None, 2, 1_500, 2_990])
def test_several_processes_give_the_same_verdict(
    file: Path, monkeypatch: pytest.MonkeyPatch, seq: int | None
) -> None:
    monkeypatch.setattr(offline, "STRETCH_BYTES", 300_000)
    rows = chain(ALPHA, 3_000)
    recorded = [checkpoint(rows, at) for at in range(500, 3_000, 500)]
    if seq:
        rows[seq - 1] = rows[seq - 1].saying(request_id="req_x")
    report = check(file, export_of(rows, recorded=recorded), processes=2)
    assert report == check(file, export_of(rows, recorded=recorded), processes=1)
    assert report.first_bad_seq == seq


def test_memory_does_not_grow_with_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attack line 95."""
    monkeypatch.setattr(offline, "STRETCH_BYTES", 64_000)

    def peak(count: int) -> int:
        rows = placed(entry(ALPHA, 1) for _ in range(count))
        file.write_bytes(b"".join(export_of(rows)))
        del rows
        tracemalloc.start()
        assert verify_export(file, processes=1).events == count
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    assert peak(4_000) < 1.2 * peak(1_000)


def test_a_head_of_another_chain_is_named(file: Path) -> None:
    report = check(file, export_of(GOOD, stated=Head(300, bytes(32))))
    assert report.fault == Fault(300, Reason.HEAD_MISMATCH)
