"""The bytes of an entry, by literal value, and what hostile text turns into: attack line 93."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.audit.actions import AuditAction
from eai.audit.body import PrivateValues, entry_body
from eai.audit.entries import SYSTEM, Actor, AuditEntry, Decision, Resource
from eai.audit.timestamps import read_timestamp, timestamp
from eai.kernel.ids import ApiKeyId, PrincipalId
from eai.platform.context import WorkContext
from tests.factories.chains import ALPHA

AT = datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC)
WORK = WorkContext("req_1", "4bf92f3577b34da6a3ce929d0e0e4736")
ENTRY = AuditEntry(
    ALPHA,
    AuditAction.KNOWLEDGE_QUERY,
    Actor("user", PrincipalId(UUID(int=1)), ApiKeyId(UUID(int=2))),
    Resource("knowledge_base", "kb-1"),
    Decision.ALLOW,
    {"top_k": 5, "mode": "hybrid", "chunks": ("c1", "c2"), "reranked": False},
)


def test_the_bytes_are_what_they_were() -> None:
    private = PrivateValues(bytes(32) + b'{"query":"who?"}')
    assert entry_body(ENTRY, AT, WORK, private) == (
        b'{"action":"knowledge.query",'
        b'"actor":{"api_key":"00000000-0000-0000-0000-000000000002","kind":"user",'
        b'"principal":"00000000-0000-0000-0000-000000000001"},'
        b'"decision":"allow",'
        b'"details_commitment":"cdeff9d3ddf30622ba2ff1a3b52468ad6ea3bc570499fde7e15ba259f7f58cc9",'
        b'"facts":{"chunks":["c1","c2"],"mode":"hybrid","reranked":false,"top_k":5},'
        b'"occurred_at":"2026-01-31T12:00:00.000005Z",'
        b'"request_id":"req_1",'
        b'"resource":{"id":"kb-1","kind":"knowledge_base"},'
        b'"tenant":"aaaaaaaa-0000-4000-8000-000000000001",'
        b'"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",'
        b'"v":1}'
    )


def test_what_is_not_there_is_null_and_a_missing_trace_is_left_out() -> None:
    bare = AuditEntry(ALPHA, AuditAction.AUTH_FAILED, decision=Decision.DENY)
    assert entry_body(bare, AT, WorkContext("req_1"), None) == (
        b'{"action":"auth.failed","actor":null,"decision":"deny","details_commitment":null,"facts":{},'
        b'"occurred_at":"2026-01-31T12:00:00.000005Z","request_id":"req_1","resource":null,'
        b'"tenant":"aaaaaaaa-0000-4000-8000-000000000001","v":1}'
    )


def test_a_part_of_the_platform_acts_without_ids() -> None:
    fields = orjson.loads(entry_body(replace(ENTRY, actor=SYSTEM), AT, WORK, None))
    assert fields["actor"] == {"kind": "system", "principal": None, "api_key": None}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines", r"two\nlines"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ('","decision":"allow', '","decision":"allow'),
        ("null\x00byte", r"null\x00byte"),
        ("\u202eevil", r"\u202eevil"),
        ("\ud800", r"\ud800"),
        ("e\u0301t\u00e9", "été"),
    ],
)
def test_hostile_text_stays_one_harmless_value(text: str, shown: str) -> None:
    hostile = replace(ENTRY, resource=Resource(text, text), facts={"a": text, "b": [text], "c": {"d": text}})
    body = entry_body(hostile, AT, WorkContext(text, text), None)
    fields = orjson.loads(body)
    assert body.decode().isprintable()
    assert fields["decision"] == "allow"
    assert fields["resource"] == {"kind": shown, "id": shown}
    assert fields["facts"] == {"a": shown, "b": [shown], "c": {"d": shown}}
    assert (fields["request_id"], fields["trace_id"]) == (shown, shown)


@given(st.text(max_size=30))
def test_every_text_can_be_a_fact(text: str) -> None:
    body = entry_body(replace(ENTRY, facts={"a": text}), AT, WORK, None)
    assert orjson.loads(body)["facts"]["a"].isprintable()


@given(st.text(max_size=30))
def test_every_text_can_be_private_and_is_kept_as_it_was_typed(text: str) -> None:
    private = PrivateValues.of({"name": text, "more": [text]})
    kept = orjson.loads(private.text)["name"]
    assert kept == text or not text.isascii()


def test_a_float_is_refused_because_it_has_no_single_spelling() -> None:
    with pytest.raises(ValueError):
        entry_body(replace(ENTRY, facts={"score": 0.5}), AT, WORK, None)  # type: ignore[dict-item]


def test_the_commitment_is_salted_so_that_it_cannot_be_guessed_open() -> None:
    first, second = (PrivateValues.of({"name": "Ann"}) for _ in range(2))
    assert first.text == second.text == b'{"name":"Ann"}'
    assert first.commitment != second.commitment
    assert first.commitment == sha256(first.salted).digest()


def test_an_instant_has_one_spelling() -> None:
    paris = datetime(2026, 1, 31, 13, 0, tzinfo=timezone(timedelta(hours=1)))
    assert timestamp(paris) == "2026-01-31T12:00:00.000000Z"
    assert read_timestamp("2026-01-31T12:00:00.000000Z") == paris
    for other in ("2026-01-31T12:00:00Z", "2026-01-31T13:00:00.000000+01:00", "2026-01-31", "soon"):
        with pytest.raises(ValueError):
            read_timestamp(other)
