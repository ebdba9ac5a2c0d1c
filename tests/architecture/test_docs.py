"""The documentation is complete, current, and leads nowhere that is not there."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from eai.access.scopes import Role, Scope
from eai.api.error_reference import error_codes
from eai.audit.actions import AuditAction
from eai.cli.reference.__main__ import FOLDER, ROOT, outdated
from eai.cli.reference.audit_actions import MEANINGS, RESERVED
from eai.cli.reference.commands import commands
from eai.cli.reference.metrics import metric_names
from eai.cli.reference.roles import SCOPES
from eai.platform.settings import variables

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_MAKE = re.compile(r"`make ([a-z]+)|^make ([a-z]+)", re.MULTILINE)
_DURING = re.compile(r"\b(TODO|FIXME|TBD|lorem)\b", re.IGNORECASE)


def text_of(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_generated_pages_are_current() -> None:
    assert [named(path) for path in outdated()] == [], "run: make contracts"


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("settings.md", [f"`{variable.name}`" for variable in variables()]),
        ("cli.md", [f"## {name}\n" for name, _ in commands()]),
        ("audit-actions.md", [f"`{action}`" for action in AuditAction]),
        ("metrics.md", [f"`{name}`" for name in metric_names()]),
        ("errors.md", [f"## {entry.code}\n" for entry in error_codes()]),
        ("roles.md", [f"`{name}`" for name in (*Scope, *Role)]),
    ],
)
def test_everything_of_a_kind_is_documented(page: str, names: list[str]) -> None:
    assert names
    assert [name for name in names if name not in text_of(page)] == []


def test_every_option_of_every_command_says_what_it_is_for() -> None:
    options = [(name, option) for name, command in commands() for option in command.params]
    assert [(name, o.name) for name, o in options if not o.help and not o.hidden] == []


def test_every_action_and_every_scope_has_a_meaning() -> None:
    assert set(MEANINGS) == set(AuditAction)
    assert set(SCOPES) == set(Scope)


def test_an_action_is_called_reserved_exactly_as_long_as_nothing_writes_it() -> None:
    promises = ROOT / "eai" / "audit" / "fields.py"
    writers = [
        path for path in (ROOT / "eai").rglob("*.py") if "reference" not in path.parts and path != promises
    ]
    source = "".join(path.read_text(encoding="utf-8") for path in writers)
    unwritten = {action for action in AuditAction if f"AuditAction.{action.name}" not in source}
    assert unwritten == RESERVED


def links_of(page: Path) -> Iterator[str]:
    yield from _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8")))


def anchors_of(page: Path) -> set[str]:
    """The anchors that a page's headings get, as common viewers make them."""
    headings = _HEADING.findall(_FENCED.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in links_of(page):
        address, _, anchor = link.partition("#")
        if "://" in address:
            continue
        target = (page.parent / address).resolve() if address else page
        is_there = target.exists() and (ROOT in target.parents or target == ROOT)
        if not is_there or (anchor and target.suffix == ".md" and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links_of(page)]
    assert [named(page) for page in PAGES if page not in reached] == ["CHANGELOG.md"]


def test_targets_that_a_page_names_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    wanted = {
        (named(page), found[0] or found[1])
        for page in PAGES
        for found in _MAKE.findall(page.read_text(encoding="utf-8"))
    }
    assert {entry for entry in wanted if entry[1] not in targets} == set()
    assert {target for page, target in wanted if page == "README.md"} >= {"demo", "test"}


def test_no_page_is_unfinished() -> None:
    assert [named(page) for page in PAGES if _DURING.search(page.read_text(encoding="utf-8"))] == []


def test_the_licence_is_the_one_that_the_package_declares() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["license"]
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert declared == "Apache-2.0"
    assert "Apache License\n                           Version 2.0, January 2004" in licence


def test_the_changelog_says_what_is_coming() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "\n## Unreleased\n" in changelog
