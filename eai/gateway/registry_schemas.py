"""Endpoints, models and kill switches as clients write and read them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from eai.access.classification import Classification
from eai.gateway.registry import Capability, EndpointKind, Retention
from eai.tenants.names import clean_name
from eai.tenants.schemas import Schema

MAX_TENANTS = 1_000
MAX_REASON_LENGTH = 500
_MOST_MICROS = 1_000_000_000_000


def _retention(text: str) -> str:
    try:
        return str(Retention.parse(text))
    except ValueError:
        raise PydanticCustomError("retention_form", "Write none, unknown or days:<n>") from None


def _reason(text: str) -> str:
    return clean_name(text, limit=MAX_REASON_LENGTH)


def _distinct(sizes: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(sizes)) < len(sizes):
        raise PydanticCustomError("not_distinct", "Entries should differ")
    return sizes


TemplateName = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,63}$")]
EndpointName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")]
Region = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
Url = Annotated[str, Field(min_length=1, max_length=2_000)]
RetentionText = Annotated[str, Field(max_length=20), AfterValidator(_retention)]
Tenants = Annotated[tuple[UUID, ...], Field(max_length=MAX_TENANTS)]
ProviderKey = Annotated[str, Field(pattern=r"^[\x21-\x7e]+$", max_length=4_096)]
ProviderModel = Annotated[str, Field(pattern=r"^[\x21-\x7e]+$", max_length=200)]
Parameter = Annotated[str, Field(min_length=1, max_length=200)]
Dimensions = Annotated[
    tuple[Annotated[int, Field(ge=1, le=16_384, strict=True)], ...],
    Field(min_length=1, max_length=16),
    AfterValidator(_distinct),
]
Tokens = Annotated[int, Field(ge=1, le=100_000_000, strict=True)]
Micros = Annotated[int, Field(ge=0, le=_MOST_MICROS, strict=True)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
ModelRevision = Annotated[str, Field(pattern=r"^[\x21-\x7e]+$", max_length=100)]
Flag = Annotated[bool, Field(strict=True)]
RowRevision = Annotated[int, Field(exclude=True)]


class SecretiveSchema(Schema):
    """Input of which an error must not repeat a value."""

    model_config = ConfigDict(hide_input_in_errors=True)


class NewEndpoint(SecretiveSchema):
    """A provider endpoint to be approved: of a `kind`, or of a provider that a `template` knows by name.

    `url` is where it answers: needed for `openai` and `litellm`, absent for `local`; with a template it
    stands in place of the provider's own. `region` goes from wide to narrow (`eu`, `eu-west-1`). `tenants`
    are those it serves; absent, all. `api_key` is never shown again.
    """

    name: EndpointName
    kind: EndpointKind | None = None
    template: TemplateName | None = None
    url: Url | None = None
    region: Region
    retention: RetentionText
    classification_ceiling: Classification
    tenants: Tenants | None = None
    api_key: ProviderKey | None = Field(default=None, repr=False)


class EndpointPatch(SecretiveSchema):
    """What to change; what is not named stays.

    Null takes away `url` and `api_key`, or gives the template's own `url` back, and serves all for
    `tenants`; for the rest it changes nothing.
    """

    url: Url | None = None
    region: Region | None = None
    retention: RetentionText | None = None
    classification_ceiling: Classification | None = None
    tenants: Tenants | None = None
    api_key: ProviderKey | None = Field(default=None, repr=False)


class EndpointOut(Schema):
    """A provider endpoint, without its key. `tenants` null serves all, `template` null is none by name."""

    id: UUID
    name: str
    kind: EndpointKind
    template: str | None
    url: str | None
    region: str
    retention: str
    classification_ceiling: Classification
    tenants: tuple[UUID, ...] | None
    has_api_key: bool
    created_at: datetime
    updated_at: datetime
    revision: RowRevision


class ModelPrice(Schema):
    """Millionths of the installation's currency for a million tokens read and written."""

    input_micros: Micros = 0
    output_micros: Micros = 0


