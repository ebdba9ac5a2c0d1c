"""How fast an exported chain is verified, without the database.

`python -m benchmarks.audit_verification [--events N] [--write]`. What `eai audit verify --file` does, on
every core and on one, beside reading and hashing the same file without looking at what it says.
"""

import argparse
import hashlib
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.evidence import SHOWN, TENANTS, model_event, query_event
from benchmarks.report import machine, publish, table, wanted
from benchmarks.rounds import Stopwatch, middle, note, options, turns
from benchmarks.stage import temporary_home
from eai.audit.body import PrivateValues, entry_body
from eai.audit.chain import GENESIS, body_digest, link
from eai.audit.entries import AuditEntry
from eai.audit.export import event_lines, head_line, header_line
from eai.audit.offline import verify_export
from eai.audit.scan import BLOCK, Block
from eai.audit.timestamps import timestamp
from eai.audit.verification import Head
from eai.kernel.ids import DocumentId, TenantId
from eai.platform.context import WorkContext

WANTED = 300_000
_BARE, _ALONE, _ALL = "bare hashing, one process", "verification, one process", "verification, every core"

Kind = Callable[[TenantId], AuditEntry]
EXPORTS: dict[str, Sequence[Kind]] = {
    "small events": [model_event],
    "queries": [model_event, lambda tenant: query_event(tenant, [DocumentId(tenant)] * SHOWN)],
}


def write_export(path: Path, events: int, kinds: Sequence[Kind]) -> int:
    """A chain as the product exports it, with events of these kinds in turn; returns the file's bytes."""
    tenant, previous = TENANTS[0], GENESIS
    with path.open("wb") as file:
        file.write(header_line(tenant, datetime.now(UTC)))
        for begin in range(0, events, BLOCK):
            seqs = range(begin + 1, min(begin + BLOCK, events) + 1)
            rows = []
            for seq in seqs:
                body, columns = _stored(kinds[seq % len(kinds)](tenant), seq)
                previous = link(previous, seq, body_digest(body))
                rows.append((seq, previous, body, columns))
            file.write(event_lines(Block(*zip(*rows, strict=True))))
        file.write(head_line(Head(events, previous)))
    return path.stat().st_size


def _stored(entry: AuditEntry, seq: int) -> tuple[bytes, list[str | None]]:
    """An entry's body, and the columns beside it."""
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=seq)
    assert entry.actor is not None
    assert entry.resource is not None
    columns = [timestamp(at), entry.action.value, entry.decision.value, str(entry.actor.principal)]
    private = PrivateValues.of(entry.private) if entry.private else None
    body = entry_body(entry, at, WorkContext(f"req_{seq:032x}"), private)
    return body, [*columns, entry.resource.kind, entry.resource.id]


def bare_hashing(path: Path) -> int:
    """The floor of verification: read every line and hash it, reading nothing in it."""
    lines = 0
    with path.open("rb") as file:
        digest = b""
        for line in file:
            digest = hashlib.sha256(digest + hashlib.sha256(line).digest()).digest()
            lines += 1
    return lines


def measured(arguments: argparse.Namespace) -> list[list[str]]:
    """A row for each kind of export and each way to go through it."""
    rows = []
    for name, kinds in EXPORTS.items():
        with temporary_home() as home:
            path = home / "export.jsonl"
            note(f"writing an export of {arguments.events:,} events ({name})")
            size = write_export(path, arguments.events, kinds)
            for way, rates in _read(path, arguments).items():
                aim = wanted(f"≥ {WANTED:,}", holds=middle(rates) >= WANTED) if way == _ALL else ""
                measures = (
                    f"{size / arguments.events:,.0f}",
                    way,
                    f"{middle(rates):,.0f}",
                    f"{min(rates):,.0f}",
                )
                rows.append([name, *measures, aim])
    return rows


def _read(path: Path, arguments: argparse.Namespace) -> dict[str, list[float]]:
    events = arguments.events
    ways: dict[str, Callable[[], object]] = {
        _BARE: lambda: bare_hashing(path),
        _ALONE: lambda: _verified(path, events, 1),
        _ALL: lambda: _verified(path, events, None),
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for number, order in turns(list(ways), arguments.rounds):
        for name in order:
            with Stopwatch() as watch:
                ways[name]()
            rates[name].append(events / watch.seconds)
            note(f"round {number + 1}, {name}: {rates[name][-1]:,.0f} events/s")
    return rates


def _verified(path: Path, events: int, processes: int | None) -> None:
    found = verify_export(path, processes=processes)
    if not found.valid or found.events != events:
        raise RuntimeError(f"the export does not verify: {found}")


def report(rows: list[list[str]], arguments: argparse.Namespace) -> str:
    """The section of docs/benchmarks.md."""
    return "\n\n".join(
        [
            "## Offline verification of an audit export",
            f"`python -m benchmarks.audit_verification --write`, {machine()}",
            _EXPLAINED.strip().format(events=arguments.events),
            table(["export", "bytes an event", "read by", "events/s", "worst round", "wanted"], rows),
            _WHY.strip(),
        ]
    )


_WHY = """
Where a row is missed: hashing alone is not far from the goal in one process of this machine. Beyond it each
body is parsed, spelled again to see that it is canonical, and compared with tenant and columns, in C and by
whole blocks; a second process gained less than half of what the first does, its start included. Tried:
blocks of 32 to 128 entries, and leaving columns out of the file where the body says the same, which was a
third of the time.
"""


_EXPLAINED = """
Exports of {events:,} events as `GET /v1/audit/export` writes them: `small events` are embedding calls,
`queries` are these in turn with queries that showed five passages. `every core` is what
`eai audit verify --file` does, the start of its processes included. The floor reads the lines and hashes
each twice, as a chain must, and looks at nothing in them.
"""


def main(given: Sequence[str]) -> int:
    parser = options(__doc__)
    parser.add_argument("--events", type=int, default=600_000)
    arguments = parser.parse_args(given)
    publish("audit-verification", report(measured(arguments), arguments), write=arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
