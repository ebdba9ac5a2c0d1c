"""What a credential amounts to, told to whoever holds it."""

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.identity.repository import GroupRows
from eai.identity.schemas import Me, MyGroup, MyPrincipal, MyTenant
from eai.tenants.service import Tenants


class Introspection:
    """Answers any credential about itself."""

    def __init__(self, tenants: Tenants) -> None:
        self._tenants = tenants

    async def describe(self, session: AsyncSession, subject: Subject) -> Me:
        """Tenant, principal, groups, scopes and clearance, as this request was judged by them."""
        tenant = await self._tenants.get(session, subject.tenant)
        groups = await GroupRows(session, subject.tenant).names(subject.groups)
        return Me(
            tenant=MyTenant(id=tenant.id, slug=tenant.slug, name=tenant.name),
            principal=MyPrincipal(
                id=subject.principal, kind=subject.kind, name=subject.name, roles=subject.roles
            ),
            groups=tuple(MyGroup(id=group, name=name) for group, name in groups),
            scopes=tuple(sorted(subject.scopes)),
            clearance=subject.clearance,
            api_key_id=subject.api_key,
        )
