"""Unix sockets at paths longer than the operating system takes."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAX_PATH_BYTES = 100
"""Linux takes 107 bytes, others 103."""


@contextmanager
def reachable(path: Path) -> Iterator[str]:
    """A path to the same socket that is short enough to bind or connect to, inside the block.

    A long one is reached through a symbolic link in a folder that only this user can enter.
    """
    if len(os.fsencode(path)) <= MAX_PATH_BYTES:
        yield str(path)
        return
    with tempfile.TemporaryDirectory(prefix="eai") as private:
        link = Path(private, "s")
        link.symlink_to(path.parent.absolute())
        yield str(link / path.name)
