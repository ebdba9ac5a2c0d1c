"""Reads what the controls go by, in one round trip."""

from typing import Any

from eai.kernel.ids import TenantId
from eai.platform.database import Database


class FactsRows:
    """The gateway's way to the rows about a call."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, tenant: TenantId, model: str) -> dict[str, Any]:
        """What `eai.gateway_facts` says, as of now. Raises DatabaseUnavailable."""
        parameters = {"tenant": tenant, "model": model}
        ((row,),) = await self._database.statement(_READ, parameters, is_repeatable=True)
        return dict(row)


_READ = "SELECT eai.read_gateway_facts(%(tenant)s, %(model)s)"
