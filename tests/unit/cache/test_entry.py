"""An entry opens where it was put, for whom it was put, while it is young; and nowhere else."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eai.cache.entry import MAX_AGE_S, EntryKey, Expired, Kind, Seals
from eai.kernel.ids import TenantId
from eai.platform.keys import SealBroken, TenantKey

KEY = EntryKey(Kind.RESULTS, ("base", 1, None, b"\0", 0.5, ("a", "b")))
TENANT_KEY = TenantKey(TenantId(UUID(int=1)), "cache", 1, b"s" * 32)
NOW = 1_000_000.0

scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(0, 1) | st.text(max_size=4)
scalars |= st.binary(max_size=4)
parts = st.lists(scalars | st.lists(scalars, max_size=3).map(tuple), max_size=4).map(tuple)
keys = st.builds(EntryKey, st.sampled_from(Kind), parts)


def spelled(value: object) -> str:
    """`repr` tells types apart that compare equal, such as 1 and True."""
    return repr(value)


@given(keys, keys)
def test_two_keys_that_differ_share_no_name_and_open_nothing_of_each_other(
    one: EntryKey, other: EntryKey
) -> None:
    assume(spelled(one) != spelled(other))
    seals = Seals(TENANT_KEY)
    assert seals.name(one) != seals.name(other)
    sealed = seals.seal(one, b"content", NOW)
    assert seals.open(one, sealed, NOW) == b"content"
    with pytest.raises(SealBroken):
        seals.open(other, sealed, NOW)


@pytest.mark.parametrize(
    "change",
    [{"tenant": TenantId(UUID(int=2))}, {"purpose": "idempotency"}, {"epoch": 2}, {"secret": b"t" * 32}],
)
def test_another_tenant_purpose_epoch_or_secret_has_other_names_and_opens_nothing(
    change: dict[str, object],
) -> None:
    mine, theirs = Seals(TENANT_KEY), Seals(replace(TENANT_KEY, **change))  # type: ignore[arg-type]
    assert mine.name(KEY) != theirs.name(KEY)
    with pytest.raises(SealBroken):
        theirs.open(KEY, mine.seal(KEY, b"content", NOW), NOW)


@given(st.data())
def test_a_changed_byte_or_a_lost_one_opens_nothing(data: st.DataObject) -> None:
    seals = Seals(TENANT_KEY)
    sealed = seals.seal(KEY, b"content", NOW)
    place = data.draw(st.integers(0, len(sealed) - 1))
    altered = bytearray(sealed)
    altered[place] ^= data.draw(st.integers(1, 255))
    for broken in (bytes(altered), sealed[:place], sealed + b"\0"):
        with pytest.raises(SealBroken):
            seals.open(KEY, broken, NOW)


def test_an_entry_is_open_for_fifteen_minutes_and_not_a_moment_longer() -> None:
    seals = Seals(TENANT_KEY)
    sealed = seals.seal(KEY, b"content", NOW)
    assert MAX_AGE_S == 900
    assert seals.open(KEY, sealed, NOW + 899.999) == b"content"
    for later in (900.0, 901.0, 10**9):
        with pytest.raises(Expired):
            seals.open(KEY, sealed, NOW + later)


def test_an_entry_of_the_future_is_not_believed_beyond_what_clocks_differ_by() -> None:
    seals = Seals(TENANT_KEY)
    assert seals.open(KEY, seals.seal(KEY, b"content", NOW + 0.9), NOW) == b"content"
    with pytest.raises(Expired):
        seals.open(KEY, seals.seal(KEY, b"content", NOW + 2), NOW)


def test_neither_name_nor_entry_shows_a_part_of_the_key() -> None:
    seals = Seals(TENANT_KEY)
    key = EntryKey(Kind.EMBEDDING, ("who was dismissed in March?",))
    stored = seals.name(key) + seals.seal(key, b"content", NOW)
    assert b"dismissed" not in stored
    assert b"content" not in stored


def test_each_sealing_of_the_same_differs() -> None:
    seals = Seals(TENANT_KEY)
    assert seals.seal(KEY, b"content", NOW) != seals.seal(KEY, b"content", NOW)
