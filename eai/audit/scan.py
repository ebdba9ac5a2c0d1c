"""Checks a run of stored entries against themselves: bytes, links, order, columns. Pure.

A run's link to what stood before it stays open, so that runs of one chain can be checked side by side
and joined afterwards (`verification.py`). Entries come in small blocks that are compared whole, which
is what makes a long chain quick to verify; only a block that is not clean is looked at one by one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from eai.audit.chain import link, links
from eai.audit.timestamps import read_timestamp
from eai.kernel.ids import TenantId

BLOCK = 64
"""Entries per block; much larger ones leave the processor's cache."""

CLOCK_TOLERANCE = timedelta(seconds=60)
"""How far an entry may lie before a predecessor: processes' clocks differ, and commits overtake."""

Columns = Sequence[str | None]
"""occurred_at, action, decision, actor's principal, resource kind, resource id; all as text."""


class Block(NamedTuple):
    """Entries as they are stored, field by field, in the order in which they claim to stand.

    `columns` is None for an entry whose columns were found to say what its body says.
    """

    seqs: Sequence[int]
    hashes: Sequence[bytes]
    bodies: Sequence[bytes]
    columns: Sequence[Columns | None]

    def part(self, begin: int, end: int | None = None) -> "Block":
        """Some of the entries, as a slice would take them."""
        chosen = slice(begin, end)
        return Block(self.seqs[chosen], self.hashes[chosen], self.bodies[chosen], self.columns[chosen])


class Reason(StrEnum):
    """What is wrong with a chain."""

    HASH_MISMATCH = "hash_mismatch"
    GAP = "gap"
    DUPLICATE = "duplicate"
    OUT_OF_ORDER = "out_of_order"
    BODY_UNREADABLE = "body_unreadable"
    COLUMNS_DIFFER = "columns_differ"
    FOREIGN_TENANT = "foreign_tenant"
    LINE_UNREADABLE = "line_unreadable"
    ROOT_MISMATCH = "root_mismatch"
    SIGNATURE_INVALID = "signature_invalid"
    KEY_UNTRUSTED = "key_untrusted"
    CHECKPOINT_MISPLACED = "checkpoint_misplaced"
    TAIL_MISSING = "tail_missing"
    HEAD_MISMATCH = "head_mismatch"


@dataclass(frozen=True, slots=True)
class Fault:
    """The first thing wrong: at `seq`, or where `until` is given somewhere in `seq` to `until`."""

    seq: int
    reason: Reason
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """The instants of a run, as text: the first, the earliest and whose it is, the latest.

    `back_at` is the first entry that lies too far before one that it follows.
    """

    first: str
    earliest: str
    earliest_seq: int
    latest: str
    back_at: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive entries that agree with themselves and with each other, up to the first fault.

    `digest` is that of the first body: with what stood before, it decides about the first link.
    `hashes` and `span` cover the good entries only.
    """

    first_seq: int
    digest: bytes
    hashes: list[bytes]
    span: Span | None
    fault: Fault | None = None


def scan(tenant: TenantId, blocks: Iterable[Block]) -> Run | None:
    """Check the entries of `blocks` as one run of the chain of `tenant`; None when there are none."""
    remaining = iter(blocks)
    first = next((block for block in remaining if block.seqs), None)
    if first is None:
        return None
    owner, digest = str(tenant), sha256(first.bodies[0]).digest()
    previous: bytes | None = None
    hashes: list[bytes] = []
    times: list[str] = []
    fault: Fault | None = None
    for block in _chain(first, remaining):
        expected = first.seqs[0] + len(hashes)
        found = _times_if_clean(owner, previous, expected, block)
        if found is None:
            good, fault = _diagnose(owner, previous, expected, block, remaining)
            found = [str(orjson.loads(body)["occurred_at"]) for body in block.bodies[:good]]
        hashes += block.hashes[: len(found)]
        times += found
        if fault:
            break
        previous = hashes[-1]
    return Run(first.seqs[0], digest, hashes, _span(first.seqs[0], times), fault)


def agrees(body: bytes, columns: Columns) -> bool:
    """Whether query columns say what `body` says; a body that says nothing agrees with none."""
    try:
        return _columns(orjson.loads(body)) == list(columns)
    except (ValueError, KeyError, TypeError):
        return False


def misplaced(expected: int, found: int, later: Iterable[int] = ()) -> Fault:
    """Why `found` stands where `expected` should; `later` are the seqs after it."""
    if found < expected:
        return Fault(found, Reason.DUPLICATE)
    return Fault(expected, Reason.OUT_OF_ORDER if expected in later else Reason.GAP)


def went_back(earlier: str, later: str) -> bool:
    """Whether an entry of instant `later` lies more than the tolerance before one of `earlier`.

    What cannot be read as an instant counts as having gone back.
    """
    try:
        return read_timestamp(earlier) - read_timestamp(later) > CLOCK_TOLERANCE
    except ValueError:
        return True


def _chain(first: Block, remaining: Iterator[Block]) -> Iterator[Block]:
    yield first
    yield from remaining


def _times_if_clean(owner: str, previous: bytes | None, seq: int, block: Block) -> list[str] | None:
    """The entries' instants if all of `block` is in order: comparisons of whole lists, made in C."""
    seqs, hashes, bodies, columns = block
    if list(seqs) != list(range(seq, seq + len(seqs))):
        return None
    if previous is None:
        due = [hashes[0], *links(hashes, seqs[1:], bodies[1:])]
    else:
        due = links((previous, *hashes), seqs, bodies)
    if due != list(hashes):
        return None
    try:
        said = [orjson.loads(body) for body in bodies]
        is_faithful = (
            _are_canonical(said, bodies)
            and {fields["tenant"] for fields in said} == {owner}
            and all(
                row is None or _columns(fields) == list(row)
                for fields, row in zip(said, columns, strict=True)
            )
        )
        times = [fields["occurred_at"] for fields in said]
        return times if is_faithful and {*map(type, times)} == {str} else None
    except (ValueError, KeyError, TypeError):
        return None


