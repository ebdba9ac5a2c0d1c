"""What is shown with a document, as it is read and written by those who look at it."""

from collections.abc import Sequence

from eai.knowledge.documents.fields import ShownFields

FIELDS = ShownFields("A title", "a.txt", "https://example.org", {"author": "Ada", "year": 2026, "note": "x"})


def crossed(text: str, parts: Sequence[tuple[int, int, str]]) -> str:
    for start, end, sign in parts:
        text = text[:start] + sign * (end - start) + text[end:]
    return text


def test_metadata_is_read_as_its_values_and_then_its_names() -> None:
    assert dict(FIELDS.texts)["metadata"] == "Ada\nx\n2026\nauthor\nnote\nyear"


def test_what_says_nothing_is_no_text() -> None:
    assert ShownFields("A title").texts == [("title", "A title")]


def test_parts_are_written_over_where_they_stand() -> None:
    clean = FIELDS.without({"title": [(2, 7, "#")], "metadata": [(1, 8, "#")]}, crossed)
    assert clean == ShownFields(
        "A #####", "a.txt", "https://example.org", {"author": "A##", "year": "##26", "note": "#"}
    )


def test_names_of_sources_and_of_values_are_left_out_whole() -> None:
    parts = {"external_id": [(0, 1, "#")], "source_uri": [(8, 12, "#")], "metadata": [(11, 12, "#")]}
    assert FIELDS.without(parts, crossed) == ShownFields("A title", None, None, {"year": 2026, "note": "x"})


def test_nothing_is_touched_where_nothing_is_taken_away() -> None:
    assert FIELDS.without({}, crossed) == FIELDS
