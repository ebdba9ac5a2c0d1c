"""The page of results: one marked section for each benchmark, replaced when it runs again."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
_TITLE = "# Benchmarks\n\nEach section is written by the command it names.\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; every column but the first is aligned to the right."""
    ruler = ["---", *("---:" for _ in header[1:])]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, ruler, *rows))


def write_section(name: str, markdown: str, page: Path = PAGE) -> None:
    """Put `markdown` between the marks of section `name`, at the end of the page if it is new."""
    start, end = f"<!-- {name}: start -->", f"<!-- {name}: end -->"
    section = f"{start}\n{markdown.strip()}\n{end}\n"
    text = page.read_text() if page.exists() else _TITLE
    if start in text:
        before, _, rest = text.partition(start)
        text = before + section + rest.partition(f"{end}\n")[2]
    else:
        text = f"{text.rstrip()}\n\n{section}"
    page.write_text(text)


def publish(name: str, markdown: str, *, write: bool) -> None:
    """Print a section, and put it into the page when that was asked for."""
    print(markdown)
    if write:
        write_section(name, markdown)


def machine() -> str:
    """What this was measured on: cores and memory only."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB"


def wanted(what: str, *, holds: bool) -> str:
    """The cell that says what was wanted, and whether it was missed."""
    return what if holds else f"{what}, **missed**"
