"""The registry's services over one database, and endpoints and models made through them."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from eai.access.subject import Subject
from eai.audit.service import Audit
from eai.gateway.catalogue import LOCAL_HASH_256, REMOTE_MODELS
from eai.gateway.endpoints import ProviderEndpoints
from eai.gateway.kill_switches import KillSwitches
from eai.gateway.listed_models import ListedModels
from eai.gateway.provider_keys import ProviderKeys
from eai.gateway.registration import ModelRegistry
from eai.gateway.registry_schemas import (
    EndpointOut,
    EndpointPatch,
    KillSwitchOut,
    KillSwitchPut,
    ModelOut,
    ModelPatch,
    NewEndpoint,
    NewModel,
)
from eai.platform.database import Database
from eai.platform.egress import Allowance
from eai.platform.keys import Keyring
from tests.factories.identity import MASTER_KEY, OPERATOR


@dataclass(frozen=True)
class Registry:
    """What operators and administrators of models work with."""

    database: Database
    keys: ProviderKeys
    endpoints: ProviderEndpoints
    models: ModelRegistry
    switches: KillSwitches

    @classmethod
    def over(cls, database: Database, audit: Audit) -> "Registry":
        keys = ProviderKeys(Keyring(MASTER_KEY, database))
        listed = ListedModels({LOCAL_HASH_256.name: LOCAL_HASH_256}, REMOTE_MODELS)
        models = ModelRegistry(audit, listed)
        return cls(
            database=database,
            keys=keys,
            endpoints=ProviderEndpoints(database, keys, audit, Allowance.parse(["models.internal"])),
            models=models,
            switches=KillSwitches(audit, models),
        )

    async def endpoint(self, *tenants: UUID, id: UUID | None = None, **fields: Any) -> EndpointOut:  # noqa: A002
        """An endpoint that serves `tenants`; without any, everybody."""
        wanted = {
            "name": f"e-{uuid4().hex[:12]}",
            "kind": "openai",
            "url": "https://models.example/v1",
            "region": "eu-west",
            "retention": "none",
            "classification_ceiling": "restricted",
            **({"tenants": tenants} if tenants else {}),
            **fields,
        }
        async with self.database.transaction(OPERATOR.tenant) as session:
            return await self.endpoints.create(session, OPERATOR, id or uuid4(), NewEndpoint(**wanted))

    async def change_endpoint(
        self, endpoint: UUID, *, revision: int | None = None, **fields: Any
    ) -> EndpointOut:
        async with self.database.transaction(OPERATOR.tenant) as session:
            return await self.endpoints.update(
                session, OPERATOR, endpoint, EndpointPatch(**fields), revision=revision
            )

    async def delete_endpoint(self, endpoint: UUID) -> None:
        async with self.database.transaction(OPERATOR.tenant) as session:
            await self.endpoints.delete(session, OPERATOR, endpoint)

    async def model(self, by: Subject, endpoint: str, *, id: UUID | None = None, **fields: Any) -> ModelOut:  # noqa: A002
        """A model of the caller's tenant; an embedding model unless said otherwise."""
        wanted = {
            "name": f"m-{uuid4().hex[:12]}",
            "endpoint": endpoint,
            "capability": "embeddings",
            "dimensions": (8,),
            **fields,
        }
        async with self.database.transaction(by.tenant) as session:
            return await self.models.create(session, by, id or uuid4(), NewModel(**wanted))

    async def change_model(
        self, by: Subject, name: str, *, row_revision: int | None = None, **fields: Any
    ) -> ModelOut:
        async with self.database.transaction(by.tenant) as session:
            return await self.models.update(session, by, name, ModelPatch(**fields), revision=row_revision)

    async def read_model(self, by: Subject, name: str) -> ModelOut:
        async with self.database.transaction(by.tenant) as session:
            return await self.models.get(session, by, name)

    async def flip(
        self, by: Subject, scope: str, *, engaged: bool = True, revision: int | None = None
    ) -> KillSwitchOut:
        wanted = KillSwitchPut(engaged=engaged, reason="a test")
        async with self.database.transaction(by.tenant) as session:
            return await self.switches.set(session, by, scope, wanted, revision=revision)
