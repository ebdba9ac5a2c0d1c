"""Streams of events, however they are cut on the way."""

import time
from collections.abc import AsyncIterator

import pytest

from eai.integrations.openai_answers import events

STREAM = b": hello\r\n\r\ndata: one\r\n\r\ndata:two\ndata: three\n\nevent: odd\ndata: four"


async def pieces_of(stream: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(stream), size):
        yield stream[start : start + size]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
async def test_events_are_the_same_wherever_they_are_cut(size: int) -> None:
    found = [event async for event in events(pieces_of(STREAM, size))]
    assert found == [b"one", b"two\nthree", b"four"]


async def test_a_line_that_comes_in_many_pieces_takes_time_by_its_length() -> None:
    line = b"data: " + b"x" * 4_000_000
    started = time.process_time()
    found = [event async for event in events(pieces_of(line, 250))]
    assert found == [line[6:]]
    assert time.process_time() - started < 2
