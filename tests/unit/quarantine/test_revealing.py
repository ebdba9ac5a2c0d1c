from hypothesis import given
from hypothesis import strategies as st

from eai.quarantine.invisibles import is_invisible
from eai.quarantine.revealing import reveal

INVISIBLE = st.sampled_from("\u200b\u200c\u200d\u00ad\ufeff\u202e\u2066\U000e0041\U000e0042\ufe00\x08\u2060")
texts = st.lists(st.one_of(st.text(max_size=5), INVISIBLE)).map("".join)


def test_each_invisible_character_is_named_and_tags_are_spelled() -> None:
    assert reveal("a\u200bb\u202ec\x08").text == "a⟦ZWSP⟧b⟦RLO⟧c⟦U+0008⟧"
    assert reveal("a\U000e0048\U000e0069\U000e0001b").text == "a⟦TAGS Hi·⟧b"
    assert reveal("❤️").text == "❤️"


def test_places_map_both_ways() -> None:
    revealed = reveal("ab\u200bcd")
    assert revealed.text == "ab⟦ZWSP⟧cd"
    assert [revealed.origin(position) for position in range(len(revealed.text))] == [0, 1, *[2] * 6, 3, 4]
    assert revealed.place(1, 4) == (1, 9)
    assert revealed.text[slice(*revealed.place(2, 3))] == "⟦ZWSP⟧"


@given(texts)
def test_nothing_stays_invisible_but_what_colours_emoji(text: str) -> None:
    assert [sign for sign in reveal(text).text if is_invisible(sign) and sign != "\ufe0f"] == []


@given(texts, st.data())
def test_every_span_is_found_again(text: str, data: st.DataObject) -> None:
    revealed = reveal(text)
    if not text:
        assert revealed.text == ""
        return
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    low, high = revealed.place(start, end)
    assert revealed.origin(low) <= start
    # A row of tags is shown as one.
    assert text[start] == text[revealed.origin(low)] or "\U000e0000" <= text[start] <= "\U000e007f"
    assert 0 <= low < high <= len(revealed.text)
