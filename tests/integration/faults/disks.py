"""Small disks that a test may fill, where the machine lets it mount some."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

MIB = 2**20
_FILLER = "somebody-elses"


@dataclass(frozen=True)
class Disk:
    """One that is mounted at `folder`."""

    folder: Path

    @property
    def free(self) -> int:
        return shutil.disk_usage(self.folder).free

    def fill(self, *, leave: int = 0) -> None:
        """Have somebody else take all room but so much."""
        with (self.folder / _FILLER).open("ab") as file:
            while (room := self.free - leave) > 0:
                # Whoever else writes may have been quicker.
                with suppress(OSError):
                    os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), room)

    def clear(self) -> None:
        """What `fill` took is free again."""
        (self.folder / _FILLER).unlink()


@contextmanager
def small_disk(folder: Path, mib: int) -> Iterator[Disk]:
    """Skips the test, and says why, where none can be mounted."""
    if shutil.which("mount") is None:
        pytest.skip("no disk can be mounted here: there is no `mount`")
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={mib}m,mode=0700"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
