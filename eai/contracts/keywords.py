"""JSON Schema's keywords where their usual reading says too little, or costs too much.

An error of several alternatives names none of them; here the one that was meant speaks. A pattern is matched
by the engine that the operations use, in time that grows with the text alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Annotated, Any

from jsonschema import ValidationError
from jsonschema.protocols import Validator
from pydantic import StringConstraints, TypeAdapter
from pydantic import ValidationError as Mismatch

MOST_ERRORS = 100
"""Errors that are told of one value."""


def alternatives(
    validator: Validator, choices: Sequence[Any], instance: Any, _: Mapping[str, Any]
) -> Iterator[ValidationError]:
    """`anyOf`: where none fits, the errors of the only one that is of the value's type."""
    found = []
    for choice in choices:
        errors = list(islice(validator.descend(instance, choice), MOST_ERRORS + 1))
        if not errors:
            return
        found.append(errors)
    meant = [errors for errors in found if not _is_of_another_type(errors)]
    if len(meant) == 1 or (not meant and len(found) == 1):
        yield from (meant or found)[0]
        return
    types = [error for errors in found for error in errors if error.validator == "type" and not error.path]
    expected = [error.validator_value for error in types if error.validator_value != "null"]
    if not meant and len(expected) == 1:
        yield from (error for error in types if error.validator_value == expected[0])
    else:
        yield ValidationError("no alternative fits")


def kinds(
    validator: Validator, _: Sequence[Any], instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    """`oneOf`, always with a member that says which: only that one is looked at."""
    name = schema["discriminator"]["propertyName"]
    named = schema["discriminator"]["mapping"]
    if not isinstance(instance, dict):
        yield _error("type", "object", ())
    elif name not in instance:
        yield _error("required", [name], (name,))
    elif not isinstance(instance[name], str) or instance[name] not in named:
        yield _error("enum", sorted(named), (name,))
    else:
        yield from validator.descend(instance, {"$ref": named[instance[name]]})


def required(
    _: Validator, names: Sequence[str], instance: Any, __: Mapping[str, Any]
) -> Iterator[ValidationError]:
    """`required`, with the path of what is missing."""
    if isinstance(instance, dict):
        yield from (_error("required", names, (name,)) for name in names if name not in instance)


def other_members(
    validator: Validator, form: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    """`additionalProperties`, with the path of each."""
    if not isinstance(instance, dict):
        return
    for name in instance:
        if name in schema.get("properties", {}):
            continue
        if form is False:
            yield _error("additionalProperties", form, (name,))
        else:
            yield from validator.descend(instance[name], form, path=name)


def member_names(
    validator: Validator, form: Any, instance: Any, _: Mapping[str, Any]
) -> Iterator[ValidationError]:
    """`propertyNames`, with the path of the member that is called so."""
    if isinstance(instance, dict):
        for name in instance:
            yield from validator.descend(name, form, path=name)


def items(
    validator: Validator, form: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    """`items`; of a list that is too long for itself no entry is looked at."""
    if isinstance(instance, list) and len(instance) <= schema.get("maxItems", len(instance)):
        for place, item in enumerate(instance):
            yield from validator.descend(item, form, path=place)


def pattern(_: Validator, expression: str, instance: Any, __: Mapping[str, Any]) -> Iterator[ValidationError]:
    """`pattern`, in linear time."""
    if isinstance(instance, str) and not _matches(expression, instance):
        yield ValidationError("does not match")


def _matches(expression: str, text: str) -> bool:
    try:
        _matcher(expression).validate_python(text)
    except Mismatch:
        return False
    return True


@cache
def _matcher(expression: str) -> TypeAdapter[str]:
    # Expressions are the contracts' own, so there are few.
    return TypeAdapter(Annotated[str, StringConstraints(pattern=expression)])


def _is_of_another_type(errors: Sequence[ValidationError]) -> bool:
    return any(error.validator == "type" and not error.path for error in errors)


def _error(keyword: str, value: Any, path: tuple[str, ...]) -> ValidationError:
    return ValidationError("", validator=keyword, validator_value=value, path=path)
