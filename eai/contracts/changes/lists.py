"""Compares the lists of what is promised by name: error codes and audit actions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]


def broken_errors(before: Json, after: Json) -> Iterator[str]:
    """Codes that are gone, or that mean something else to a program."""
    new = {each["code"]: each for each in after["errors"]}
    for old in before["errors"]:
        now = new.get(old["code"])
        if now is None:
            yield f"error {old['code']}: the code is gone"
            continue
        for name in ("status", "retryable"):
            if old[name] != now[name]:
                yield f"error {old['code']}: {name} is {now[name]} now, and was {old[name]}"
        yield from _gone(old, now, ("details",), f"error {old['code']}")


def broken_events(before: Json, after: Json) -> Iterator[str]:
    """Actions that are gone, or that tell less."""
    new = {each["action"]: each for each in after["actions"]}
    for old in before["actions"]:
        now = new.get(old["action"])
        if now is None:
            yield f"audit action {old['action']}: it is gone"
        else:
            yield from _gone(old, now, ("resources", "facts", "details"), f"audit action {old['action']}")


def _gone(old: Json, new: Json, lists: Sequence[str], place: str) -> Iterator[str]:
    for name in lists:
        yield from (f"{place}: {each} is gone from {name}" for each in old[name] if each not in new[name])
