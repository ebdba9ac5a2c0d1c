"""Changing the key that signs checkpoints."""

from eai.audit.actions import AuditAction
from eai.audit.checkpoint import SigningKey
from eai.audit.entries import SYSTEM, Resource
from eai.audit.service import Audit
from eai.audit.signing import Signing
from eai.kernel.ids import PLATFORM_TENANT
from eai.platform.database import Database


async def rotate_signing_key(database: Database, signing: Signing, audit: Audit) -> SigningKey:
    """A new key, endorsed by the present one, signs from now on; the platform's chain tells of it.

    Whoever pinned an earlier key goes on trusting: the line of endorsements travels with each export.
    Raises SigningKeyMissing.
    """
    async with database.transaction(PLATFORM_TENANT) as session:
        key = await signing.rotate(session)
        await audit.record(
            session,
            SYSTEM,
            AuditAction.AUDIT_KEY_ROTATE,
            tenant=PLATFORM_TENANT,
            resource=Resource("signing_key", key.key_id),
            facts={"predecessor": key.predecessor, "public_key": key.public_key.hex()},
        )
    return key
