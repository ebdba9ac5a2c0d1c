"""Every query on signing keys. Any session may make them: keys belong to no tenant."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.checkpoint import SigningKey
from eai.audit.models import AuditSigningKey


class SigningKeyRows:
    """The line of signing keys as it is stored."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    async def all(self) -> Sequence[AuditSigningKey]:
        """Every key, oldest first."""
        statement = select(AuditSigningKey).order_by(AuditSigningKey.created_at, AuditSigningKey.key_id)
        return (await self._session.scalars(statement)).all()

    async def add(self, record: SigningKey, wrapped: bytes) -> None:
        """Store a key. Another process may have been first; then its key stays, and this one is forgotten."""
        statement = insert(AuditSigningKey).values(
            key_id=record.key_id,
            public_key=record.public_key,
            wrapped=wrapped,
            predecessor=record.predecessor,
            endorsement=record.endorsement,
            created_at=record.created_at,
        )
        await self._session.execute(statement.on_conflict_do_nothing())
