"""Chains made up for tests, in the form in which the database stores them, and ways to forge them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from eai.audit.chain import body_digest, link
from eai.audit.checkpoint import Checkpoint, SignedCheckpoint, SigningKey, TrustedKeys, first_key, sign
from eai.audit.export import checkpoint_line, event_lines, head_line, header_line, key_line, start_line
from eai.audit.merkle import CompactRange, root_of
from eai.audit.scan import BLOCK, Block, scan
from eai.audit.verification import EMPTY, Head, Report, Start, Verification
from eai.kernel.canonical import canonical
from eai.kernel.ids import TenantId

ALPHA = TenantId(UUID("aaaaaaaa-0000-4000-8000-000000000001"))
BETA = TenantId(UUID("bbbbbbbb-0000-4000-8000-000000000002"))
ACTOR = "11111111-0000-4000-8000-000000000001"
START = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY_RECORD = first_key(KEY, START)


@dataclass(frozen=True, slots=True)
class Stored:
    """One row of `audit_events`."""

    seq: int
    hash: bytes
    body: bytes
    columns: tuple[str | None, ...] | None

    def saying(self, **changes: Any) -> "Stored":
        """The row with a body that says something else, in canonical form, and columns that agree."""
        fields = orjson.loads(self.body) | changes
        return replace(self, body=canonical(fields), columns=columns_of(fields))


def columns_of(fields: dict[str, Any]) -> tuple[str | None, ...]:
    actor, resource = fields["actor"], fields["resource"]
    return (
        fields["occurred_at"],
        fields["action"],
        fields["decision"],
        actor and actor["principal"],
        resource and resource["kind"],
        resource and resource["id"],
    )


def entry(tenant: TenantId, number: int, at: datetime | None = None, **changes: Any) -> Stored:
    """An entry that has no place yet."""
    moment = at or START + timedelta(seconds=number)
    fields = {
        "v": 1,
        "tenant": str(tenant),
        "occurred_at": moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "action": "knowledge.query",
        "decision": "allow",
        "actor": {"kind": "user", "principal": ACTOR, "api_key": None},
        "resource": {"kind": "knowledge_base", "id": "base-1"},
        "request_id": f"req_{number}",
        "facts": {"top_k": 5, "number": number},
        "details_commitment": None,
    } | changes
    return Stored(0, b"", canonical(fields), columns_of(fields))


def placed(entries: Iterable[Stored], after: Head = EMPTY) -> list[Stored]:
    """Entries with the seqs and hashes that make them a chain: what a forger can do as well as we can."""
    chain: list[Stored] = []
    seq, previous = after.seq, after.hash
    for each in entries:
        seq += 1
        previous = link(previous, seq, body_digest(each.body))
        chain.append(replace(each, seq=seq, hash=previous))
    return chain


def chain(tenant: TenantId = ALPHA, count: int = 10) -> list[Stored]:
    """A good chain."""
    return placed(entry(tenant, number) for number in range(1, count + 1))


def head_of(stored: Sequence[Stored]) -> Head:
    return Head(stored[-1].seq, stored[-1].hash) if stored else EMPTY


def block(stored: Sequence[Stored]) -> Block:
    return Block(
        [each.seq for each in stored],
        [each.hash for each in stored],
        [each.body for each in stored],
        [None if each.columns is None else list(each.columns) for each in stored],
    )


def blocks(stored: Sequence[Stored], size: int = BLOCK) -> list[Block]:
    return [block(stored[begin : begin + size]) for begin in range(0, len(stored), size)]


def checkpoint(
    stored: Sequence[Stored], seq: int, *, key: Ed25519PrivateKey = KEY, tenant: TenantId = ALPHA
) -> SignedCheckpoint:
    """What an honest signer says of the first `seq` entries."""
    hashes = [each.hash for each in stored[:seq]]
    issued = START + timedelta(seconds=seq, milliseconds=500)
    return sign(Checkpoint(tenant, seq, hashes[-1], root_of(hashes), issued), key)


def start_after(stored: Sequence[Stored], seq: int) -> Start:
    """What is needed to go on after the first `seq` entries."""
    tree = CompactRange()
    tree.extend(each.hash for each in stored[:seq])
    return Start(checkpoint(stored, seq), tree.stored)


def verify(
    stored: Sequence[Stored],
    *,
    recorded: Sequence[SignedCheckpoint] = (),
    anchored: Sequence[SignedCheckpoint] = (),
    stated: Head | None = None,
    keys: Sequence[SigningKey] = (KEY_RECORD,),
    tenant: TenantId = ALPHA,
    block_size: int = BLOCK,
) -> Report:
    """The verdict on rows as they lie; the stated head is the last row's unless given."""
    verification = Verification(tenant, TrustedKeys(keys))
    verification.expect(anchored, anchored=True)
    verification.expect(recorded, anchored=False)
    verification.join(scan(tenant, blocks(stored, block_size)))
    return verification.finish(stated or head_of(stored))


def export_of(
    stored: Sequence[Stored],
    *,
    recorded: Sequence[SignedCheckpoint] = (),
    keys: Sequence[SigningKey] = (KEY_RECORD,),
    stated: Head | None = None,
    start: Start | None = None,
    tenant: TenantId = ALPHA,
) -> list[bytes]:
    """The lines of an export of these rows, as honestly as they lie there."""
    signed = {each.seq: each for each in recorded}
    lines = [header_line(tenant, START), *map(key_line, keys)]
    if start:
        lines.append(start_line(start))
    for each in stored:
        lines.append(event_lines(block([each])))
        if each.seq in signed:
            lines.append(checkpoint_line(signed[each.seq]))
    return [*lines, head_line(stated or head_of(stored))]
