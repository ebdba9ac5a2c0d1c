"""What every anchor promises, and what the file adds to it."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from eai.audit.checkpoint import SignedCheckpoint
from eai.audit.ports import Anchor, AnchorUnavailable
from eai.integrations.anchor import FileAnchor, read_anchor
from eai.kernel.ids import TenantId
from tests.factories.chains import ALPHA, BETA, chain, checkpoint

ROWS = chain(ALPHA, 30)
THEIRS = chain(BETA, 30)
TEN, TWENTY, THIRTY = (checkpoint(ROWS, seq) for seq in (10, 20, 30))
FOREIGN = checkpoint(THEIRS, 15, tenant=BETA)


def content(path: Path) -> bytes:
    return path.read_bytes()


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def tear(path: Path) -> bytes:
    """Cut off the end of the last line, and return what is left."""
    left = path.read_bytes()[:-40]
    path.write_bytes(left)
    return left


async def kept(anchor: Anchor, tenant: TenantId) -> list[SignedCheckpoint]:
    history: AsyncIterator[SignedCheckpoint] = anchor.history(tenant)
    return [signed async for signed in history]


class AnchorContract:
    """Every implementation of the port inherits these."""

    @pytest.fixture
    def anchor(self, tmp_path: Path) -> Anchor:
        raise NotImplementedError

    async def test_nothing_is_kept_at_first(self, anchor: Anchor) -> None:
        assert await anchor.latest(ALPHA) is None
        assert await kept(anchor, ALPHA) == []

    async def test_what_was_appended_is_kept_in_order(self, anchor: Anchor) -> None:
        await anchor.append([TEN])
        await anchor.append([TWENTY, THIRTY])
        assert await kept(anchor, ALPHA) == [TEN, TWENTY, THIRTY]
        assert await anchor.latest(ALPHA) == THIRTY

    async def test_tenants_do_not_see_each_other(self, anchor: Anchor) -> None:
        await anchor.append([TEN, FOREIGN])
        assert await kept(anchor, ALPHA) == [TEN]
        assert await kept(anchor, BETA) == [FOREIGN]
        assert await anchor.latest(ALPHA) == TEN

    async def test_what_is_read_is_as_genuine_as_it_was(self, anchor: Anchor) -> None:
        await anchor.append([TEN])
        (read,) = await kept(anchor, ALPHA)
        assert read.is_genuine()
        assert read.checkpoint == TEN.checkpoint

    async def test_appending_again_after_a_crash_is_harmless(self, anchor: Anchor) -> None:
        await anchor.append([TEN, TWENTY])
        await anchor.append([TEN, TWENTY, THIRTY])
        assert await kept(anchor, ALPHA) == [TEN, TWENTY, THIRTY]

    async def test_another_checkpoint_of_the_same_entry_is_kept_as_well(self, anchor: Anchor) -> None:
        other = checkpoint(chain(ALPHA, 40)[5:], 10)
        await anchor.append([TEN])
        await anchor.append([other])
        assert await kept(anchor, ALPHA) == [TEN, other]

    async def test_appending_nothing_is_harmless(self, anchor: Anchor) -> None:
        await anchor.append([])
        assert await kept(anchor, ALPHA) == []

    async def test_those_who_append_at_once_lose_nothing(self, anchor: Anchor) -> None:
        rows = chain(ALPHA, 20)
        signed = [checkpoint(rows, seq) for seq in range(1, 21)]
        await asyncio.gather(*(anchor.append([each]) for each in signed))
        read = await kept(anchor, ALPHA)
        assert sorted(each.seq for each in read) == list(range(1, 21))


class TestFileAnchor(AnchorContract):
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "mount" / "checkpoints.jsonl"

    @pytest.fixture
    def anchor(self, path: Path) -> Anchor:  # type: ignore[override]
        return FileAnchor(path)

    async def test_the_file_is_its_owners_alone(self, anchor: Anchor, path: Path) -> None:
        await anchor.append([TEN])
        assert mode(path) == 0o600

    async def test_a_line_that_a_crash_tore_is_passed_over_and_what_follows_is_kept(
        self, anchor: Anchor, path: Path
    ) -> None:
        await anchor.append([TEN, TWENTY])
        torn = tear(path)
        assert await kept(anchor, ALPHA) == [TEN]
        await anchor.append([TWENTY, THIRTY])
        assert await kept(anchor, ALPHA) == [TEN, TWENTY, THIRTY]
        assert content(path).startswith(torn)

    async def test_nothing_that_lies_in_the_file_is_ever_changed(self, anchor: Anchor, path: Path) -> None:
        await anchor.append([TEN])
        before = content(path)
        await anchor.append([TWENTY])
        assert content(path).startswith(before)

    async def test_a_forged_line_is_read_as_it_is_and_not_genuine(self, anchor: Anchor) -> None:
        await anchor.append([replace(TEN, signature=bytes(64))])
        (read,) = await kept(anchor, ALPHA)
        assert not read.is_genuine()

    async def test_a_place_that_cannot_be_written_is_unavailable(self, tmp_path: Path) -> None:
        blocked = tmp_path / "file"
        blocked.write_text("no folder")
        anchor = FileAnchor(blocked / "checkpoints.jsonl")
        with pytest.raises(AnchorUnavailable):
            await anchor.append([TEN])

    async def test_a_place_that_cannot_be_read_is_unavailable(self, tmp_path: Path) -> None:
        anchor = FileAnchor(tmp_path)
        with pytest.raises(AnchorUnavailable):
            await anchor.latest(ALPHA)
        with pytest.raises(AnchorUnavailable):
            await kept(anchor, ALPHA)

    async def test_a_place_that_does_not_answer_is_unavailable(self, tmp_path: Path) -> None:
        path = tmp_path / "pipe"
        os.mkfifo(path)
        anchor = FileAnchor(path, timeout_s=0.05)
        with pytest.raises(AnchorUnavailable):
            await anchor.latest(ALPHA)
        # Lets the waiting thread go: a pipe opens once somebody writes.
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))

    async def test_the_offline_reader_reads_the_same(self, anchor: Anchor, path: Path) -> None:
        await anchor.append([TEN, FOREIGN, TWENTY])
        assert list(read_anchor(path, ALPHA)) == [TEN, TWENTY]
