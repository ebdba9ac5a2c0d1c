from hypothesis import assume, given
from hypothesis import strategies as st

from eai.access.acl import BaseRights, Entry, Permission, base_rights, deciding_entry, permissions
from eai.access.scopes import Scope
from eai.access.subject import EVERYONE, Subject
from tests.unit.access.strategies import access_lists, entries, references, subjects

READ, WRITE, MANAGE = Permission.READ, Permission.WRITE, Permission.MANAGE
ME = frozenset({"user:me", EVERYONE, "group:mine"})

reference_sets = st.frozensets(references)


def _allow(principal: str, permission: Permission) -> Entry:
    return Entry(principal, permission)


def _deny(principal: str, permission: Permission) -> Entry:
    return Entry(principal, permission, "deny")


def test_the_ladder_is_read_write_manage() -> None:
    assert [permission.rank for permission in (READ, WRITE, MANAGE)] == [0, 1, 2]


def test_allowing_a_rung_allows_every_rung_below() -> None:
    assert permissions([_allow("user:me", READ)], ME) == {READ}
    assert permissions([_allow("user:me", WRITE)], ME) == {READ, WRITE}
    assert permissions([_allow("group:mine", MANAGE)], ME) == {READ, WRITE, MANAGE}


def test_denying_a_rung_denies_every_rung_above() -> None:
    everything = _allow(EVERYONE, MANAGE)
    assert permissions([everything, _deny("user:me", MANAGE)], ME) == {READ, WRITE}
    assert permissions([everything, _deny("group:mine", WRITE)], ME) == {READ}
    assert permissions([everything, _deny(EVERYONE, READ)], ME) == frozenset()


def test_an_entry_for_somebody_else_changes_nothing() -> None:
    assert permissions([_allow("user:other", MANAGE), _allow(EVERYONE, READ)], ME) == {READ}
    assert permissions([_deny("user:other", READ), _allow(EVERYONE, READ)], ME) == {READ}


def test_nothing_that_allows_means_nothing_is_there() -> None:
    assert permissions([], ME) == frozenset()
    assert permissions([_deny("user:me", MANAGE)], ME) == frozenset()


def test_the_denial_is_named_as_what_decided() -> None:
    entries = [_allow(EVERYONE, MANAGE), _deny("user:me", WRITE)]
    assert deciding_entry(entries, ME, MANAGE) == _deny("user:me", WRITE)
    assert deciding_entry(entries, ME, READ) == _allow(EVERYONE, MANAGE)
    assert deciding_entry(entries, frozenset({"user:other"}), READ) is None


@given(access_lists, reference_sets)
def test_permissions_are_closed_downwards(acl: list[Entry], mine: frozenset[str]) -> None:
    granted = permissions(acl, mine)
    assert all(lower in granted for p in granted for lower in Permission if lower.rank < p.rank)


@given(access_lists, entries, reference_sets)
def test_one_more_allowance_never_takes_away(acl: list[Entry], entry: Entry, mine: frozenset[str]) -> None:
    assume(entry.effect == "allow")
    assert permissions(acl, mine) <= permissions([*acl, entry], mine)


@given(access_lists, entries, reference_sets)
def test_one_more_denial_never_gives(acl: list[Entry], entry: Entry, mine: frozenset[str]) -> None:
    assume(entry.effect == "deny")
    assert permissions([*acl, entry], mine) <= permissions(acl, mine)


@given(access_lists, references, st.sampled_from(Permission))
def test_deny_wins_wherever_it_stands(acl: list[Entry], name: str, denied: Permission) -> None:
    for placed in ([_deny(name, denied), *acl], [*acl, _deny(name, denied)]):
        granted = permissions(placed, frozenset({name}))
        assert all(permission.rank < denied.rank for permission in granted)


@given(st.data())
def test_the_order_of_entries_means_nothing(data: st.DataObject) -> None:
    acl = data.draw(access_lists)
    shuffled = data.draw(st.permutations(acl))
    mine = data.draw(reference_sets)
    assert permissions(acl, mine) == permissions(shuffled, mine)


@given(access_lists, reference_sets, st.sampled_from(Permission))
def test_the_deciding_entry_explains_the_decision(
    acl: list[Entry], mine: frozenset[str], permission: Permission
) -> None:
    entry = deciding_entry(acl, mine, permission)
    is_granted = permission in permissions(acl, mine)
    assert is_granted == (entry is not None and entry.effect == "allow")
    assert entry is None or entry.principal in mine


@given(subjects, access_lists)
def test_base_rights_follow_the_list_for_whoever_is_no_administrator(
    subject: Subject, acl: list[Entry]
) -> None:
    assume(Scope.KB_ADMIN not in subject.scopes)
    granted = permissions(acl, subject.references)
    assert base_rights(subject, acl) == BaseRights(
        can_see=READ in granted,
        can_read_passages=READ in granted,
        can_write=WRITE in granted,
        can_manage=MANAGE in granted,
    )


@given(subjects, access_lists)
def test_an_administrator_manages_but_reads_only_what_an_entry_allows(
    subject: Subject, acl: list[Entry]
) -> None:
    assume(Scope.KB_ADMIN in subject.scopes)
    assert base_rights(subject, acl) == BaseRights(
        can_see=True,
        can_read_passages=READ in permissions(acl, subject.references),
        can_write=True,
        can_manage=True,
    )
