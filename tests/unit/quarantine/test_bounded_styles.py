"""Attack line 68: no styles make a page slower to examine than its length does.

Lengths are compared, and not so many seconds allowed, as for texts: see tests/unit/dlp/test_linear_time.py.
"""

import time
from collections.abc import Callable

import pytest

from eai.quarantine.html.page import read_page

SHORT = 4_000
MOST_TIMES = 8
"""The time of a page four times as long: 4 where it grows as the length, 16 where as the square of it."""
TRIES = 3


def styled(css: str, body: str) -> str:
    return f"<style>{css}</style>{body}"


def properties(value: str) -> str:
    names = "color opacity filter top left right bottom width height scale zoom clip transform z-index"
    return ";".join(f"{name}:{value}" for name in names.split())


PAGES: dict[str, Callable[[int], str]] = {
    "siblings of siblings": lambda n: styled(".q~p~p~p{color:red}", "<p>a" * (n // 16)),
    "neighbours": lambda n: styled(".q+p+p+p{color:red}", "<p>a" * (n // 4)),
    "ends of families": lambda n: styled("p:nth-last-of-type(3){color:red}", "<p>a" * (n // 4)),
    "negations": lambda n: styled("p:not(.q p, p ~ p ~ p){color:red}", "<p>a" * (n // 4)),
    "many rules": lambda n: styled("p p{color:red}" * (n // 28), "<p>a" * (n // 8)),
    "many rules with attributes": lambda n: styled(
        "[title*=b]{color:red}" * (n // 42), f"<p title='{'a' * (n // 2)}'>a"
    ),
    "many selectors": lambda n: styled("a," * (n // 2) + "a{color:red}", "<p>a"),
    "long lists around rules": lambda n: styled(
        "a," * (n // 4) + "a{" + "b{color:red}" * (n // 24) + "}", "<p>a"
    ),
    "lists in lists": lambda n: styled("a{" + "&&&&&&," * (n // 7) + "a{color:red}}", "<p>a"),
    "rules in rules": lambda n: styled("p{" * (n // 3) + "color:red", "<p>a"),
    "a long variable": lambda n: styled(
        f":root{{--a:{'x' * (n // 2)}}} p{{color:{'var(--a)' * 60}}}", "<p>a" * (n // 8)
    ),
    "a variable that is used often": lambda n: styled(
        f":root{{--a:red}} p{{{properties('var(--a)' * 60)}}}", "<p>a" * (n // 4)
    ),
    "many variables": lambda n: styled(
        ":root{" + "".join(f"--{number}:1;" for number in range(n // 20)) + "}",
        "<p style='--x:1'>a" * (n // 40),
    ),
    "conditions": lambda n: styled(
        "".join(f"@media (min-width:{number}px){{p{{color:red}}}}" for number in range(n // 40)), "<p>a" * 20
    ),
    "conditions over many": lambda n: styled(
        "".join(f"@container (min-width:{number}px){{p{{color:red}}}}" for number in range(10)),
        "<p>a" * (n // 10),
    ),
    "comments between spaces": lambda n: f"<p style='color:red{' /**/' * n}'>a",
    "blocks in blocks": lambda n: styled("{" * (4 * n), "<p>a"),
    "brackets in brackets": lambda n: styled(f"p{{color:{'(' * n}", "<p>a"),
    "layers in layers": lambda n: styled("@layer a{" * (n // 9) + "p{color:red}", "<p>a"),
    "names of layers": lambda n: styled(f"@layer {'a.' * (n // 2)}a;p{{color:red}}", "<p>a"),
    "many layers": lambda n: styled("@layer{p{color:red}}" * (n // 20), "<p>a" * 5),
    "fallbacks": lambda n: "".join(f"<p style='color:{'var(--a,' * 10}red'>a" for _ in range(n // 40)),
    "variables of variables": lambda n: "<p style='--a:var(--b);--b:var(--a);color:var(--a)'>a" * (n // 40),
    "calculations": lambda n: f"<p style='width:calc({'1px + ' * 70}1px)'>a" * (n // 160),
    "gradients": lambda n: f"<p style='background:linear-gradient({'red,' * 70}red)'>a" * (n // 160),
    "masks": lambda n: f"<p style='mask:{'url(a),' * 60}none'>a" * (n // 160),
    "comments before a page": lambda n: "<!-- a -->" * (n // 10) + "<p>a",
    "long styles": lambda n: f"<p style='{'color:red;' * (n // 10)}'>a",
}


def seconds(source: str) -> float:
    """Of processor time of this thread."""
    started = time.thread_time()
    read_page(source)
    return time.thread_time() - started


@pytest.mark.parametrize("name", PAGES)
def test_a_page_four_times_as_long_takes_about_four_times_as_long(name: str) -> None:
    short, long = PAGES[name](SHORT), PAGES[name](4 * SHORT)
    least = [seconds(short), seconds(long)]
    for _ in range(TRIES - 1):
        if least[1] < MOST_TIMES * least[0]:
            break
        least = [min(least[0], seconds(short)), min(least[1], seconds(long))]
    assert least[1] < MOST_TIMES * least[0]


def test_a_page_that_nests_four_times_as_deep_takes_about_four_times_as_long() -> None:
    css = ".q div div div div div div{color:red}"
    short, long = (styled(css, "<div>" * depth + "a") for depth in (75, 300))
    least = [min(seconds(page) for _ in range(TRIES)) for page in (short, long)]
    assert least[1] < MOST_TIMES * least[0]


def test_a_sheet_may_be_so_long_and_is_held_beyond_that() -> None:
    assert not read_page(styled(f"/*{'a' * 1_900_000}*/", "<p>a")).has_unread_styles
    assert read_page(styled(f"/*{'a' * 2_100_000}*/", "<p>a")).has_unread_styles


def test_a_page_may_take_so_many_steps_and_is_held_beyond_them() -> None:
    css = "*{color:red}" * 2_000
    assert not read_page(styled(css, "<p>a" * 10)).has_unread_styles
    once, more = (styled(css, "<p>a" * number) for number in (1_000, 8_000))
    assert read_page(once).has_unread_styles
    assert read_page(more).has_unread_styles
    assert min(seconds(more) for _ in range(TRIES)) < MOST_TIMES * min(seconds(once) for _ in range(TRIES))
