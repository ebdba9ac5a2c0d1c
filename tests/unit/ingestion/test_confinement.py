"""Untrusted content is read by a child that can only harm itself."""

import pytest

from eai.ingestion.confinement import extract_confined
from eai.ingestion.errors import ContentEmpty, ContentUnreadable


async def test_html_is_read_as_it_would_be_here() -> None:
    assert await extract_confined(b"<h1>A</h1><p>b \xc3\xa9</p>", "text/html") == "A\n\nb é"


async def test_a_refusal_comes_back_as_the_refusal_it_is() -> None:
    with pytest.raises(ContentEmpty) as empty:
        await extract_confined(b"<script>1</script>", "text/html")
    assert empty.value.details["fields"][0]["code"] == "content_empty"
    with pytest.raises(ContentUnreadable) as unreadable:
        await extract_confined(b"<div>" * 301, "text/html")
    assert unreadable.value.details["fields"][0]["code"] == "nested_too_deeply"


async def test_a_reader_that_takes_too_long_is_ended_and_said_to_be_too_complex() -> None:
    with pytest.raises(ContentUnreadable) as refused:
        await extract_confined(b"<p>a" * 1_000_000, "text/html", deadline_s=0.3)
    assert refused.value.details["fields"][0]["code"] == "too_complex"
