"""What is signed, by literal bytes, and which keys count."""

from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from eai.audit.checkpoint import (
    Checkpoint,
    SignedCheckpoint,
    TrustedKeys,
    first_key,
    is_endorsed,
    key_id,
    sign,
    succeed,
)
from tests.factories.chains import ALPHA, KEY, START

STATED = Checkpoint(ALPHA, 7, bytes(range(32)), bytes(range(32, 64)), START)
SECOND = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
THIRD = Ed25519PrivateKey.from_private_bytes(bytes(range(2, 34)))
FORGER = Ed25519PrivateKey.from_private_bytes(bytes(32))


def public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def test_the_signed_bytes_are_what_they_were() -> None:
    signed = sign(STATED, KEY)
    assert signed.body == (
        b'{"head":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",'
        b'"issued_at":"2026-01-31T12:00:00.000000Z","key_id":"56475aa75463474c",'
        b'"root":"202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f",'
        b'"seq":7,"tenant":"aaaaaaaa-0000-4000-8000-000000000001","v":1}'
    )
    assert (
        signed.signature.hex() == "9dfd028ddad82aab9df0df2c197748443888aabcee5e21c3a9e9280dcc561633"
        "9751012e7d7d9425bf07916849b7fdb0e967e81c02a8981f7f9707bc622dfe09"
    )
    KEY.public_key().verify(signed.signature, b"eai.audit.checkpoint.v1\n" + signed.body)


def test_it_reads_back_as_it_was_stated() -> None:
    signed = sign(STATED, KEY)
    assert signed.checkpoint == STATED
    assert signed.is_genuine()


@pytest.mark.parametrize(
    "change",
    [
        {"body": sign(replace(STATED, seq=8), KEY).body},
        {"body": sign(STATED, KEY).body + b" "},
        {"body": b"{}"},
        {"body": b"[]"},
        {"body": b"\xff"},
        {"signature": bytes(64)},
        {"signature": b""},
        {"public_key": public(FORGER)},
        {"public_key": b"short"},
    ],
)
def test_any_change_makes_it_ungenuine(change: dict[str, bytes]) -> None:
    assert not replace(sign(STATED, KEY), **change).is_genuine()


def test_a_signature_made_for_another_purpose_does_not_count() -> None:
    body = sign(STATED, KEY).body
    assert not SignedCheckpoint(body, KEY.sign(body), public(KEY)).is_genuine()


def test_the_first_key_is_trusted_where_none_is_pinned() -> None:
    keys = TrustedKeys([first_key(KEY, START)])
    assert public(KEY) in keys
    assert public(FORGER) not in keys
    assert not keys.is_pinned


def test_a_key_is_trusted_through_those_that_endorsed_it() -> None:
    line = [first_key(KEY, START), succeed(KEY, SECOND, START), succeed(SECOND, THIRD, START)]
    for keys in (TrustedKeys(reversed(line)), TrustedKeys(line, pinned=[public(KEY)])):
        assert all(public(key) in keys for key in (KEY, SECOND, THIRD))


def test_a_pinned_key_vouches_for_its_successors_and_not_for_its_predecessors() -> None:
    line = [first_key(KEY, START), succeed(KEY, SECOND, START), succeed(SECOND, THIRD, START)]
    keys = TrustedKeys(line, pinned=[public(SECOND)])
    assert keys.is_pinned
    assert [public(key) in keys for key in (KEY, SECOND, THIRD)] == [False, True, True]


def test_a_pinned_key_needs_no_record() -> None:
    assert public(SECOND) in TrustedKeys([succeed(KEY, SECOND, START)], pinned=[public(KEY)])


def test_a_key_that_nobody_endorsed_is_not_trusted() -> None:
    honest = succeed(KEY, SECOND, START)
    forged = [
        replace(honest, public_key=public(FORGER)),
        replace(honest, endorsement=bytes(64)),
        replace(honest, created_at=START + timedelta(days=1)),
        replace(succeed(FORGER, SECOND, START), predecessor=key_id(public(KEY))),
        replace(honest, predecessor=None, endorsement=None),
    ]
    for record in forged:
        keys = TrustedKeys([first_key(KEY, START), record], pinned=[public(KEY)])
        assert record.public_key not in keys


def test_keys_that_endorse_each_other_vouch_for_nothing() -> None:
    circle = [succeed(SECOND, THIRD, START), succeed(THIRD, SECOND, START)]
    keys = TrustedKeys([first_key(KEY, START), *circle], pinned=[public(KEY)])
    assert public(SECOND) not in keys
    assert public(THIRD) not in keys


def test_an_endorsement_is_by_the_key_it_names() -> None:
    assert is_endorsed(succeed(KEY, SECOND, START), public(KEY))
    assert not is_endorsed(succeed(KEY, SECOND, START), public(SECOND))
    assert not is_endorsed(first_key(KEY, START), public(KEY))
