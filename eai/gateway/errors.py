"""Why a model call is refused, what is wrong with a model's answer, and why a registration must wait."""

from eai.kernel.errors import BadGateway, Conflict, EaiError, Forbidden, NotFound, Unavailable


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


class ContextExceeded(EaiError):
    """What the model would have to hold at once is at least `tokens` long, and its context is shorter."""

    code, status = "context_exceeded", 422


class ModelDisabled(Forbidden):
    """The model is registered and may not be called: disabled, or without an endpoint."""

    code = "model_disabled"


class CapabilityMissing(Forbidden):
    """The model is not of the kind that was asked for."""

    code = "model_capability_missing"


class KillSwitchEngaged(Forbidden):
    """Somebody stopped calls: of this model, to this provider, of this tenant, or all."""

    code = "kill_switch_engaged"


class RetentionRefused(Forbidden):
    """The provider keeps what it is sent longer than this level allows."""

    code = "retention_refused"


class RegionRefused(Forbidden):
    """The model runs in a region that the tenant does not accept."""

    code = "region_refused"


class EgressDenied(Forbidden):
    """The provider's host resolves to an address that may not be reached."""

    code = "egress_denied"


class ModelSubstituted(BadGateway):
    """The provider answered with another model than the registered one."""

    code = "model_substituted"


class ProviderUnavailable(Unavailable):
    """The provider did not answer, or not usefully, within the deadline and its retries."""

    code = "provider_unavailable"
    retryable = True


class ProviderRefused(BadGateway):
    """The provider will not work on this request, and would not the next time. Nothing was charged."""

    code = "provider_refused"


class ModelInUse(Conflict):
    """A base holds vectors of the model, and this would change how they were made."""

    code = "model_in_use"


class EndpointInUse(Conflict):
    """A model is still on the endpoint."""

    code = "endpoint_in_use"
