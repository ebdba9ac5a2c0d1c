"""How a key's row comes to be, and how an answer that was lost on its way is given once more.

Every secret is made here, and whoever is told one is put on record as a holder in the same transaction.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from eai.access.classification import Classification
from eai.identity.credentials import Credential, Peppers
from eai.identity.errors import SecretAlreadyShown
from eai.identity.models import ApiKey
from eai.identity.repository import ApiKeyRows
from eai.identity.secret_holders import SecretHolders
from eai.kernel.ids import ApiKeyId, PrincipalId

REISSUE_WINDOW = timedelta(minutes=10)
"""How long a repeated request may still be the same one, whose answer was lost before it was sent."""


class Issuing:
    """Makes secrets and stores what they are checked against."""

    def __init__(self, peppers: Peppers) -> None:
        self._peppers = peppers

    async def issue(
        self,
        rows: ApiKeyRows,
        key: ApiKeyId,
        principal: UUID,
        *,
        created_by: PrincipalId | None,
        credential: Credential | None = None,
        name: str = "",
        scopes: list[str] | None = None,
        clearance: Classification | None = None,
        expires_at: datetime | None = None,
    ) -> tuple[ApiKey, Credential] | None:
        """A new key of `principal`; None when a key of this id exists."""
        made = credential or Credential.generate()
        row = await rows.insert(
            key,
            principal_id=principal,
            key_id=made.key_id,
            name=name,
            scopes=scopes,
            clearance=None if clearance is None else clearance.rank,
            secret_mac=self._peppers.seal(made),
            expires_at=expires_at,
            created_by=created_by,
        )
        if row is None:
            return None
        await SecretHolders(rows.session, rows.tenant).add(principal, created_by)
        return row, made

    async def issue_again(
        self, rows: ApiKeyRows, key: ApiKeyId, created_by: PrincipalId | None
    ) -> tuple[ApiKey, Credential]:
        """The key as its creator made it a moment ago, with another secret in place of the lost one.

        Raises SecretAlreadyShown once `REISSUE_WINDOW` is over or the key has had a life of its own:
        by then somebody uses it, and a late repetition must not end that. The creator is on record as a
        holder since the first answer.
        """
        row = await rows.hold(key, ApiKey.created_by.is_not_distinct_from(created_by))
        is_late = row.created_at + REISSUE_WINDOW < await rows.now()
        if is_late or row.last_rotation is not None or row.revoked_at is not None:
            raise SecretAlreadyShown(id=str(row.id))
        made = Credential.renew(row.key_id)
        return await rows.change(key, secret_mac=self._peppers.seal(made)), made

    async def replace(self, rows: ApiKeyRows, key: ApiKeyId, credential: Credential) -> Credential:
        """`credential` in place of one that nobody ever received."""
        await rows.change(key, key_id=credential.key_id, secret_mac=self._peppers.seal(credential))
        return credential

    async def rotate(
        self, rows: ApiKeyRows, row: ApiKey, grace: timedelta, rotation: UUID, *, by: PrincipalId
    ) -> tuple[ApiKey, Credential]:
        """A fresh secret, told to `by`; the old one opens until `grace` is over, any older one no more.

        The same `rotation` again replaces the secret whose answer was lost and leaves the old one its
        grace: whoever repeats the request has nothing else to go by. Raises SecretAlreadyShown once
        `REISSUE_WINDOW` is over; `updated_at` stays, so that a repetition does not prolong it.
        """
        is_repeated = row.last_rotation == rotation
        if is_repeated and row.updated_at + REISSUE_WINDOW < await rows.now():
            raise SecretAlreadyShown(id=str(row.id))
        made = Credential.renew(row.key_id)
        changes: dict[str, Any] = {"secret_mac": self._peppers.seal(made)}
        if is_repeated:
            changes["updated_at"] = row.updated_at
        else:
            keeps_old = grace > timedelta(0)
            changes |= {
                "previous_mac": row.secret_mac if keeps_old else None,
                "previous_expires_at": await rows.now() + grace if keeps_old else None,
                "last_rotation": rotation,
            }
        await SecretHolders(rows.session, rows.tenant).add(row.principal_id, by)
        return await rows.change(row.id, **changes), made