def _are_canonical(said: list[Any], bodies: Sequence[bytes]) -> bool:
    """Whether our own encoder would have spelled them so.

    Two spellings of one value, or a key given twice, would let readers disagree about what was said.
    """
    return list(map(orjson.dumps, said)) == list(bodies)


def _columns(fields: dict[str, Any]) -> list[Any]:
    actor, resource = fields["actor"], fields["resource"]
    return [
        fields["occurred_at"],
        fields["action"],
        fields["decision"],
        actor and actor["principal"],
        resource and resource["kind"],
        resource and resource["id"],
    ]


def _diagnose(
    owner: str, previous: bytes | None, seq: int, block: Block, remaining: Iterator[Block]
) -> tuple[int, Fault]:
    """How many entries of a block that is not clean are good, and what is wrong with the next one."""
    for good, (found, stated, body, columns) in enumerate(zip(*block, strict=True)):
        expected = seq + good
        if found != expected:
            later = [*block.seqs[good:], *(place for rest in remaining for place in rest.seqs)]
            return good, misplaced(expected, found, later)
        if previous is not None and link(previous, found, sha256(body).digest()) != stated:
            return good, Fault(found, Reason.HASH_MISMATCH)
        if reason := _unfaithful(owner, body, columns):
            return good, Fault(found, reason)
        previous = stated
    raise AssertionError("a block that is not clean has a first bad entry")


def _unfaithful(owner: str, body: bytes, columns: Columns | None) -> Reason | None:
    try:
        fields = orjson.loads(body)
        tenant, said = fields["tenant"], _columns(fields)
    except (ValueError, KeyError, TypeError):
        return Reason.BODY_UNREADABLE
    if tenant != owner:
        return Reason.FOREIGN_TENANT
    if columns is not None and said != list(columns):
        return Reason.COLUMNS_DIFFER
    is_entry = isinstance(fields["occurred_at"], str) and _are_canonical([fields], [body])
    return None if is_entry else Reason.BODY_UNREADABLE


def _span(first_seq: int, times: list[str]) -> Span | None:
    if not times:
        return None
    ordered = sorted(times)
    if ordered == times:
        return Span(times[0], times[0], first_seq, times[-1])
    back_at = None
    latest = times[0]
    for seq, at in enumerate(times, first_seq):
        if back_at is None and at < latest and went_back(latest, at):
            back_at = seq
        latest = max(latest, at)
    return Span(times[0], ordered[0], first_seq + times.index(ordered[0]), latest, back_at)
