"""What the test provider can be told to do with a request instead of answering it well."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How one request is answered. Without anything set: well.

    status, headers, body: this answer instead. `body` None is an error in OpenAI's form.
    fault: `reset`, `close` (no answer), `half`, `hang`, `endless`, `drip`, `garbage`, `long_headers`.
    wait_s: seconds before anything is answered; `pace_s`: between the pieces of a stream.
    is_held: nothing is answered before `ProviderProcess.go_on` is called.
    change: what is wrong with an otherwise good answer, see `tests/provider/answering.py`:
        dimensions, first (a value for the first number), is_zero, is_shuffled, is_permuted, short, repeats,
        model, tokens, written, id, words (how many), said (these words), packed,
        beyond (rerank: an index that was not sent), cut (a stream that ends without a reason).
    """

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    fault: str | None = None
    wait_s: float = 0.0
    pace_s: float = 0.0
    is_held: bool = False
    change: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
