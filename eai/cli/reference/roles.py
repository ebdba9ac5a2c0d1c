"""Levels, roles and scopes, from the access rules themselves."""

from collections.abc import Iterable, Mapping

from eai.access.classification import LEVELS
from eai.access.scopes import BOOTSTRAP_ADMINISTRATOR_ROLES, ROLE_SCOPES, Role, Scope
from eai.cli.reference.tables import page, table

_PREFACE = """\
A scope opens an operation; the object's own rights decide whether it succeeds. Roles are named sets of
scopes. A key without `scopes` of its own follows its principal's roles, live; with them it has the
intersection. [HTTP operations](http.md) says which scope opens what; some scopes belong to parts that are
[not built yet](../../README.md#what-exists-and-what-does-not-yet)."""

_LEVELS = """\
## Levels

Lowest first: {levels}. Documents and passages have a level, people a clearance, models a ceiling. A passage
is shown to those whose clearance is at least its level, and sent to models whose ceiling is."""

_ADMINISTRATOR = """\
## The first administrator

The holder of a tenant's first key is cleared for `secret` and holds {roles}. In production a warning
`sod_conflict` says that these duties should be parted: make people for them and put the first key away."""

SCOPES: Mapping[Scope, str] = {
    Scope.RAG_QUERY: "ask questions",
    Scope.RAG_INGEST: "take documents in, change and delete them, in bases that grant `write`",
    Scope.KB_READ: "list and open what one may see",
    Scope.KB_WRITE: "make knowledge bases; change those that grant `manage`",
    Scope.KB_ADMIN: "manage every base of the tenant; reading passages still needs an entry",
    Scope.GATEWAY_INVOKE: "call models",
    Scope.STEWARD_REVIEW: "review quarantined documents",
    Scope.PRIVACY_ADMIN: "answer requests of the people that data is about",
    Scope.AUDIT_READ: "read, verify and export the audit",
    Scope.FINOPS_READ: "read usage",
    Scope.FINOPS_WRITE: "set quotas",
    Scope.POLICY_ADMIN: "tenant settings, policies and source connectors",
    Scope.MODELS_ADMIN: "models and kill switches",
    Scope.TENANT_ADMIN: "principals, groups and keys",
    Scope.PLATFORM_ADMIN: "tenants and the platform; no content of any tenant",
}


def roles_page() -> str:
    """docs/reference/roles.md."""
    opened = [(f"`{scope}`", meaning) for scope, meaning in SCOPES.items()]
    held = [(f"`{role}`", _listed(sorted(ROLE_SCOPES[role]))) for role in Role]
    return page(
        "Levels, roles and scopes",
        _PREFACE,
        [
            _LEVELS.format(levels=_listed(LEVELS)),
            "## Scopes\n\n" + table(("scope", "opens"), opened),
            "## Roles\n\n" + table(("role", "scopes"), held),
            _ADMINISTRATOR.format(roles=_listed(BOOTSTRAP_ADMINISTRATOR_ROLES)),
        ],
    )


def _listed(names: Iterable[object]) -> str:
    return ", ".join(f"`{name}`" for name in names)
