"""What seeding leaves behind, and how it tells how far it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from eai.cli.demo.scenario import Source

Progress = Callable[[int, int], None]
"""Called with how many documents are done, and how many there are."""


def unwatched(done: int, total: int) -> None:
    """Progress that nobody looks at."""
    del done, total


@dataclass(slots=True)
class Seeded:
    """What an instance now holds. `keys` are those of people, by name; `groups` are ids, by name."""

    base: str
    alias: str
    embedding_model: str
    keys: Mapping[str, str]
    groups: Mapping[str, str]
    documents: dict[str, Source] = field(default_factory=dict)
    passages: int = 0
    left_out: list[str] = field(default_factory=list)
