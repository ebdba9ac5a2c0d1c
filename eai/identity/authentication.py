"""From a credential to a subject, in one statement."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID

import orjson

from eai.access.classification import LEVELS, lowest
from eai.access.scopes import Role, Scope, scopes_of
from eai.access.subject import PrincipalKind, Subject
from eai.identity.credentials import Credential, Peppers
from eai.identity.repository import read_subject
from eai.kernel.errors import Unauthenticated
from eai.kernel.ids import ApiKeyId, GroupId, PrincipalId, TenantId
from eai.platform.database import Database

_ROLES = {role.value: role for role in Role}
_SCOPES = {scope.value: scope for scope in Scope}


class Authentication:
    """Tells who presents a credential."""

    def __init__(self, database: Database, peppers: Peppers) -> None:
        self._database = database
        self._peppers = peppers

    async def authenticate(self, credential: str) -> Subject:
        """The subject that `credential` stands for at this instant. Raises Unauthenticated.

        A malformed credential costs no round trip. An unknown id, a wrong secret, a key that is
        revoked or past its time, and a suspended principal give the same answer by the same path.
        """
        parsed = Credential.parse(credential)
        row = await read_subject(self._database, parsed.key_id, self._peppers.candidates(parsed))
        if row is None:
            raise Unauthenticated
        return subject_from_row(row)


def subject_from_row(row: Mapping[str, Any]) -> Subject:
    """The subject in what `eai.subject` and `eai.subject_of_key` answer.

    A key's scopes and clearance narrow its principal's. A role or scope that this version does not
    know opens nothing. Only `eai.subject` has seen a secret and tells an old one.
    """
    return _subject(orjson.dumps(row))


@lru_cache(maxsize=1_024)
def _subject(row_text: bytes) -> Subject:
    # Kept by all that the row says, so a change of it is another subject at once. A query needs two, and
    # reading the ids of fifty groups took a tenth of its processor time.
    row = orjson.loads(row_text)
    roles = tuple(_ROLES[name] for name in row["roles"] if name in _ROLES)
    scopes = scopes_of(roles)
    if row["key_scopes"] is not None:
        scopes &= frozenset(_SCOPES[name] for name in row["key_scopes"] if name in _SCOPES)
    key_clearance = None if row["key_clearance"] is None else LEVELS[row["key_clearance"]]
    return Subject(
        tenant=TenantId(UUID(row["tenant"])),
        principal=PrincipalId(UUID(row["principal"])),
        kind=PrincipalKind(row["kind"]),
        name=row["name"],
        roles=roles,
        groups=frozenset(GroupId(UUID(group)) for group in row["groups"]),
        scopes=scopes,
        clearance=lowest(LEVELS[row["clearance"]], key_clearance),
        api_key=ApiKeyId(UUID(row["api_key"])),
        is_bootstrap=row["is_bootstrap"],
        presents_old_secret=row.get("is_old_secret", False),
    )
