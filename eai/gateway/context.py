"""Whether a call fits into its model's context. Only what certainly does not is told apart here. Pure.

How many tokens a text has is known to the model's own tokenizer alone. None makes less than one of a word
that stands between spaces, so the words are what it has at least.
"""

from collections.abc import Sequence

from eai.gateway.calls import ModelCall


def most_tokens(text: str) -> int:
    """No text has more tokens than bytes, whoever counts them."""
    return len(text.encode())


def excess(call: ModelCall, most: int) -> int | None:
    """The tokens that the call has at least, where these are more than `most`; None where it may fit."""
    room = most - call.most_written
    for together in call.reads:
        if sum(_most_words(text) for text in together) <= room:
            continue
        fewest = _words(together)
        if fewest > room:
            return fewest + call.most_written
    return None


def _words(texts: Sequence[str]) -> int:
    return sum(len(text.split()) for text in texts)


def _most_words(text: str) -> int:
    """What is known without looking: between two words there is a space."""
    return (len(text) + 1) // 2
