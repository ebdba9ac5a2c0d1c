"""What one durable commit costs on the disk of a database, with nothing around it."""

import time

from psycopg import AsyncConnection

from benchmarks.rounds import quantile

_ROW = b"x" * 700
"""About what the chain keeps of one event."""


async def committing(admin_url: str, count: int) -> float:
    """Milliseconds of a commit of one row: the median of `count` in a loop."""
    async with await AsyncConnection.connect(admin_url, autocommit=True) as connection:
        await connection.execute("CREATE TABLE IF NOT EXISTS public.commits (content bytea)")
        took = []
        for _ in range(count):
            start = time.perf_counter()
            await connection.execute("INSERT INTO public.commits VALUES (%b)", [_ROW], prepare=True)
            took.append(1000 * (time.perf_counter() - start))
        await connection.execute("DROP TABLE public.commits")
    return quantile(took, 0.5)
