"""A cancellation that another error took the place of."""

import asyncio


def end_if_cancelled() -> None:
    """Raise the CancelledError that was lost when what it met on its way failed, too.

    For loops that go on after an error: a database that is away turns a cancellation into its own error, and
    the task would never end.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
