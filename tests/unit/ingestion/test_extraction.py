import pytest

from eai.ingestion.errors import ContentEmpty, ContentTooLarge, ContentTypeNotAccepted, ContentUnreadable
from eai.ingestion.extraction import MAX_CONTENT_BYTES, accepted_type, check_size, extract


def test_plain_text_and_markdown_are_their_own_text() -> None:
    assert extract(b"# Title\n\nOne.\n", "text/markdown") == "# Title\n\nOne.\n"
    assert extract("Délai : 14 jours".encode(), "text/plain") == "Délai : 14 jours"


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert extract(b"\xef\xbb\xbfOne.", "text/plain") == "One."


def test_html_becomes_the_text_a_reader_sees_with_a_line_per_block() -> None:
    page = b"""<html><head><title>no</title><style>p{}</style></head><body>
        <h1>Refund  terms</h1><p>Hello <b>bold</b>er text<br>next</p>
        <ul><li>one</li><li>two</li></ul><table><tr><td>a</td><td>b</td></tr></table>
        <script>evil()</script><template>no</template></body></html>"""
    assert extract(page, "text/html") == "Refund terms\n\nHello bolder text\n\nnext\n\none\n\ntwo\n\na\tb"


def test_cells_stay_apart_by_a_tab_and_white_space_within_them_is_one_space() -> None:
    page = b"""<table>
    <tr><th>Card</th>\t<th> Paid\t by </th></tr>
    <tr>
\t<td>4539 1488\t0343 6467</td><td></td>
\t<td>Ada  L.</td>
    </tr></table><p>one\ttwo</p>"""
    lines = [line for line in extract(page, "text/html").split("\n") if line]
    assert lines == ["Card\tPaid by", "4539 1488 0343 6467", "Ada L.", "one two"]


@pytest.mark.parametrize(
    ("source", "content_type", "error", "code"),
    [
        (b"\xff\xfeabc", "text/plain", ContentUnreadable, "not_utf8"),
        (b"a\0b", "text/plain", ContentUnreadable, "nul_character"),
        (b"<div>" * 301 + b"deep", "text/html", ContentUnreadable, "nested_too_deeply"),
        (b" \n\t---", "text/plain", ContentEmpty, "content_empty"),
        (b"<script>all of it</script>", "text/html", ContentEmpty, "content_empty"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(
    source: bytes, content_type: str, error: type[ContentUnreadable], code: str
) -> None:
    with pytest.raises(error) as refused:
        extract(source, content_type)
    assert refused.value.details["fields"][0]["code"] == code


def test_open_paragraphs_and_list_items_do_not_count_as_nesting() -> None:
    assert extract(b"<p>word" * 2_000, "text/html").count("word") == 2_000


def test_a_type_without_a_reader_is_refused_naming_those_that_are_accepted() -> None:
    with pytest.raises(ContentTypeNotAccepted) as refused:
        accepted_type("application/pdf", "contract.pdf")
    assert refused.value.details == {
        "content_type": "application/pdf",
        "accepted": ["text/plain", "text/markdown", "text/html"],
    }


def test_an_untyped_file_is_read_by_its_extension() -> None:
    assert accepted_type("application/octet-stream", "Notes.MD") == "text/markdown"
    assert accepted_type("Text/HTML; charset=utf-8") == "text/html"


def test_an_oversized_document_is_refused_with_the_limit() -> None:
    check_size(MAX_CONTENT_BYTES)
    with pytest.raises(ContentTooLarge) as refused:
        check_size(MAX_CONTENT_BYTES + 1)
    assert refused.value.details == {"limit_bytes": 5_242_880}
