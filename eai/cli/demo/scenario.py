"""What a demo is about: people, groups, documents with their rights, and a question worth asking twice."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from eai.access.classification import Classification

CONTENT_TYPES = {".txt": "text/plain", ".md": "text/markdown", ".html": "text/html"}
"""What the platform takes in today, by the ending of a file's name."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who asks. `groups` are names; the roles say what they may attempt."""

    name: str
    job: str
    kind: str
    clearance: Classification
    groups: tuple[str, ...]
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """One document. `own_level` None follows the base, `readers` None is every reader of the base."""

    file: str
    title: str
    content: str
    content_type: str
    level: Classification
    own_level: Classification | None = None
    readers: tuple[str, ...] | None = None
    language: str | None = None

    def is_open_to(self, person: Person) -> bool:
        """What the demo expects the product to decide, worked out without asking it."""
        is_reader = self.readers is None or not set(self.readers).isdisjoint(person.groups)
        return is_reader and not self.level.exceeds(person.clearance)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked by whom.

    `finds` names the files that each must be shown; `note` says in `language` what that means.
    """

    text: str
    by: tuple[str, ...]
    note: str | None = None
    finds: Mapping[str, frozenset[str]] | None = None
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that is put into a running instance, and what is asked of it then."""

    name: str
    description: str
    classification: Classification
    groups: tuple[str, ...]
    people: tuple[Person, ...]
    sources: tuple[Source, ...]
    questions: tuple[Question, ...]
    top_k: int

    def person(self, name: str) -> Person:
        """The person of that name."""
        return next(person for person in self.people if person.name == name)


def sample() -> Scenario:
    """The company that comes with the product; every question is there, the main ones first."""
    folder = files("eai.cli") / "demo_content"
    manifest = tomllib.loads((folder / "manifest.toml").read_text(encoding="utf-8"))
    base = manifest["knowledge_base"]
    default = Classification(base["classification"])
    return Scenario(
        name=base["name"],
        description=base["description"],
        classification=default,
        groups=tuple(group["name"] for group in manifest["groups"]),
        people=tuple(_person(entry) for entry in manifest["people"]),
        sources=tuple(_source(folder, entry, default) for entry in manifest["documents"]),
        questions=tuple(_question(entry) for entry in manifest["questions"] if entry.get("main")),
        top_k=manifest["top_k"],
    )


def _person(entry: Mapping[str, Any]) -> Person:
    return Person(
        name=entry["name"],
        job=entry["job"],
        kind=entry["kind"],
        clearance=Classification(entry["clearance"]),
        groups=tuple(entry["groups"]),
        roles=tuple(entry["roles"]),
    )


def _source(folder: Traversable, entry: Mapping[str, Any], default: Classification) -> Source:
    name, level, readers = entry["file"], entry.get("classification"), entry.get("readers")
    return Source(
        file=name,
        title=entry["title"],
        content=(folder / name).read_text(encoding="utf-8"),
        content_type=CONTENT_TYPES[name[name.rindex(".") :]],
        level=Classification(level) if level else default,
        own_level=Classification(level) if level else None,
        readers=None if readers is None else tuple(readers),
        language=entry["language"],
    )


def _question(entry: Mapping[str, Any]) -> Question:
    finds = {name: frozenset(wanted) for name, wanted in entry["finds"].items()}
    return Question(
        text=entry["ask"],
        by=tuple(entry["by"]),
        note=entry["note"].strip(),
        finds=finds,
        language=entry["language"],
    )
