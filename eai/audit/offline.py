"""Verifies an export with nothing but the file: stretches of it are scanned side by side, then joined."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from itertools import groupby
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import BinaryIO

from eai.audit.checkpoint import SignedCheckpoint, TrustedKeys
from eai.audit.export import Preamble, is_preamble, read_block, read_preamble, read_statement
from eai.audit.scan import BLOCK, Block, Fault, Reason, Run, scan
from eai.audit.verification import Head, Report, Verification
from eai.kernel.ids import TenantId

STRETCH_BYTES = 4 * 1024 * 1024
"""How much of the file one scan holds in memory."""

Part = Run | SignedCheckpoint | Head | Fault


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
    """What the lines within bytes `[begin, end)` of the file show, in their order."""
    with path.open("rb") as file:
        file.seek(begin)
        lines = file.read(end - begin).split(b"\n")
    parts: list[Part] = []
    for is_entry, grouped in groupby(filter(None, lines), key=_is_entry):
        group = list(grouped)
        parts += _entries(tenant, group) if is_entry else _statements(group)
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


def _is_entry(line: bytes) -> bool:
    return line.startswith(b"[")


def _entries(tenant: TenantId, lines: list[bytes]) -> list[Part]:
    unreadable: list[Fault] = []
    run = scan(tenant, _blocks(lines, unreadable))
    return [*([run] if run else []), *unreadable]


def _blocks(lines: list[bytes], unreadable: list[Fault]) -> Iterator[Block]:
    """Entries block by block, up to the first line that is none, which is added to `unreadable`."""
    for begin in range(0, len(lines), BLOCK):
        chosen = lines[begin : begin + BLOCK]
        try:
            yield read_block(chosen)
        except ValueError:
            good = _readable(chosen)
            if good:
                yield read_block(chosen[:good])
            unreadable.append(Fault(0, Reason.LINE_UNREADABLE))
            return


def _readable(lines: list[bytes]) -> int:
    """How many of `lines` are entries before the first that is none."""
    for count, line in enumerate(lines):
        try:
            read_block([line])
        except ValueError:
            return count
    return len(lines)


def _statements(lines: Iterable[bytes]) -> list[Part]:
    parts: list[Part] = []
    for line in lines:
        try:
            parts.append(read_statement(line))
        except ValueError:
            return [*parts, Fault(0, Reason.LINE_UNREADABLE)]
    return parts
