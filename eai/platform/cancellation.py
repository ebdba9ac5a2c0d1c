"""A cancellation that was lost on its way."""

import asyncio


def end_if_cancelled() -> None:
    """Raise the CancelledError that whoever was called has kept to itself, or made another error of.

    For what goes on for ever after a call: a pool that opens connections may swallow a cancellation, and a
    database that is away turns one into its own error. The task would never end.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
