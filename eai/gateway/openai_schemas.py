"""The same requests as OpenAI's clients write them, as far as they mean something here.

A field that would change the answer and is not known here is refused by its name; ignoring it would be a
silent change. What says only who asks, or how the answer is written, is accepted.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool, ValidationInfo, WithJsonSchema, field_validator
from pydantic_core import PydanticCustomError

from eai.access.subject import Subject
from eai.gateway.calls import ChatCall
from eai.gateway.ports import ChatMessage
from eai.gateway.schemas import (
    DEFAULT_OUTPUT_TOKENS,
    MAX_MESSAGES,
    MAX_TEXT_LENGTH,
    EmbeddingRequest,
    Message,
    ModelRequest,
    OutputTokens,
    Temperature,
)
from eai.tenants.schemas import Schema

_MOST_PARTS = 100

User = Annotated[str, Field(max_length=512)]
"""Whom the caller serves. It is read and left: who asks is who holds the key."""


def _joined(content: Any) -> Any:
    """The text of a message that comes in parts; parts that are no text are left to be refused."""
    if not isinstance(content, list) or not 0 < len(content) <= _MOST_PARTS:
        return content
    texts = [_text_of(part) for part in content]
    return content if None in texts else "\n".join(text for text in texts if text is not None)


def _text_of(part: Any) -> str | None:
    is_text = isinstance(part, dict) and part.keys() == {"type", "text"} and part["type"] == "text"
    return part["text"] if is_text and isinstance(part["text"], str) else None


_TEXT = {"type": "string", "maxLength": MAX_TEXT_LENGTH}
_PART = {
    "type": "object",
    "properties": {"type": {"const": "text"}, "text": _TEXT},
    "required": ["type", "text"],
    "additionalProperties": False,
}
_PARTS = {"type": "array", "items": _PART, "minItems": 1, "maxItems": _MOST_PARTS}


class OpenAIEmbeddingRequest(EmbeddingRequest):
    """`POST /embeddings` of OpenAI, and the fields of this gateway."""

    encoding_format: Literal["float", "base64"] = "float"
    user: User | None = None


class OpenAIMessage(Message):
    """A turn whose text may come in parts."""

    content: Annotated[
        str,
        Field(max_length=MAX_TEXT_LENGTH),
        BeforeValidator(_joined),
        WithJsonSchema({"anyOf": [_TEXT, _PARTS]}),
    ]


class StreamOptions(Schema):
    """Whether a last piece tells what the answer took."""

    include_usage: StrictBool = False
    include_obfuscation: StrictBool = False


class OpenAIChatRequest(ModelRequest):
    """`POST /chat/completions` of OpenAI, and the fields of this gateway."""

    messages: Annotated[list[OpenAIMessage], Field(min_length=1, max_length=MAX_MESSAGES)]
    max_tokens: OutputTokens | None = None
    max_completion_tokens: OutputTokens | None = None
    temperature: Temperature | None = None
    stream: StrictBool | None = None
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    store: Literal[False] | None = None
    user: User | None = None

    @field_validator("max_completion_tokens")
    @classmethod
    def _bounds_once(cls, value: int | None, others: ValidationInfo) -> int | None:
        if value is not None and others.data.get("max_tokens") is not None:
            raise PydanticCustomError("bounded_twice", "Only one of max_tokens and max_completion_tokens")
        return value

    @property
    def tells_usage(self) -> bool:
        """Whether a stream ends with what it took."""
        return self.stream_options is not None and self.stream_options.include_usage

    def call(self, subject: Subject) -> ChatCall:
        """The request as `subject` makes it. Raises ClearanceExceeded."""
        return ChatCall(
            **self.terms(subject),
            messages=[ChatMessage(message.role, message.content) for message in self.messages],
            max_tokens=self.max_completion_tokens or self.max_tokens or DEFAULT_OUTPUT_TOKENS,
            temperature=self.temperature,
        )
