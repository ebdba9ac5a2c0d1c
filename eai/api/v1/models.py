"""The registered models, as callers may choose among them."""

from typing import Annotated

from fastapi import Depends
from pydantic import BaseModel, ConfigDict

from eai.access.classification import Classification
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Services
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.gateway.ports import EmbeddingModel
from eai.kernel.paging import Page

router = GovernedRouter(tags=["models"])

Reader = Annotated[
    Subject, Depends(require(Scope.KB_READ, Scope.GATEWAY_INVOKE, Scope.MODELS_ADMIN, any_of=True))
]


class ModelOut(BaseModel):
    """A model. `is_semantic` is false for a stand-in that only compares spelling."""

    model_config = ConfigDict(frozen=True)

    name: str
    capability: str
    provider: str
    dimensions: int
    classification_ceiling: Classification
    region: str
    is_semantic: bool


@router.get("/models")
async def list_models(caller: Reader, services: Services, paging: PageQuery) -> Listing[ModelOut]:
    """Every model that can be named here, in the order of their names."""
    del caller
    after = paging.request.after[0] if paging.request.after else ""
    models = [model for model in services.gateway.models if model.name > after]
    shown = models[: paging.request.limit]
    key = (shown[-1].name,) if len(models) > len(shown) else None
    return paging.answer(Page([_shown(model) for model in shown], key))


@router.get("/models/{name}")
async def get_model(caller: Reader, services: Services, name: str) -> ModelOut:
    """One model."""
    del caller
    return _shown(services.gateway.model(name))


def _shown(model: EmbeddingModel) -> ModelOut:
    return ModelOut(
        name=model.name,
        capability="embeddings",
        provider=model.provider,
        dimensions=model.dimensions,
        classification_ceiling=model.classification_ceiling,
        region=model.region,
        is_semantic=model.is_semantic,
    )
