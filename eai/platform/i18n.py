"""The words of the product in each language, and which language a caller wants.

Messages live in `messages/*.toml`, one file per slice, both languages side by side under the code they
belong to. A file named `fields.toml` holds the words for faults of single input fields, and `findings.toml`
those for what is found in documents.
"""

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from functools import cache, lru_cache
from importlib import resources
from string import Formatter
from typing import Any

_LONGEST_HEADER = 200
_NO_ERRORS = ("fields.toml", "findings.toml")


class Language(StrEnum):
    """The languages the product speaks; the first is the default."""

    EN = "en"
    FR = "fr"


class Message(dict[Language, str]):
    """One message in every language, with `{placeholders}` for an error's details."""

    @property
    def placeholders(self) -> frozenset[str]:
        """The details that the message names; the same in every language."""
        return placeholders(self[Language.EN])

    def say(self, language: Language, details: Mapping[str, Any]) -> str:
        """The message with `details` filled in; a detail that is absent leaves its name standing."""
        return self[language].format_map(_Details(details))


def placeholders(text: str) -> frozenset[str]:
    """The names in braces in one text."""
    return frozenset(name for _, name, _, _ in Formatter().parse(text) if name)


class _Details(dict[str, Any]):
    def __missing__(self, name: str) -> str:
        return "{" + name + "}"

    def __getitem__(self, name: str) -> str:
        value = super().__getitem__(name)
        return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


class CatalogueError(Exception):
    """The message files contradict each other or lack a language."""


def negotiate(accept_language: str | None) -> Language:
    """The language an `Accept-Language` header asks for: regions are ignored, weights are honoured."""
    if not accept_language or len(accept_language) > _LONGEST_HEADER:
        return Language.EN
    return _preferred(accept_language)


@lru_cache(maxsize=256)
def _preferred(header: str) -> Language:
    weights: dict[str, float] = {}
    for part in header.lower().split(","):
        tag, _, parameter = part.strip().partition(";")
        weights.setdefault(tag.strip().partition("-")[0], _weight(parameter))
    listed = list(weights)

    def weight(language: Language) -> float:
        return weights.get(language, weights.get("*", 0.0))

    def place(language: Language) -> int:
        return listed.index(language) if language in weights else len(listed)

    best = min(Language, key=lambda language: (-weight(language), place(language)))
    return best if weight(best) > 0 else Language.EN


def _weight(parameter: str) -> float:
    name, found, value = parameter.strip().partition("=")
    if not found:
        return 1.0
    try:
        weight = float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
    return weight if 0.0 <= weight <= 1.0 else 0.0


@cache
def messages() -> Mapping[str, Message]:
    """Every error message by its code. Raises CatalogueError."""
    found: dict[str, Message] = {}
    for name, content in _files():
        if name not in _NO_ERRORS:
            _add(found, content, name)
    return found


def words_of(code: str, details: Mapping[str, Any]) -> Mapping[Language, str]:
    """What a stored error says in each language; an ellipsis stands for a detail that is not told."""
    message = messages().get(code)
    if message is None:
        # A code of an older version may have no words any more.
        return dict.fromkeys(Language, code)
    untold = dict.fromkeys(message.placeholders, "…")
    return {each: message.say(each, {**untold, **details}) for each in Language}


@cache
def field_messages() -> Mapping[str, Message]:
    """What is said of a single input field, by the fault's code. Raises CatalogueError."""
    return _only("fields.toml")


@cache
def finding_messages() -> Mapping[str, Message]:
    """Why something in a document was found, by the reason's code. Raises CatalogueError."""
    return _only("findings.toml")


def _only(wanted: str) -> Mapping[str, Message]:
    found: dict[str, Message] = {}
    for name, content in _files():
        if name == wanted:
            _add(found, content, name)
    return found


def _files() -> list[tuple[str, dict[str, Any]]]:
    folder = resources.files("eai.platform").joinpath("messages")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda f: f.name)
    return [(file.name, tomllib.loads(file.read_text(encoding="utf-8"))) for file in files]


def _add(found: dict[str, Message], content: Mapping[str, Any], name: str) -> None:
    for code, words in content.items():
        if code in found:
            message = f"{name}: {code} is already told elsewhere"
            raise CatalogueError(message)
        if not isinstance(words, dict) or set(words) != set(Language):
            message = f"{name}: {code} needs exactly one text for each of {', '.join(Language)}"
            raise CatalogueError(message)
        found[code] = Message({language: words[language] for language in Language})
