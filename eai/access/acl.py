"""The access list of a knowledge base: a ladder of permissions where denial wins.

Allowing a rung allows every rung below it; denying a rung denies every rung above it. An entry counts
for a subject when it names one of the subject's references. Nothing that allows means nothing is
there. Reference: design.md, section 5.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from eai.access.scopes import Scope
from eai.access.subject import Subject


class Permission(StrEnum):
    """`read` < `write` < `manage`."""

    READ = "read"
    WRITE = "write"
    MANAGE = "manage"

    @property
    def rank(self) -> int:
        """0 for `read` up to 2 for `manage`."""
        return _RANKS[self]


_RANKS = {Permission.READ: 0, Permission.WRITE: 1, Permission.MANAGE: 2}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of an access list. `principal` is a reference such as `user:<id>` or `tenant:*`."""

    principal: str
    permission: Permission
    effect: Literal["allow", "deny"] = "allow"


def permissions(entries: Iterable[Entry], references: frozenset[str]) -> frozenset[Permission]:
    """The permissions that `entries` leave to whoever goes by `references`."""
    mine = [entry for entry in entries if entry.principal in references]
    allowed = max((e.permission.rank for e in mine if e.effect == "allow"), default=-1)
    denied = min((e.permission.rank for e in mine if e.effect == "deny"), default=len(_RANKS))
    return frozenset(p for p in Permission if p.rank <= allowed and p.rank < denied)


def deciding_entry(
    entries: Iterable[Entry], references: frozenset[str], permission: Permission
) -> Entry | None:
    """The entry that settles `permission`: a denial if one applies, else what allows it."""
    mine = [entry for entry in entries if entry.principal in references]
    denials = [e for e in mine if e.effect == "deny" and e.permission.rank <= permission.rank]
    allowances = [e for e in mine if e.effect == "allow" and e.permission.rank >= permission.rank]
    return next(iter(denials + allowances), None)


@dataclass(frozen=True, slots=True)
class BaseRights:
    """What a subject may do with one base.

    `kb:admin` manages every base of its tenant (configure, ingest, list metadata, delete) but reads
    passages only through an entry that allows it.
    """

    can_see: bool
    can_read_passages: bool
    can_write: bool
    can_manage: bool


def base_rights(subject: Subject, entries: Iterable[Entry]) -> BaseRights:
    """Decide once, from the base's entries, what `subject` may do with it."""
    granted = permissions(entries, subject.references)
    is_admin = Scope.KB_ADMIN in subject.scopes
    return BaseRights(
        can_see=is_admin or Permission.READ in granted,
        can_read_passages=Permission.READ in granted,
        can_write=is_admin or Permission.WRITE in granted,
        can_manage=is_admin or Permission.MANAGE in granted,
    )
