"""A streamed answer: its pieces as they come, and what was produced so far however it ends."""

from collections.abc import AsyncIterator

from eai.gateway.answer_screen import ANSWER_REDACTED, AnswerPieces, AnswerScreen
from eai.gateway.answers import believed_delta, check_model, size_of
from eai.gateway.calls import Usage
from eai.gateway.errors import ProviderResponseInvalid
from eai.gateway.ledger import Open
from eai.gateway.ports import ProviderDelta


class ChatStream:
    """Iterate once. `usage` is what the provider counted or, where it did not, what was seen."""

    def __init__(self, entry: Open, deltas: AsyncIterator[ProviderDelta], screen: AnswerScreen) -> None:
        self._entry = entry
        self._screen = screen
        screen.entities = entry.answer_entities
        self._deltas = deltas
        self._size = size_of(entry.intent.texts)
        self._most_written = entry.bound.written_tokens
        self._written = 0
        self._counted: Usage | None = None
        self.finish_reason: str | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be known of the call, as far as it has come."""
        redacted = (ANSWER_REDACTED,) if self._screen.is_redacted else ()
        return (*self._entry.intent.warnings, *redacted)

    async def __aiter__(self) -> AsyncIterator[str]:
        """The pieces of the answer, as far as they may be told.

        Raises ModelSubstituted; ProviderResponseInvalid for one cut short; DlpBlocked, ClearanceExceeded and
        DlpUnavailable for one of which no more may be told.
        """
        pieces = AnswerPieces(self._screen)
        async for delta in self._deltas:
            self._take(delta)
            if delta.content and (told := await pieces.take(delta.content)):
                yield told
        if told := await pieces.rest():
            yield told
        if self.finish_reason is None:
            raise ProviderResponseInvalid(model=self._entry.intent.name)

    @property
    def usage(self) -> Usage:
        """What the answer took so far."""
        if self._counted is not None:
            return self._counted
        return Usage(self._entry.bound.read_tokens, self._written, is_estimated=True)

    def _take(self, delta: ProviderDelta) -> None:
        delta = believed_delta(delta, self._size, self._most_written)
        if delta.model is not None:
            check_model(self._entry.intent.model, delta.model)
        self._written += len(delta.content.encode())
        self.finish_reason = delta.finish_reason or self.finish_reason
        if delta.read_tokens is not None and delta.written_tokens is not None:
            self._counted = Usage(delta.read_tokens, delta.written_tokens)
        # From here on a failure, or a client that left, is charged for what was produced.
        self._entry.measured = self.usage
