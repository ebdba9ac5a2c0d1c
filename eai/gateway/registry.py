"""What is registered: endpoints that calls may go to, and the models behind them, as one tenant sees both."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from eai.access.classification import Classification
from eai.gateway.ports import EmbeddingRole, FusionRule


class Capability(StrEnum):
    """What a model can be asked for."""

    EMBEDDINGS = "embeddings"
    RERANK = "rerank"
    CHAT = "chat"


class EndpointKind(StrEnum):
    """How an endpoint is spoken to; `litellm` is a proxy, or the library in here for one with a template."""

    OPENAI = "openai"
    LITELLM = "litellm"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a provider keeps what it is sent: `days` is 0 for not at all, None for unknown."""

    days: int | None

    @classmethod
    def parse(cls, text: str) -> "Retention":
        """From `none`, `unknown` or `days:<n>`. Raises ValueError."""
        if text == "unknown":
            return cls(None)
        if text == "none":
            return cls(0)
        word, found, number = text.partition(":")
        if word != "days" or not found or not number.isdecimal() or not 0 < int(number) <= _LONGEST_DAYS:
            raise ValueError(text)
        return cls(int(number))

    def __str__(self) -> str:
        return {None: "unknown", 0: "none"}.get(self.days, f"days:{self.days}")


_LONGEST_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider as `platform:admin` approved it; `sealed_key` is opened at the last step only.

    `template` names the provider that its key is for, where it was approved as one of those known by name.
    """

    id: UUID
    name: str
    kind: EndpointKind
    url: str | None
    region: str
    retention: Retention
    classification_ceiling: Classification
    sealed_key: bytes | None = None
    template: str | None = None


_EVEN = FusionRule(dense_weight=0.5)


@dataclass(frozen=True, slots=True)
class Price:
    """Millionths of the installation's currency for a million tokens read and written."""

    input_micros: int = 0
    output_micros: int = 0

    def of(self, read: int, written: int = 0) -> int:
        """What so many tokens cost, in millionths, rounded up."""
        return -(-(read * self.input_micros + written * self.output_micros) // 1_000_000)


@dataclass(frozen=True, slots=True)
class Model:
    """A model as a tenant may use it: its own bounds are already the narrower of model and endpoint.

    `endpoint` is None for a model inside this process. `dimensions` lists what may be asked for, the
    default first; empty for a model without vectors. `revision` and `preprocessing` change whenever the
    same text would give another vector. `roles` holds the request parameters of each side of a search.
    `is_semantic` is false for a stand-in that only compares spelling.
    """

    name: str
    capability: Capability
    provider: str
    provider_model: str
    classification_ceiling: Classification
    region: str
    retention: Retention
    endpoint: Endpoint | None = None
    revision: str = "1"
    preprocessing: str = "1"
    dimensions: tuple[int, ...] = ()
    context_tokens: int | None = None
    price: Price = Price()
    roles: Mapping[EmbeddingRole, Mapping[str, str]] = field(default_factory=dict)
    fusion: FusionRule = _EVEN
    is_enabled: bool = True
    is_shipped: bool = False
    is_semantic: bool = True
    allowed_in_production: bool = True

    @property
    def is_local(self) -> bool:
        """Whether a call opens no connection."""
        return self.endpoint is None


class Switch:
    """The names of kill switches, as rows and routes write them."""

    INSTANCE = "instance"
    TENANT = "tenant"

    @staticmethod
    def model(name: str) -> str:
        return f"model:{name}"

    @staticmethod
    def provider(name: str) -> str:
        return f"provider:{name}"
