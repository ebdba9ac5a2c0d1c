"""A chain as lines of JSON that can be verified far from the database.

Line 1 names the tenant; then come the signing keys, a starting checkpoint where the export does not
begin with the first entry, the entries, each checkpoint after the entry it covers, and the stated head.
An entry is an array of seq, hash and body. The body is a JSON string, which gives back exactly the bytes
that were stored. The query columns follow it only where they say something else than the body does:
otherwise they would be a third of the file, and a third of the time that verification takes.
"""

from binascii import unhexlify
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from eai.audit.checkpoint import SignedCheckpoint, SigningKey
from eai.audit.scan import Block, Columns, agrees
from eai.audit.timestamps import read_timestamp, timestamp
from eai.audit.verification import Head, Start
from eai.kernel.ids import TenantId

VERSION = 1
COLUMNS = ("occurred_at", "action", "decision", "actor_principal", "resource_kind", "resource_id")
ENTRY = ("seq", "hash", "body")
_MAX_SEQ = 2**63 - 1


@dataclass(slots=True)
class Preamble:
    """What an export says before its first entry."""

    tenant: TenantId
    keys: list[SigningKey] = field(default_factory=list)
    start: Start | None = None


def header_line(tenant: TenantId, exported_at: datetime) -> bytes:
    """The first line."""
    return _line(
        {
            "eai_audit_export": VERSION,
            "tenant": str(tenant),
            "exported_at": timestamp(exported_at),
            "entry": ENTRY,
            "columns": COLUMNS,
        }
    )


def key_line(key: SigningKey) -> bytes:
    """A signing key, with the endorsement by its predecessor."""
    return _line({"key": key_fields(key)})


def start_line(start: Start) -> bytes:
    """The checkpoint after which the entries of this export begin."""
    return _line({"start": checkpoint_fields(start.signed) | {"frontier": start.frontier.hex()}})


def event_lines(block: Block) -> bytes:
    """A line for each entry."""
    return b"".join(
        _line([seq, stated.hex(), _body_text(body), *_differing(body, columns)])
        for seq, stated, body, columns in zip(*block, strict=True)
    )


def checkpoint_line(signed: SignedCheckpoint) -> bytes:
    """A checkpoint; it follows the entry it covers."""
    return _line({"checkpoint": checkpoint_fields(signed)})


def head_line(head: Head) -> bytes:
    """The last line: where the records say that the chain ends."""
    return _line({"head": {"seq": head.seq, "hash": head.hash.hex()}})


def checkpoint_fields(signed: SignedCheckpoint) -> dict[str, str]:
    """A signed checkpoint as JSON; `read_checkpoint` is its inverse."""
    return {
        "body": signed.body.decode(errors="replace"),
        "signature": signed.signature.hex(),
        "public_key": signed.public_key.hex(),
    }


def read_checkpoint(fields: dict[str, str]) -> SignedCheckpoint:
    """The checkpoint that `checkpoint_fields` wrote. Raises ValueError, KeyError or TypeError."""
    return SignedCheckpoint(
        str(fields["body"]).encode(), bytes.fromhex(fields["signature"]), bytes.fromhex(fields["public_key"])
    )


def key_fields(key: SigningKey) -> dict[str, str | None]:
    """A signing key as JSON."""
    return {
        "public_key": key.public_key.hex(),
        "created_at": timestamp(key.created_at),
        "predecessor": key.predecessor,
        "endorsement": key.endorsement.hex() if key.endorsement else None,
    }


def read_preamble(lines: Iterator[bytes]) -> Preamble:
    """What the lines before the first entry say; takes no other line. Raises ValueError."""
    try:
        fields = orjson.loads(next(lines))
        if fields["eai_audit_export"] != VERSION:
            raise ValueError("an export of another version")
        preamble = Preamble(TenantId(UUID(fields["tenant"])))
        for line in lines:
            _read_preamble_line(orjson.loads(line), preamble)
    except (StopIteration, KeyError, TypeError, AttributeError, orjson.JSONDecodeError) as error:
        raise ValueError("not an audit export") from error
    return preamble


def is_preamble(line: bytes) -> bool:
    """Whether a line after the first still belongs to the preamble."""
    return line.startswith((b'{"key":', b'{"start":'))


def read_block(lines: Sequence[bytes]) -> Block:
    """The entries of `lines`. Raises ValueError unless every line is an entry."""
    rows = [orjson.loads(line) for line in lines]
    try:
        block = Block(
            [row[0] for row in rows],
            [unhexlify(row[1]) for row in rows],
            [row[2].encode() if type(row[2]) is str else bytes.fromhex(row[2]["damaged"]) for row in rows],
            _columns(rows),
        )
    except (TypeError, AttributeError, KeyError, IndexError) as error:
        raise ValueError("not an entry") from error
    if {*map(type, block.seqs)} != {int} or min(block.seqs) < 1 or max(block.seqs) > _MAX_SEQ:
        raise ValueError("not a seq")
    return block


def read_statement(line: bytes) -> SignedCheckpoint | Head:
    """The checkpoint or head that a line among or after the entries holds. Raises ValueError."""
    fields = orjson.loads(line)
    try:
        match fields:
            case {"checkpoint": dict(checkpoint)}:
                return read_checkpoint(checkpoint)
            case {"head": {"seq": int(seq), "hash": str(stated)}}:
                return Head(seq, bytes.fromhex(stated))
            case _:
                raise ValueError("neither checkpoint nor head")
    except (KeyError, TypeError) as error:
        raise ValueError("not a checkpoint") from error


def _read_preamble_line(fields: dict[str, Any], preamble: Preamble) -> None:
    if "key" in fields:
        preamble.keys.append(_read_key(fields["key"]))
    else:
        start = fields["start"]
        preamble.start = Start(read_checkpoint(start), bytes.fromhex(start["frontier"]))


def _read_key(fields: dict[str, Any]) -> SigningKey:
    endorsement = fields["endorsement"]
    return SigningKey(
        bytes.fromhex(fields["public_key"]),
        read_timestamp(fields["created_at"]),
        fields["predecessor"],
        bytes.fromhex(endorsement) if endorsement else None,
    )


def _columns(rows: Sequence[Sequence[Any]]) -> list[Columns | None]:
    if max(map(len, rows)) == len(ENTRY):
        return [None] * len(rows)
    columns = [row[len(ENTRY)] if len(row) > len(ENTRY) else None for row in rows]
    if not all(each is None or isinstance(each, list) for each in columns):
        raise ValueError("not columns")
    return columns


def _differing(body: bytes, columns: Columns | None) -> list[Columns]:
    return [] if columns is None or agrees(body, columns) else [list(columns)]


def _body_text(body: bytes) -> str | dict[str, str]:
    """A stored body is UTF-8; one that was damaged until it is not still has to travel."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return {"damaged": body.hex()}


def _line(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
