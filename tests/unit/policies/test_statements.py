import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.policies.statements import (
    DEEPEST,
    MOST_OPERATORS,
    Place,
    excess_of,
    place_of,
    statements_of,
    without_comments,
)


def _cut(text: str) -> list[tuple[str, Place]]:
    return [(statement.text, place_of(text, statement.start)) for statement in statements_of(text)]


def test_statements_begin_after_the_comments_before_them() -> None:
    text = '// One; two.\n\npermit (a);\n  // Then\n  @id("x;y")\n  forbid (b); forbid (c);'
    assert _cut(text) == [
        ("permit (a);", Place(3, 1)),
        ('@id("x;y")\n  forbid (b);', Place(5, 3)),
        ("forbid (c);", Place(6, 15)),
    ]


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        (" \n// nothing; at all", []),
        ("permit (a)", ["permit (a)"]),
        ("permit (a); forbid", ["permit (a);", "forbid"]),
        (";", [";"]),
        ('permit ("a;\\";b");', ['permit ("a;\\";b");']),
        ('permit ("a; forbid (b);', ['permit ("a; forbid (b);']),
        ('permit (a // ";\n); x;', ['permit (a // ";\n);', "x;"]),
        ("a / b; c", ["a / b;", "c"]),
        ("// a;\r b; c", ["b;", "c"]),
    ],
)
def test_a_semicolon_ends_a_statement_unless_it_is_said(text: str, statements: list[str]) -> None:
    assert [statement.text for statement in statements_of(text)] == statements


def test_comments_are_blanked_where_they_stand() -> None:
    assert without_comments('a // level\n"//b" level') == 'a         \n"//b" level'


@given(st.text(alphabet='a;"\\/\n ()', max_size=200))
def test_nothing_but_space_and_comments_is_lost(text: str) -> None:
    statements = list(statements_of(text))
    covered = {place for s in statements for place in range(s.start, s.start + len(s.text))}
    assert all(text[s.start : s.start + len(s.text)] == s.text for s in statements)
    left = "".join(
        character for place, character in enumerate(without_comments(text)) if place not in covered
    )
    assert left.strip() == ""
    assert len(without_comments(text)) == len(text)


def test_a_text_of_quotes_is_read_once() -> None:
    assert len(list(statements_of('"\\' * 8_000))) == 1


FIT = {
    "brackets": "(" * DEEPEST + ")" * DEEPEST,
    "beside each other": "()" * MOST_OPERATORS,
    "in a string": '"' + "(" * 1_000 + '"',
    "in a comment": "a //" + "(" * 1_000,
    "a list": "[" + ", ".join(['User::"a"'] * 1_000) + "]",
    "words": "gift " * 1_000,
}
EXCESSIVE = {
    "brackets": "(" * (DEEPEST + 1),
    "all kinds": "([{" * 11,
    "after a comment": "//\r" + "(" * 1_000,
    "after a string": '"\\""' + "(" * 1_000,
    "conjunctions": "a" + "&&a" * (MOST_OPERATORS + 1),
    "sums": "1" + "+1" * (MOST_OPERATORS + 1),
    "members": "a" + ".a" * (MOST_OPERATORS + 1),
    "choices": "if a then b else " * (MOST_OPERATORS + 1),
    "conditions": "when{a}" * (MOST_OPERATORS + 1),
}


@pytest.mark.parametrize("statement", FIT.values(), ids=FIT)
def test_what_lies_side_by_side_is_no_depth(statement: str) -> None:
    assert excess_of(statement) is None


@pytest.mark.parametrize("statement", EXCESSIVE.values(), ids=EXCESSIVE)
def test_what_could_overflow_a_stack_is_not_read(statement: str) -> None:
    assert excess_of(statement) is not None
