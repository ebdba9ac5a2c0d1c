"""Cedar inside this process. A set of policies is read once, and what it decided is remembered."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib import resources
from typing import Any

import orjson
from cedarpy import Decision, PolicySet, Schema, is_authorized, policies_to_json_str, validate_policies

from eai.policies.errors import PolicyFailed
from eai.policies.ports import PolicyDecision, PolicyFault, PolicyPrincipal, PolicyRequest
from eai.policies.statements import Statement, excess_of, place_of, statements_of, without_comments

_MOST_FAULTS = 20
_LONGEST_REASON = 300
_PERMIT_ALL = "permit (principal, action, resource);"
_SHIPPED = "shipped"
_TENANT = "tenant"
_OPEN = "*"
"""What everything else narrows. No tenant's policy can be called so, and take its place."""
_POLICY = re.compile(r"policy `([^`]+)`")
_PREFIX = re.compile(r"^(?:for policy `[^`]*`, |Policy parse error: )")
_NAMED = re.compile(r"`([^`]+)`|: (\w+)$")
_ATTRIBUTE = re.compile(r"^ +(\w+): \w+,", re.MULTILINE)
_SLOTS = ("?principal", "?resource")
_UNFINISHED = "unexpected end of input"
_SCOPE = "unable to find an applicable action"
"""Follows from another fault whenever there is one."""
_SYSTEM = "system"
_MOST_KNOWN, _MOST_KNOWN_OF_A_TENANT = 4_096, 64
"""Decisions of one set that are kept, half a kilobyte each."""

Policy = dict[str, Any]


class CedarRules:
    """A set of policies, each under an id of which the part before `#` is what people call it."""

    def __init__(self, name: str, policies: Mapping[str, Policy], schema: Schema, *, most_known: int) -> None:
        self._name = name
        self._schema = schema
        self._policies = _compiled(policies)
        self._most_known = most_known
        self._known: dict[bytes, PolicyDecision] = {}

    def decide(self, request: PolicyRequest) -> PolicyDecision:
        """What the set says; see `ports.Rules`.

        Cedar knows no clock and no state: the same words about the same policies have the same answer.
        """
        try:
            asked, entities = _asked(request), _entities(request)
            question = sha256(orjson.dumps([asked, entities])).digest()
        except (ValueError, TypeError) as error:
            return self._not_evaluated(error)
        known = self._known.get(question)
        if known is None:
            known = self._decided(asked, entities)
            if not known.errors:
                self._remember(question, known)
        return known

    def _remember(self, question: bytes, decision: PolicyDecision) -> None:
        if len(self._known) >= self._most_known:
            del self._known[next(iter(self._known))]
        self._known[question] = decision

    def _decided(self, asked: dict[str, Any], entities: str) -> PolicyDecision:
        try:
            result = is_authorized(asked, self._policies, entities, self._schema)
        except (ValueError, TypeError, KeyError) as error:
            return self._not_evaluated(error)
        errors = tuple(result.diagnostics.errors)
        if result.decision is Decision.NoDecision and not errors:
            errors = ("no decision was reached",)
        named = self._failed(errors) if errors else result.diagnostics.reasons
        return PolicyDecision(
            is_allowed=result.decision is Decision.Allow and not errors,
            policies=tuple(sorted({policy.partition("#")[0] for policy in named})) or (self._name,),
            errors=errors,
        )

    def _not_evaluated(self, error: Exception) -> PolicyDecision:
        return PolicyDecision(is_allowed=False, policies=(self._name,), errors=(str(error),))

    @staticmethod
    def _failed(errors: Sequence[str]) -> list[str]:
        return [match[1] for error in errors for match in [_POLICY.search(error)] if match is not None]


class CedarEngine:
    """The shipped schema and policies, and the reader of tenants' own."""

    def __init__(self) -> None:
        schema = _shipped("schema.cedarschema")
        self._schema = Schema.from_str(schema)
        self._attributes = frozenset(_ATTRIBUTE.findall(schema))
        policies = _named_by_annotation(_shipped("policies.cedar"))
        self._shipped = CedarRules(_SHIPPED, policies, self._schema, most_known=_MOST_KNOWN)

    @property
    def shipped(self) -> CedarRules:
        """See `ports.PolicyEngine`."""
        return self._shipped

    async def faults(self, text: str) -> Sequence[PolicyFault]:
        """See `ports.PolicyEngine`."""
        return await asyncio.to_thread(self._faults, text)

    async def narrowing(self, texts: Mapping[str, str]) -> CedarRules:
        """See `ports.PolicyEngine`."""
        return await asyncio.to_thread(self._narrowing, texts)

    def _faults(self, text: str) -> list[PolicyFault]:
        statements = list(statements_of(text))
        if not statements:
            return [PolicyFault(1, 1, "there is no policy in it")]
        is_excessive = _is_excessive(text)
        whole = [] if is_excessive else list(self._reasons(text))
        if not is_excessive and not whole:
            return []
        found: list[PolicyFault] = []
        for statement in statements:
            excess = excess_of(statement.text)
            reasons = self._reasons(statement.text) if excess is None else [excess]
            found += [_fault(text, statement, reason) for reason in reasons]
            if len(found) >= _MOST_FAULTS:
                break
        return found[:_MOST_FAULTS] or [PolicyFault(1, 1, reason) for reason in whole]

    def _reasons(self, text: str) -> Iterator[str]:
        """What is wrong with a text that is not excessive."""
        result = validate_policies(text, self._schema)
        if not result.validation_passed:
            yield from _apart([_PREFIX.sub("", error.error) for error in result.errors])
            return
        try:
            _compiled(_numbered(_TENANT, text))
            policies = _read(text)
        except ValueError:
            yield "it nests too deeply; write it as several statements"
            return
        if policies["templates"]:
            slot = next(slot for slot in _SLOTS if slot in text)
            yield f"`{slot}` is never filled here; name what you mean"
        for attribute in sorted(set(_asked_for(policies)) - self._attributes):
            yield f"nothing has the attribute `{attribute}`"

    def _narrowing(self, texts: Mapping[str, str]) -> CedarRules:
        policies = dict(_numbered(_OPEN, _PERMIT_ALL))
        for name, text in texts.items():
            try:
                # Whatever was stored, and by whom: the engine must survive it.
                own = _numbered(name, text) if not _is_excessive(text) else {}
                _compiled(own)
            except ValueError as error:
                raise PolicyFailed([name]) from error
            if not own:
                raise PolicyFailed([name])
            policies |= own
        return CedarRules(_TENANT, policies, self._schema, most_known=_MOST_KNOWN_OF_A_TENANT)