class RoleParameters(Schema):
    """What tells a model which side of a search a text is on.

    `task_type` and `input_type` are parameters of providers; `text_prefix` is put before each text.
    """

    task_type: Parameter | None = None
    input_type: Parameter | None = None
    text_prefix: Parameter | None = None


class ModelRoles(Schema):
    """How the two sides of a search are told apart; absent, they are not."""

    document: RoleParameters | None = None
    query: RoleParameters | None = None


class ModelFusion(Schema):
    """How hits join the keyword leg's: the share of this model, and the cosine that means nothing yet."""

    dense_weight: Share
    dense_floor: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0


class NewModel(Schema):
    """A model on an endpoint that serves the tenant; it may only narrow what the endpoint allows.

    Absent `provider_model` is the name, absent ceiling and region are the endpoint's. `dimensions` lists
    what may be asked for, the default first; embeddings need it, nothing else has it. `revision` is your
    word for the weights: another one says that the same text gives another vector. On an endpoint from a
    template, an embedding model has whatever else is absent from the template.
    """

    name: ModelName
    endpoint: EndpointName
    capability: Capability
    provider_model: ProviderModel | None = None
    dimensions: Dimensions | None = None
    context_tokens: Tokens | None = None
    classification_ceiling: Classification | None = None
    region: Region | None = None
    price: ModelPrice = ModelPrice()
    roles: ModelRoles | None = None
    fusion: ModelFusion | None = None
    revision: ModelRevision = "1"
    enabled: Flag = True


class ProviderTemplateOut(Schema):
    """A provider that is known by name, with what a model on its endpoint has unless registered otherwise.

    `url` null is your own: the provider's where you have it, or with `is_behind_proxy` a LiteLLM proxy's.
    `roles` is what the default model is told of the two sides of a search.
    """

    name: str
    url: str | None
    needs_api_key: bool
    is_behind_proxy: bool
    default_model: str
    dimensions: tuple[int, ...]
    context_tokens: int
    roles: ModelRoles


class ModelPatch(Schema):
    """What to change; what is not named stays.

    Null makes ceiling and region the endpoint's again, and forgets `context_tokens`; for the rest it
    changes nothing. A shipped model takes `endpoint` and `enabled` only, from a platform operator.
    """

    endpoint: EndpointName | None = None
    provider_model: ProviderModel | None = None
    dimensions: Dimensions | None = None
    context_tokens: Tokens | None = None
    classification_ceiling: Classification | None = None
    region: Region | None = None
    price: ModelPrice | None = None
    roles: ModelRoles | None = None
    fusion: ModelFusion | None = None
    revision: ModelRevision | None = None
    enabled: Flag | None = None


class ModelOut(Schema):
    """A model as it holds for the caller: ceiling and region are the narrower of model and endpoint.

    `endpoint` is null inside this process, and where nobody has said yet where calls go. `dimensions` begins
    with the default. `is_semantic` is false for a stand-in that only compares spelling. Shipped models have
    no dates.
    """

    name: str
    capability: Capability
    provider: str
    provider_model: str
    endpoint: str | None
    dimensions: tuple[int, ...]
    context_tokens: int | None
    classification_ceiling: Classification
    region: str
    retention: str
    price: ModelPrice
    roles: ModelRoles
    fusion: ModelFusion
    revision: str
    enabled: bool
    is_shipped: bool
    is_semantic: bool
    created_at: datetime | None
    updated_at: datetime | None
    row_revision: RowRevision


class KillSwitchPut(Schema):
    """Stop calls, or let them go on."""

    engaged: Flag
    reason: Annotated[
        str,
        AfterValidator(_reason),
        Field(json_schema_extra={"minLength": 1, "maxLength": MAX_REASON_LENGTH}),
    ]


class CallInFlight(Schema):
    """A call that was admitted before, and has not ended."""

    id: UUID
    model: str
    since: datetime


class KillSwitchOut(Schema):
    """A kill switch, and the calls under way in its scope; no further one begins while it is engaged."""

    scope: str
    engaged: bool
    reason: str | None
    engaged_by: UUID | None
    engaged_at: datetime | None
    in_flight: tuple[CallInFlight, ...]
    revision: RowRevision
