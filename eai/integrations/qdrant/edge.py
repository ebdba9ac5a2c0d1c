"""The embedded vector engine: a folder of shards, one per embedding space, owned by one process.

Reference: design.md, decisions 6 to 8. The calls block and hold the interpreter lock; `engine.py` gives
them a process of their own, and `client.py` is the port over it.
"""

import fcntl
import os
import re
from collections.abc import Sequence
from pathlib import Path

from eai.integrations.qdrant.layout import EXACT, Layout
from eai.integrations.qdrant.shard import Ranking, Shard
from eai.knowledge.ports import SearchRequest, Selector, SpaceId, StoredPoint

_NAME = re.compile(r"[A-Za-z0-9_]{1,80}")
_FOLDER = re.compile(r"([A-Za-z0-9_]{1,80})-([0-9]{1,6})")
_LOCK = "owner.lock"
_OWNER = "owner"


class AlreadyOwned(OSError):
    """Another process is the engine here."""


class UnknownSpace(LookupError):
    """No space of that name was ever made here, or its folder cannot be read."""


class EdgeShards:
    """The spaces in `folder` for the one process that owns it; writes go to their shards, step by step.

    Raises AlreadyOwned when another process has it. A vector or space that does not fit is ValueError.
    """

    def __init__(self, folder: Path, layout: Layout = EXACT) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._layout = layout
        self._lock: int | None = _own(folder)
        self._dimensions = {
            match[1]: int(match[2])
            for entry in folder.iterdir()
            if (match := _FOLDER.fullmatch(entry.name)) is not None
        }
        self._open: dict[str, Shard] = {}

    @property
    def spaces(self) -> list[SpaceId]:
        """Every space that exists, open or not."""
        return [SpaceId(name, dimensions) for name, dimensions in sorted(self._dimensions.items())]

    def owner(self) -> str | None:
        """Whose the folder is, as `take` was last told."""
        try:
            return (self._folder / _OWNER).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def take(self, owner: str) -> None:
        """Note whose the folder is: whole and on disk, or not at all."""
        draft = self._folder / f".{_OWNER}"
        with draft.open("w", encoding="utf-8") as file:
            file.write(owner)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._folder / _OWNER)

    def ensure_space(self, space: SpaceId) -> None:
        if not _NAME.fullmatch(space.name) or space.dimensions < 1:
            raise ValueError(f"{space} cannot be a space")
        if not self._exists(space):
            Shard.create(self._folder_of(space), space.dimensions, self._layout)
            self._dimensions[space.name] = space.dimensions

    def find(self, space: SpaceId) -> Shard | None:
        """The shard of `space`, opened if need be; `None` when it was never made."""
        if not self._exists(space):
            return None
        if space.name not in self._open:
            self._open[space.name] = Shard(self._folder_of(space), space.dimensions, self._layout)
        return self._open[space.name]

    def search(self, space: SpaceId, requests: Sequence[SearchRequest]) -> list[tuple[Ranking, Ranking]]:
        """The dense and the sparse ranking of each request."""
        return self.shard(space).search(requests)

    def count(self, space: SpaceId, selector: Selector) -> int:
        shard = self.find(space)
        return 0 if shard is None else shard.count(selector)

    def generations(self, space: SpaceId) -> dict[str, int]:
        shard = self.find(space)
        return {} if shard is None else shard.generations()

    def scan(
        self, space: SpaceId, selector: Selector, begin: str | None, limit: int, with_vectors: bool
    ) -> tuple[list[StoredPoint], str | None]:
        """A page of the selected points; none of a space that was never made."""
        shard = self.find(space)
        return ([], None) if shard is None else shard.scan(selector, begin, limit, with_vectors=with_vectors)

    def shard(self, space: SpaceId) -> Shard:
        """The shard of `space`. Raises UnknownSpace when it was never made."""
        shard = self.find(space)
        if shard is None:
            raise UnknownSpace(space.name)
        return shard

    @property
    def is_flushed(self) -> bool:
        return all(shard.is_flushed for shard in self._open.values())

    @property
    def is_arranged(self) -> bool:
        return all(shard.is_arranged for shard in self._open.values())

    def arrange(self) -> None:
        """Rearrange the segments of one shard that has changed enough; blocks for seconds."""
        changed = next((shard for shard in self._open.values() if not shard.is_arranged), None)
        if changed is not None:
            changed.optimize()

    def flush(self) -> None:
        for shard in self._open.values():
            shard.flush()

    def close(self) -> None:
        """Flush, and let another process have the folder. Closing twice is fine."""
        while self._open:
            self._open.popitem()[1].close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _exists(self, space: SpaceId) -> bool:
        known = self._dimensions.get(space.name)
        if known is not None and known != space.dimensions:
            raise ValueError(f"{space.name} has {known} dimensions, not {space.dimensions}")
        return known is not None

    def _folder_of(self, space: SpaceId) -> Path:
        return self._folder / f"{space.name}-{space.dimensions}"


def _own(folder: Path) -> int:
    """Take the folder's lock, which dies with the process, and leave our id in it for people."""
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(lock, 32, 0).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        raise AlreadyOwned(f"{folder} is owned by process {owner}") from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock
