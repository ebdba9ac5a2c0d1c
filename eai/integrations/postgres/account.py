"""Who runs the server: this user, or for root an unprivileged account that already exists."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# PostgreSQL refuses to run as root. Accounts are never created: these exist almost everywhere.
_CANDIDATES = ("eaipg", "postgres", "nobody")


@dataclass(frozen=True, slots=True)
class ServerAccount:
    """An unprivileged account of this machine."""

    name: str
    uid: int
    gid: int

    def spawn_options(self) -> dict[str, Any]:
        """What makes a child process run as this account and nothing more."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def can_enter(self, folder: Path) -> bool:
        """Whether every folder down to `folder` lets this account through. Judged by mode bits."""
        resolved = folder.resolve()
        return all(self._may(step, 0o1) for step in (resolved, *resolved.parents))

    def can_execute(self, file: Path) -> bool:
        """Whether this account may read and run `file`."""
        return self.can_enter(file.parent) and self._may(file, 0o5)

    def _may(self, path: Path, bits: int) -> bool:
        found = path.stat()
        if found.st_uid == self.uid:
            bits <<= 6
        elif found.st_gid == self.gid:
            bits <<= 3
        return stat.S_IMODE(found.st_mode) & bits == bits


def server_account() -> ServerAccount | None:
    """The account to run the server as; None when this user may run it. Raises LookupError."""
    if os.geteuid() != 0:
        return None
    for name in _CANDIDATES:
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        if found.pw_uid != 0:
            return ServerAccount(found.pw_name, found.pw_uid, found.pw_gid)
    raise LookupError(
        "PostgreSQL refuses to run as root, and none of the accounts "
        f"{', '.join(_CANDIDATES)} exists; create one, or start as an ordinary user"
    )
