"""Compares two JSON Schemas as those see it who write by them, or who read what is written by them.

What clients send must not be asked for more: every text that was accepted is still accepted. What they are
answered must not be told less: every member that was there is still there, and of a type they know. New
values of an enumeration are no break in an answer, since clients are told to expect some.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from eai.contracts.ways import Way

Schema = Mapping[str, Any]

_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_SPELLINGS = ("pattern", "format", "const")
_CHOICES = ("anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two documents, the way in which their forms are used, and which pairs are being compared already."""

    before: Schema
    after: Schema
    way: Way
    open_pairs: frozenset[tuple[str, str]] = frozenset()

    def breaks(self, before: Any, after: Any, place: str) -> Iterator[str]:
        """What breaks between two forms of the thing at `place`."""
        pair = (_name(before), _name(after))
        if all(pair):
            if pair in self.open_pairs:
                return
            inner = replace(self, open_pairs=self.open_pairs | {pair})
            yield from inner.of_forms(_resolved(self.before, before), _resolved(self.after, after), place)
        else:
            yield from self.of_forms(_resolved(self.before, before), _resolved(self.after, after), place)

    @property
    def _is_sent(self) -> bool:
        return self.way is Way.SENT

    def of_forms(self, before: Schema, after: Schema, place: str) -> Iterator[str]:
        """The same of two forms that refer no further."""
        if before == after and not _refers(before):
            return
        old, new = self._choices(self.before, before), self._choices(self.after, after)
        if len(old) > 1 or len(new) > 1:
            yield from self._of_choices(old, new, place)
            return
        yield from self._of_types(before, after, place)
        yield from self._of_values(before, after, place)
        yield from self._of_bounds(before, after, place)
        yield from self._of_members(before, after, place)
        yield from self._of_parts(before, after, place)

    def _of_choices(self, old: list[Schema], new: list[Schema], place: str) -> Iterator[str]:
        """One form after the other: each that was there must have one that serves in its place."""
        relied_on, offered = (old, new) if self._is_sent else (new, old)
        for each in relied_on:
            if not any(self._serves(each, other, place) for other in offered):
                yield from self._told_of_choice(each, offered, place)

    def _serves(self, relied_on: Schema, offered: Schema, place: str) -> bool:
        pair = (relied_on, offered) if self._is_sent else (offered, relied_on)
        return not next(self.of_forms(*pair, place), None)

    def _told_of_choice(self, each: Schema, offered: list[Schema], place: str) -> Iterator[str]:
        alike = [other for other in offered if _kind(other) == _kind(each)]
        if len(alike) == 1:
            yield from self.of_forms(*((each, alike[0]) if self._is_sent else (alike[0], each)), place)
        elif self._is_sent:
            yield f"{place}: {_kind(each)} is not accepted any more"
        else:
            yield f"{place}: may be {_kind(each)} by now, which clients do not expect"

    def _of_types(self, before: Schema, after: Schema, place: str) -> Iterator[str]:
        old, new = _types(before), _types(after)
        lost, gained = sorted(old - new), sorted(new - old)
        if self._is_sent and new and (lost or not old):
            yield f"{place}: the type is narrower: {_or(old)} was accepted, now {_or(new)}"
        elif not self._is_sent and old and (gained or not new):
            yield f"{place}: the type is another one: was {_or(old)}, may be {_or(new)} by now"

    def _of_values(self, before: Schema, after: Schema, place: str) -> Iterator[str]:
        old, new = before.get("enum"), after.get("enum")
        if old is None and new is not None and self._is_sent and "const" not in before:
            yield f"{place}: only {_listed(new)} are accepted now"
        if old is not None and new is not None:
            yield from (f"{place}: the value {each!r} is gone" for each in old if each not in new)
        for name in _SPELLINGS:
            if self._is_sent and name in after and after[name] != before.get(name):
                yield f"{place}: {name} is {after[name]!r} now, and was {_said(before.get(name))}"
            elif not self._is_sent and name in before and before[name] != after.get(name):
                yield f"{place}: {name} was {before[name]!r}, and is {_said(after.get(name))} now"

    def _of_bounds(self, before: Schema, after: Schema, place: str) -> Iterator[str]:
        if not self._is_sent:
            return
        for name in _LEAST:
            if name in after and after[name] > before.get(name, float("-inf")):
                yield f"{place}: {name} is {after[name]} now, and was {_said(before.get(name))}"
        for name in _MOST:
            if name in after and after[name] < before.get(name, float("inf")):
                yield f"{place}: {name} is {after[name]} now, and was {_said(before.get(name))}"
        if (
            before.get("additionalProperties", True) is not False
            and after.get("additionalProperties") is False
        ):
            yield f"{place}: other fields are refused now"

    def _of_members(self, before: Schema, after: Schema, place: str) -> Iterator[str]:
        old, new = before.get("properties", {}), after.get("properties", {})
        had, has = set(before.get("required", ())), set(after.get("required", ()))
        for name in old:
            if name not in new:
                yield f"{_inner(place, name)}: the field is gone"
            else:
                yield from self.breaks(old[name], new[name], _inner(place, name))
        if self._is_sent:
            yield from (f"{_inner(place, name)}: the field is required now" for name in sorted(has - had))
        else:
            missing = sorted(name for name in had - has if name in new)
            yield from (f"{_inner(place, name)}: the field may be absent by now" for name in missing)

    def _of_parts(self, before: Schema, after: Schema, place: str) -> Iterator[str]:
        for name in ("items", "additionalProperties"):
            if isinstance(before.get(name), Mapping) and isinstance(after.get(name), Mapping):
                yield from self.breaks(before[name], after[name], f"{place}[]")
        old, new = _named(before), _named(after)
        for pattern in new if self._is_sent else old:
            if pattern in old and pattern in new:
                yield from self.breaks(old[pattern], new[pattern], f"{place}[]")
            elif old:
                yield f"{place}: names match {_listed(list(new))} now, and matched {_listed(list(old))}"
        names = before.get("propertyNames", {}), after.get("propertyNames", {})
        yield from self.breaks(*names, f"{place}, names")

    def _choices(self, document: Schema, form: Schema) -> list[Schema]:
        for name in _CHOICES:
            if name in form:
                return [_resolved(document, each) for each in form[name]]
        return [form]


