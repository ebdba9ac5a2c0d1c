"""Reads content without trusting it: whatever needs a parser is read in a child process with limits."""

import asyncio
import json
import os
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
        return await _in_child(source, content_type, deadline_s)


@cache
def _places() -> asyncio.Semaphore:
    # As many readers as there are cores: more would only take each other's time and memory.
    return asyncio.Semaphore(os.cpu_count() or 1)


async def _in_child(source: bytes, content_type: str, deadline_s: float) -> str:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "eai.ingestion.reader", content_type),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=_environment(),
    )
    try:
        async with asyncio.timeout(deadline_s):
            answer, _ = await child.communicate(source)
    except TimeoutError:
        raise _too_complex() from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode == REFUSED:
        refusal = json.loads(answer)
        raise _REFUSALS[refusal["code"]](*refusal["fields"])
    if child.returncode != 0:
        raise _too_complex()
    return answer.decode()


def _environment() -> Mapping[str, str]:
    """Nothing of ours: a parser that was taken over finds no key in its environment."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"}


def _too_complex() -> ContentUnreadable:
    fault = {"path": "content", "code": "too_complex", "message": "takes too much time or memory to read"}
    return ContentUnreadable(fault)
