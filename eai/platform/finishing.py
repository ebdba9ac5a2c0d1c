"""Work that must come to its end once it has begun: what clears up after a run that was cut short."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def finished(work: Coroutine[Any, Any, None]) -> None:
    """Return when `work` has ended, even if the caller is cancelled meanwhile; it is told of that afterwards.

    A run can be cut short twice: it finds itself fenced, and its lease keeper finds so while it clears up.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise
