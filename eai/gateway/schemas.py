"""Requests to models as clients write them. What the registration pinned has no field here.

Every other field is refused by its name: a request says what is asked, never where it goes or with
which key.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, WithJsonSchema
from pydantic_core import PydanticCustomError

from eai.access.classification import Classification, highest
from eai.access.subject import PrincipalKind, Subject
from eai.gateway.calls import Caller, ChatCall, EmbeddingCall, Operation, RerankCall
from eai.gateway.ports import ChatMessage, EmbeddingRole
from eai.identity.errors import ClearanceExceeded
from eai.kernel.canonical import nfc
from eai.tenants.schemas import Schema

DEFAULT_LEVEL = Classification.INTERNAL
"""The level of a text of which nobody says another."""

MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_TEXT_LENGTH = 100_000
MAX_INPUTS = 2_048
MAX_DOCUMENTS = 1_000
MAX_MESSAGES = 500
MAX_OUTPUT_TOKENS = 32_768
DEFAULT_OUTPUT_TOKENS = 1_024
_MOST_DIMENSIONS = 16_384

Label = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\w.:/@-]+$"), AfterValidator(nfc)]


class Labels(BaseModel):
    """What a piece of work is charged to, besides its tenant; ends in usage events and audit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project: Label | None = None
    agent: Label | None = None
    run: Label | None = None

    def given(self) -> dict[str, str]:
        """The labels that were set."""
        return self.model_dump(exclude_none=True)

    def of(self, subject: Subject) -> dict[str, str]:
        """The labels that were set; an agent's own credential says which agent it is."""
        own = {"agent": str(subject.principal)} if subject.kind is PrincipalKind.AGENT else {}
        return self.given() | own


def _said(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("text_blank", "Text should not be blank")
    return text


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_LENGTH}
_TEXTS = {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": MAX_INPUTS}

# The slash is for names as other gateways write them: that none is found says more than a refused form.
ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$")]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_LENGTH), AfterValidator(_said)]
Texts = Annotated[
    list[Text],
    Field(min_length=1, max_length=MAX_INPUTS),
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [_TEXT, _TEXTS]}),
]
Dimensions = Annotated[int, Field(ge=1, le=_MOST_DIMENSIONS, strict=True)]
OutputTokens = Annotated[int, Field(ge=1, le=MAX_OUTPUT_TOKENS, strict=True)]
Temperature = Annotated[float, Field(ge=0, le=2, strict=True, allow_inf_nan=False)]


class ModelRequest(Schema):
    """What every request names. `classification` is the level of its texts.

    It is never below `internal`; what DLP finds in the texts may raise it, nothing lowers it.
    """

    model: ModelName
    classification: Classification | None = None
    labels: Labels = Labels()

    def terms(self, subject: Subject) -> Mapping[str, Any]:
        """What every call has in common. Raises ClearanceExceeded for a level above the caller's own."""
        declared = self.classification
        if declared is not None and declared.exceeds(subject.clearance):
            raise ClearanceExceeded(clearance=subject.clearance.value)
        return {
            "caller": Caller.of(subject),
            "model": self.model,
            "operation": Operation.CLIENT,
            "level": highest(DEFAULT_LEVEL, declared),
            "labels": self.labels.of(subject),
        }


class EmbeddingRequest(ModelRequest):
    """A text, or several, to embed. `role` is the side of a search they are on."""

    input: Texts
    dimensions: Dimensions | None = None
    role: EmbeddingRole = EmbeddingRole.DOCUMENT

    def call(self, subject: Subject) -> EmbeddingCall:
        """The request as `subject` makes it. Raises ClearanceExceeded."""
        return EmbeddingCall(
            **self.terms(subject), inputs=self.input, role=self.role, dimensions=self.dimensions
        )


class RerankRequest(ModelRequest):
    """Documents to be put in the order in which they answer `query`; the best `top_n` of them are told."""

    query: Text
    documents: Annotated[list[Text], Field(min_length=1, max_length=MAX_DOCUMENTS)]
    top_n: Annotated[int, Field(ge=1, le=MAX_DOCUMENTS, strict=True)] | None = None
    return_documents: StrictBool = False

    def call(self, subject: Subject) -> RerankCall:
        """The request as `subject` makes it. Raises ClearanceExceeded."""
        return RerankCall(**self.terms(subject), query=self.query, documents=self.documents)


class Message(Schema):
    """One turn of a conversation."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[str, Field(max_length=MAX_TEXT_LENGTH)]


class ChatRequest(ModelRequest):
    """A conversation to be continued by at most `max_tokens` tokens; with `stream`, in pieces."""

    messages: Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]
    max_tokens: OutputTokens = DEFAULT_OUTPUT_TOKENS
    temperature: Temperature | None = None
    stream: StrictBool = False

    def call(self, subject: Subject) -> ChatCall:
        """The request as `subject` makes it. Raises ClearanceExceeded."""
        return ChatCall(
            **self.terms(subject),
            messages=[ChatMessage(message.role, message.content) for message in self.messages],
            max_tokens=self.max_tokens,
            temperature=self.temperature,
        )
