"""Verifies an export with nothing but the file: stretches of it are scanned side by side, then joined."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from itertools import groupby
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import BinaryIO, cast

from eai.audit.checkpoint import SignedCheckpoint, TrustedKeys
from eai.audit.export import Preamble, is_preamble, read_block, read_preamble, read_statement
from eai.audit.scan import Block, Fault, Reason, Run, scan
from eai.audit.verification import Head, Report, Verification
from eai.kernel.ids import TenantId

STRETCH_BYTES = 4 * 1024 * 1024
"""How much of the file one process scans at a time."""

BATCH_BYTES = 48 * 1024
"""How much of it is held in memory; much more would leave the processor's cache."""

Part = Run | SignedCheckpoint | Head | Fault
Item = Block | SignedCheckpoint | Head | Fault


def verify_export(
    path: Path,
    *,
    anchored: Callable[[TenantId], Iterable[SignedCheckpoint]] | None = None,
    pinned: Iterable[bytes] = (),
    processes: int | None = None,
) -> Report:
    """Verify the chain in the export at `path`, in memory that does not grow with it.

    `anchored` gives the checkpoints kept elsewhere, in rising order; `pinned` are public keys known
    from elsewhere; `processes` is 1 to stay in this one, by default one per processor. Raises
    ValueError when the file is no export, OSError when it cannot be read.
    """
    with path.open("rb") as file:
        preamble, begin = _read_preamble(file)
        bounds = list(_stretches(file, begin))
    keys = TrustedKeys(preamble.keys, pinned)
    verification = Verification(preamble.tenant, keys, preamble.start)
    kept = _Anchored(verification, anchored(preamble.tenant) if anchored else ())
    stated: Head | None = None
    for part in _parts(path, preamble.tenant, bounds, processes or cpu_count() or 1):
        match part:
            case Run():
                kept.expect_up_to(part.first_seq + len(part.hashes))
                verification.join(part)
            case SignedCheckpoint():
                verification.expect([part], anchored=False)
            case Head():
                stated = part
            case Fault():
                verification.fault = verification.fault or Fault(verification.head.seq + 1, part.reason)
        if verification.fault:
            break
    kept.expect_rest()
    # An export ends with its head: without one, the file was cut short.
    return verification.finish(stated or Head(verification.head.seq + 1, b""))


def scan_stretch(path: Path, tenant: TenantId, begin: int, end: int) -> list[Part]:
    """What the lines within bytes `[begin, end)` of the file show, in their order, up to a fault."""
    parts: list[Part] = []
    for are_entries, items in groupby(_items(path, begin, end), key=lambda item: isinstance(item, Block)):
        if are_entries:
            run = scan(tenant, cast(Iterator[Block], items))
            parts += [run] if run else []
        else:
            parts += cast(Iterator[SignedCheckpoint | Head | Fault], items)
        if isinstance(parts[-1], Fault) or (isinstance(parts[-1], Run) and parts[-1].fault):
            break
    return parts


class _Anchored:
    """Hands a verification its anchored checkpoints when their entries are about to pass."""

    def __init__(self, verification: Verification, checkpoints: Iterable[SignedCheckpoint]) -> None:
        self._verification = verification
        begin = verification.head.seq
        self._coming = (c for c in checkpoints if c.seq >= begin or c.seq == 0)
        self._next = next(self._coming, None)

    def expect_up_to(self, seq: int) -> None:
        while self._next and self._next.seq <= seq:
            self._verification.expect([self._next], anchored=True)
            self._next = next(self._coming, None)

    def expect_rest(self) -> None:
        if self._next:
            self._verification.expect([self._next, *self._coming], anchored=True)


def _read_preamble(file: BinaryIO) -> tuple[Preamble, int]:
    lines = [file.readline()]
    begin = file.tell()
    while is_preamble(line := file.readline()):
        lines.append(line)
        begin = file.tell()
    return read_preamble(iter(lines)), begin


def _stretches(file: BinaryIO, begin: int) -> Iterator[tuple[int, int]]:
    """Byte ranges that begin and end with whole lines."""
    size = file.seek(0, 2)
    while begin < size:
        file.seek(min(begin + STRETCH_BYTES, size))
        file.readline()
        end = file.tell()
        yield begin, end
        begin = end


def _parts(path: Path, tenant: TenantId, bounds: list[tuple[int, int]], processes: int) -> Iterator[Part]:
    """All parts in the file's order, a few stretches ahead of their reader."""
    if processes == 1 or len(bounds) == 1:
        for begin, end in bounds:
            yield from scan_stretch(path, tenant, begin, end)
        return
    with ExitStack() as stack:
        # A fresh interpreter each: this may be called beside threads, which forking does not survive.
        pool = ProcessPoolExecutor(min(processes, len(bounds)), get_context("spawn"))
        stack.callback(pool.shutdown, cancel_futures=True)
        ahead: deque[Future[list[Part]]] = deque()
        for begin, end in bounds:
            ahead.append(pool.submit(scan_stretch, path, tenant, begin, end))
            if len(ahead) > 2 * processes:
                yield from ahead.popleft().result()
        while ahead:
            yield from ahead.popleft().result()


def _items(path: Path, begin: int, end: int) -> Iterator[Item]:
    """Blocks of entries and what stands between them, up to a line that cannot be read."""
    for lines in _batches(path, begin, end):
        try:
            yield read_block(lines)
        except ValueError:
            for item in _told_apart(lines):
                yield item
                if isinstance(item, Fault):
                    return


def _batches(path: Path, begin: int, end: int) -> Iterator[list[bytes]]:
    """The lines of a stretch, about as many at a time as a block has."""
    with path.open("rb") as file:
        file.seek(begin)
        while begin < end:
            piece = file.read(min(BATCH_BYTES, end - begin))
            if not piece.endswith(b"\n"):
                piece += file.readline()
            begin += len(piece)
            yield [line for line in piece.split(b"\n") if line]


def _told_apart(lines: list[bytes]) -> Iterator[Item]:
    for are_entries, grouped in groupby(lines, key=lambda line: line.startswith(b"[")):
        group = list(grouped)
        if are_entries and (block := _block_or_none(group)):
            yield block
        else:
            yield from map(_item, group)


def _item(line: bytes) -> Item:
    try:
        return _block_or_none([line]) or read_statement(line)
    except ValueError:
        return Fault(0, Reason.LINE_UNREADABLE)


def _block_or_none(lines: list[bytes]) -> Block | None:
    try:
        return read_block(lines)
    except ValueError:
        return None
