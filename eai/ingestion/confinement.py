"""Reads content without trusting it: whatever needs a parser is read in a child process with limits."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache

from eai.ingestion.errors import ContentEmpty, ContentUnreadable
from eai.ingestion.extraction import extract
from eai.ingestion.reader import REFUSED

DEADLINE_S = 20.0
_TRUSTED = frozenset({"text/plain", "text/markdown"})
_REFUSALS = {error.code: error for error in (ContentEmpty, ContentUnreadable)}


async def extract_confined(source: bytes, content_type: str, *, deadline_s: float = DEADLINE_S) -> str:
    """The text of `source`, as `extraction.extract` gives it.

    Plain text is read here, in a thread. Raises ContentUnreadable, also when the child runs out of
    time or memory or dies, and ContentEmpty.
    """
    if content_type in _TRUSTED:
        return await asyncio.to_thread(extract, source, content_type)
    async with _places():
        return await asyncio.to_thread(_in_child, source, content_type, deadline_s)


@cache
def _places() -> asyncio.Semaphore:
    # As many readers as there are cores: more would only take each other's time and memory.
    return asyncio.Semaphore(os.cpu_count() or 1)


def _in_child(source: bytes, content_type: str, deadline_s: float) -> str:
    # Not the event loop's own way to start a child: uvloop forks, and a fork stops the threads of the
    # linear algebra under the local models in the middle of their work. `subprocess` uses vfork.
    try:
        child = subprocess.run(  # noqa: S603, the program is this interpreter, the arguments are ours
            [sys.executable, "-m", "eai.ingestion.reader", content_type],
            input=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            timeout=deadline_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _too_complex() from None
    if child.returncode == REFUSED:
        refusal = json.loads(child.stdout)
        raise _REFUSALS[refusal["code"]](*refusal["fields"])
    if child.returncode != 0:
        raise _too_complex()
    return child.stdout.decode()


def _environment() -> Mapping[str, str]:
    """Nothing of ours: a parser that was taken over finds no key in its environment."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"}


def _too_complex() -> ContentUnreadable:
    fault = {"path": "content", "code": "too_complex", "message": "takes too much time or memory to read"}
    return ContentUnreadable(fault)
