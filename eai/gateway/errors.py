"""Why a model call is refused, or what is wrong with a model's answer."""

from eai.kernel.errors import BadGateway, Forbidden, NotFound


class ModelNotFound(NotFound):
    """No model of this name is registered for the caller."""

    code = "model_not_found"


class ModelNotAllowed(Forbidden):
    """The model is a stand-in that may not serve in this environment."""

    code = "model_not_allowed"


class EmbeddingDimensionMismatch(BadGateway):
    """The model answered vectors of `received` dimensions where `expected` are registered."""

    code = "embedding_dimension_mismatch"


class ProviderResponseInvalid(BadGateway):
    """The model answered too few vectors, or one that is zero or not finite. Nothing was stored."""

    code = "provider_response_invalid"
