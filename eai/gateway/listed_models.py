"""The models that a tenant can name, as it is shown them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from eai.gateway.assembled_models import model_from
from eai.gateway.ports import EmbeddingRole
from eai.gateway.registry import Model
from eai.gateway.registry_schemas import ModelFusion, ModelOut, ModelPrice, ModelRoles, RoleParameters
from eai.gateway.repository import RegistryRows
from eai.kernel.ids import TenantId
from eai.kernel.paging import Page, PageRequest

_NEVER_CHANGED = 1
"""The revision of a shipped model that nobody has bound."""

Json = Mapping[str, Any]


class ListedModels:
    """`here` are the models of this process; `remote` the shipped ones that an operator binds."""

    def __init__(self, here: Mapping[str, Model], remote: Mapping[str, Model]) -> None:
        self._shipped = {**remote, **here}
        self._remote = remote.keys() - here.keys()

    def is_shipped(self, name: str) -> bool:
        return name in self._shipped

    def is_remote(self, name: str) -> bool:
        """Whether an operator says where calls of this shipped model go."""
        return name in self._remote

    async def one(self, session: AsyncSession, tenant: TenantId, name: str) -> ModelOut | None:
        """The model of this name, if the tenant can name it."""
        rows = RegistryRows(session, tenant)
        if not self.is_shipped(name):
            facts = await rows.own(name)
            return None if facts is None else _own(facts)
        return self._shipped_one(name, await rows.bindings() if name in self._remote else {})

    async def page(self, session: AsyncSession, tenant: TenantId, request: PageRequest) -> Page[ModelOut]:
        """A part of all that the tenant can name, by name."""
        after = request.after[0] if request.after else ""
        rows = RegistryRows(session, tenant)
        own = [_own(facts) for facts in await rows.own_after(after, request.limit + 1)]
        bindings = await rows.bindings()
        shipped = [self._shipped_one(name, bindings) for name in self._shipped if name > after]
        found = sorted([*own, *shipped], key=lambda model: model.name)
        part = found[: request.limit]
        return Page(part, (part[-1].name,) if len(found) > len(part) else None)

    def _shipped_one(self, name: str, bindings: Mapping[str, Json]) -> ModelOut:
        facts = bindings.get(name)
        model = None if facts is None or name not in self._remote else model_from(facts)
        if facts is None or model is None:
            return shown(self._shipped[name], revision=_NEVER_CHANGED)
        return shown(model, revision=_NEVER_CHANGED + facts["binding"]["revision"])


def _own(facts: Json) -> ModelOut:
    row, model = facts["model"], model_from(facts)
    assert model is not None
    return shown(
        model,
        revision=row["revision"],
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
    )


def shown(
    model: Model, *, revision: int, created_at: datetime | None = None, updated_at: datetime | None = None
) -> ModelOut:
    """A model as clients read it."""
    return ModelOut(
        name=model.name,
        capability=model.capability,
        provider=model.provider,
        provider_model=model.provider_model,
        endpoint=model.endpoint.name if model.endpoint else None,
        dimensions=model.dimensions,
        context_tokens=model.context_tokens,
        classification_ceiling=model.classification_ceiling,
        region=model.region,
        retention=str(model.retention),
        price=ModelPrice(input_micros=model.price.input_micros, output_micros=model.price.output_micros),
        roles=ModelRoles(
            document=_parameters(model, EmbeddingRole.DOCUMENT), query=_parameters(model, EmbeddingRole.QUERY)
        ),
        fusion=ModelFusion(dense_weight=model.fusion.dense_weight, dense_floor=model.fusion.dense_floor),
        revision=model.revision,
        enabled=model.is_enabled,
        is_shipped=model.is_shipped,
        is_semantic=model.is_semantic,
        created_at=created_at,
        updated_at=updated_at,
        row_revision=revision,
    )


def _parameters(model: Model, role: EmbeddingRole) -> RoleParameters | None:
    parameters = model.roles.get(role)
    return RoleParameters(**parameters) if parameters else None
