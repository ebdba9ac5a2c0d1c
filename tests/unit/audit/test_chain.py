"""The rule of the chain, by literal values: changing it breaks every chain that was ever written."""

from hypothesis import given
from hypothesis import strategies as st

from eai.audit.chain import CHAIN_PREFIX, GENESIS, body_digest, link

bodies = st.binary(max_size=64)
seqs = st.integers(1, 2**63 - 1)
hashes = st.binary(min_size=32, max_size=32)


def test_the_parts_are_what_they_were() -> None:
    assert CHAIN_PREFIX == b"eai.audit.entry.v1\x00"
    assert not any(GENESIS)
    assert len(GENESIS) == 32


def test_the_first_two_links_are_what_they_were() -> None:
    first = link(GENESIS, 1, body_digest(b'{"v":1}'))
    second = link(first, 2, body_digest(b'{"v":2}'))
    assert first.hex() == "9565c26e96d73c3151bd61319a4373eff6b69b24e0ecf6dcd890adb1c7bb56ef"
    assert second.hex() == "1065f1b1f2bd4be62445d544b65a9ae07590e0c7bd00d232f2bf042c929c2df2"


@given(hashes, seqs, bodies, bodies)
def test_another_body_is_another_link(previous: bytes, seq: int, body: bytes, other: bytes) -> None:
    same = body == other
    assert (link(previous, seq, body_digest(body)) == link(previous, seq, body_digest(other))) is same


@given(hashes, seqs, seqs, bodies)
def test_another_place_is_another_link(previous: bytes, seq: int, other: int, body: bytes) -> None:
    digest = body_digest(body)
    assert (link(previous, seq, digest) == link(previous, other, digest)) is (seq == other)


@given(hashes, hashes, seqs, bodies)
def test_another_past_is_another_link(previous: bytes, other: bytes, seq: int, body: bytes) -> None:
    digest = body_digest(body)
    assert (link(previous, seq, digest) == link(other, seq, digest)) is (previous == other)