def _asked(request: PolicyRequest) -> dict[str, Any]:
    return {
        "principal": _principal(request.principal),
        "action": {"type": "Action", "id": str(request.action)},
        "resource": {"type": request.resource.kind, "id": request.resource.id},
        "context": orjson.dumps(request.context).decode(),
    }


def _entities(request: PolicyRequest) -> str:
    principal = request.principal
    roles = [{"type": "Role", "id": role} for role in principal.roles]
    groups = [{"type": "Group", "id": group} for group in principal.groups]
    caller = {
        "uid": _principal(principal),
        "attrs": {"clearance": principal.clearance.rank},
        "parents": roles + groups,
    }
    thing = {
        "uid": {"type": request.resource.kind, "id": request.resource.id},
        "attrs": request.resource.attributes,
        "parents": [],
    }
    return orjson.dumps([caller, thing]).decode()


def _principal(principal: PolicyPrincipal) -> dict[str, str]:
    name = _SYSTEM if principal.id is None else str(principal.id)
    return {"type": principal.kind.capitalize(), "id": name}


def _fault(text: str, statement: Statement, reason: str) -> PolicyFault:
    place = place_of(text, statement.start + _offset(statement.text, reason))
    return PolicyFault(place.line, place.column, reason[:_LONGEST_REASON])


def _offset(statement: str, reason: str) -> int:
    """Of the word that the engine names, where the statement holds it once; else of the beginning."""
    if reason.startswith(_UNFINISHED):
        return len(statement.rstrip())
    said = without_comments(statement)
    words = [word for match in _NAMED.findall(reason) for word in match if word]
    return next((said.index(word) for word in words if said.count(word) == 1), 0)


def _is_excessive(text: str) -> bool:
    return any(excess_of(statement.text) for statement in statements_of(text))


def _apart(reasons: Sequence[str]) -> Sequence[str]:
    return [reason for reason in reasons if not reason.startswith(_SCOPE)] or reasons


def _numbered(name: str, text: str) -> dict[str, Policy]:
    return {f"{name}#{number}": policy for number, policy in enumerate(_static(text), 1)}


def _named_by_annotation(text: str) -> dict[str, Policy]:
    return {f"{_SHIPPED}/{policy['annotations']['id']}": policy for policy in _static(text)}


def _static(text: str) -> Sequence[Policy]:
    """The policies of a text, in its order. Raises ValueError when it cannot be read."""
    policies = _read(text)["staticPolicies"]
    return [policies[name] for name in sorted(policies, key=lambda name: int(name.removeprefix("policy")))]


def _read(text: str) -> dict[str, Any]:
    read: dict[str, Any] = orjson.loads(policies_to_json_str(text))
    return read


def _compiled(policies: Mapping[str, Policy]) -> PolicySet:
    """The set under the ids given here. Raises ValueError, for a policy that nests too deeply too."""
    document = {"staticPolicies": dict(policies), "templates": {}, "templateLinks": []}
    try:
        written = orjson.dumps(document).decode()
    except orjson.JSONEncodeError as error:
        raise ValueError(error) from error
    return PolicySet.from_json_str(written)


def _asked_for(policies: object) -> Iterator[str]:
    """Attributes that a condition asks for with `has`, to which no engine objects: the answer is no."""
    if isinstance(policies, dict):
        asked = policies.get("has")
        if isinstance(asked, dict) and isinstance(attribute := asked.get("attr"), str):
            yield attribute
        for member in policies.values():
            yield from _asked_for(member)
    elif isinstance(policies, list):
        for member in policies:
            yield from _asked_for(member)


def _shipped(name: str) -> str:
    return resources.files("eai.policies").joinpath("shipped", name).read_text(encoding="utf-8")
