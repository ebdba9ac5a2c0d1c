"""Compares two OpenAPI documents: what a client of the one finds missing or refused by the other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eai.contracts.changes.forms import Comparison
from eai.contracts.ways import Way

Json = Mapping[str, Any]

METHODS = ("get", "put", "post", "delete", "patch")


def broken_operations(before: Json, after: Json) -> Iterator[str]:
    """What breaks, a sentence each, in the order of the first document."""
    comparison = _Documents(Comparison(before, after, Way.SENT), Comparison(before, after, Way.ANSWERED))
    for path, item in before["paths"].items():
        for method in METHODS:
            if method in item:
                place = f"{method.upper()} {path}"
                now = after["paths"].get(path, {}).get(method)
                if now is None:
                    yield f"{place}: the operation is gone"
                else:
                    yield from comparison.of_operation(item[method], now, place)


@dataclass(frozen=True, slots=True)
class _Documents:
    sent: Comparison
    answered: Comparison

    def of_operation(self, before: Json, after: Json, place: str) -> Iterator[str]:
        old, new = before["operationId"], after["operationId"]
        if old != new:
            yield f"{place}: the operation is called {new} now, and was called {old}"
        yield from _of_scopes(before, after, place)
        yield from self._of_parameters(_by_name(before), _by_name(after), place)
        yield from self._of_bodies(before.get("requestBody"), after.get("requestBody"), f"{place}, body")
        for status, answer in before.get("responses", {}).items():
            now = after.get("responses", {}).get(status)
            if now is None:
                yield f"{place}: the answer {status} is gone"
            else:
                yield from _contents(self.answered, answer, now, f"{place}, answer {status}")

    def _of_parameters(
        self, before: Mapping[str, Json], after: Mapping[str, Json], place: str
    ) -> Iterator[str]:
        for name, parameter in before.items():
            if name not in after:
                yield f"{place}: the {name} is gone"
            else:
                old, new = parameter.get("schema", {}), after[name].get("schema", {})
                yield from self.sent.breaks(old, new, f"{place}, {name}")
        for name, parameter in after.items():
            is_new = parameter.get("required") and not before.get(name, {}).get("required")
            # What stands in the path is required, and another path is another operation.
            if is_new and parameter["in"] != "path":
                yield f"{place}: the {name} is required now"

    def _of_bodies(self, before: Json | None, after: Json | None, place: str) -> Iterator[str]:
        if after is None:
            if before is not None:
                yield f"{place}: none is read any more"
            return
        if after.get("required") and not (before or {}).get("required"):
            yield f"{place}: one is required now"
        if before is not None:
            yield from _contents(self.sent, before, after, place)


def _contents(comparison: Comparison, before: Json, after: Json, place: str) -> Iterator[str]:
    new = after.get("content", {})
    for media_type, content in before.get("content", {}).items():
        if media_type not in new:
            yield f"{place}: {media_type} is gone"
        else:
            old_form, new_form = content.get("schema", {}), new[media_type].get("schema", {})
            yield from comparison.breaks(old_form, new_form, place)


def _of_scopes(before: Json, after: Json, place: str) -> Iterator[str]:
    old, new = set(before.get("x-required-scope", ())), set(after.get("x-required-scope", ()))
    match = before.get("x-required-scope-match"), after.get("x-required-scope-match")
    if match[1] == "any" and old and old & new:
        return
    if new - old or (match == ("any", "all") and len(old) > 1):
        took = " or ".join(sorted(old)) or "no scope"
        yield f"{place}: it takes {' and '.join(sorted(new))} now, and took {took}"


def _by_name(operation: Json) -> dict[str, Json]:
    return {f"{each['in']} parameter {each['name']}": each for each in operation.get("parameters", ())}