def _resolved(document: Schema, form: Any) -> Schema:
    """The form behind a reference into its document; a truth value is a form, too."""
    seen: set[str] = set()
    while isinstance(form, Mapping) and "$ref" in form and form["$ref"] not in seen:
        seen.add(form["$ref"])
        target: Any = document
        for step in form["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        form = target
    return form if isinstance(form, Mapping) else {}


def _name(form: Any) -> str:
    return str(form.get("$ref", "")) if isinstance(form, Mapping) else ""


def _named(form: Schema) -> Schema:
    named: Schema = form.get("patternProperties", {})
    return named


def _refers(value: Any) -> bool:
    """Whether equal words may mean something else, because they refer to what stands elsewhere."""
    if isinstance(value, Mapping):
        return "$ref" in value or any(map(_refers, value.values()))
    return isinstance(value, list) and any(map(_refers, value))


def _types(form: Schema) -> frozenset[str]:
    said = form.get("type", ())
    types = frozenset((said,) if isinstance(said, str) else said)
    return types | {"integer"} if "number" in types else types


def _kind(form: Schema) -> str:
    """What a choice is called: its title, its constant kind, or its type."""
    return str(form.get("title") or _or(_types(form)))


def _or(types: frozenset[str]) -> str:
    shown = types - {"integer"} if "number" in types else types
    return " or ".join(sorted(shown)) or "anything"


def _listed(values: list[Any]) -> str:
    return ", ".join(map(repr, values))


def _said(value: Any) -> str:
    return "not said" if value is None else repr(value)


def _inner(place: str, name: str) -> str:
    return f"{place}.{name}"
