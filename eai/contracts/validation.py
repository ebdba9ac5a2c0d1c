"""Judges whether a value has the form of a contract. Pure, and bounded by the size of the value."""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from referencing import Registry

from eai.contracts import keywords
from eai.contracts.catalogue import CONTRACTS
from eai.contracts.formats import FORMATS
from eai.contracts.keywords import MOST_ERRORS
from eai.contracts.schemas import ContractFault, VerdictOut
from eai.kernel.errors import NotFound
from eai.platform.i18n import Language, field_messages

LONGEST_PATH = 1_000

_CONTRACTS = {contract.name: contract for contract in CONTRACTS}

_Judge: Any = extend(
    Draft202012Validator,
    {
        "additionalProperties": keywords.other_members,
        "anyOf": keywords.alternatives,
        "items": keywords.items,
        "oneOf": keywords.kinds,
        "pattern": keywords.pattern,
        "propertyNames": keywords.member_names,
        "required": keywords.required,
    },
)

_CODES: Mapping[str, tuple[str, str]] = {
    "additionalProperties": ("extra_forbidden", ""),
    "const": ("literal_error", "expected"),
    "enum": ("enum", "expected"),
    "exclusiveMaximum": ("less_than", "lt"),
    "exclusiveMinimum": ("greater_than", "gt"),
    "maxItems": ("too_long", "max_length"),
    "maxLength": ("string_too_long", "max_length"),
    "maxProperties": ("too_long", "max_length"),
    "maximum": ("less_than_equal", "le"),
    "minItems": ("too_short", "min_length"),
    "minLength": ("string_too_short", "min_length"),
    "minProperties": ("too_short", "min_length"),
    "minimum": ("greater_than_equal", "ge"),
    "pattern": ("string_pattern_mismatch", "pattern"),
    "required": ("missing", ""),
}
"""By keyword, the code under which the operations refuse the same, and what its words call the limit."""

_TYPES = {
    "array": "list_type",
    "boolean": "bool_type",
    "integer": "int_type",
    "null": "none_required",
    "number": "float_type",
    "object": "dict_type",
    "string": "string_type",
}
_FORMATS = {"date-time": "datetime_parsing", "uuid": "uuid_parsing"}


def judge(name: str, value: Any) -> VerdictOut:
    """Whether `value` has the form of the contract of this name. Raises NotFound."""
    found = list(islice(_judge(name).iter_errors(value), MOST_ERRORS + 1))
    told = [_fault(error) for error in found[:MOST_ERRORS]]
    return VerdictOut(valid=not found, errors=told, errors_truncated=len(found) > MOST_ERRORS)


def schema_of(name: str) -> Mapping[str, Any]:
    """The contract of this name as JSON Schema. Raises NotFound."""
    contract = _CONTRACTS.get(name)
    if contract is None:
        raise NotFound
    return contract.schema


@cache
def _judge(name: str) -> Any:
    return judge_by(schema_of(name))


def judge_by(schema: Mapping[str, Any]) -> Any:
    """What tells the errors of values by this schema. It fetches nothing, and matches in linear time."""
    # Under its dialect the library would judge parts of it by its own reading of the keywords.
    form = {key: part for key, part in schema.items() if key not in {"$schema", "$id"}}
    # A registry of our own: the library's would fetch what a reference names.
    return _Judge(form, registry=Registry(), format_checker=FORMATS)


def _fault(error: ValidationError) -> ContractFault:
    code, limits = _said(error)
    message = field_messages()[code]
    return ContractFault(
        path=_pointer(error.absolute_path),
        code=code,
        message_i18n={language: message.say(language, limits) for language in Language},
    )


def _said(error: ValidationError) -> tuple[str, Mapping[str, Any]]:
    keyword, value = str(error.validator), error.validator_value
    if keyword in _CODES:
        code, limit = _CODES[keyword]
        return code, {limit: value}
    if keyword == "type":
        return _TYPES.get(str(value), "other"), {}
    return _FORMATS.get(str(value), "other") if keyword == "format" else "other", {}


def _pointer(path: Iterable[str | int]) -> str:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(f"/{step}" for step in steps)[:LONGEST_PATH]
