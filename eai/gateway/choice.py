"""Which model a knowledge base gets, as `eai.knowledge.ports.ModelCatalogue` wants it."""

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.access.subject import Subject
from eai.gateway.calls import Caller, Operation
from eai.gateway.errors import ModelNotFound
from eai.gateway.registry import Model
from eai.gateway.repository import ModelRows
from eai.gateway.service import Gateway, space_of
from eai.kernel.errors import InvalidInput
from eai.knowledge.ports import ModelFacts


class ModelChoice:
    """Resolves names of embedding models for bases."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def resolve(
        self, session: AsyncSession, subject: Subject, name: str | None, dimensions: int | None
    ) -> ModelFacts | None:
        """See `ModelCatalogue`. Raises InvalidInput for dimensions that the model does not have."""
        chosen = name or self._gateway.default_model
        if chosen is None:
            raise InvalidInput.field("embedding_model", "missing", "is required in production")
        # The facts are read in one statement of their own; what they say must hold until the base is there.
        await ModelRows(session, subject.tenant).keep(chosen)
        try:
            model = await self._gateway.check(
                Caller.of(subject), chosen, Operation.INGEST, Classification.PUBLIC
            )
        except ModelNotFound:
            return None
        space = space_of(model, wanted_dimensions(model, dimensions))
        return ModelFacts(model.name, space, model.classification_ceiling)


def wanted_dimensions(model: Model, dimensions: int | None) -> int:
    """`dimensions`, or the default of the model. Raises InvalidInput for what it does not have."""
    if dimensions is None:
        return model.dimensions[0]
    if dimensions not in model.dimensions:
        offered = ", ".join(map(str, model.dimensions))
        raise InvalidInput({"path": "dimensions", "code": "unsupported", "message": "", "offered": offered})
    return dimensions
