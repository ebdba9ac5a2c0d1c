"""One effect per idempotency key, and the same answer to every repetition."""

from eai.api.idempotency.records import Claim, Replay, replay
from eai.api.idempotency.service import Idempotency

__all__ = ["Claim", "Idempotency", "Replay", "replay"]
