"""Who writes what a form describes."""

from enum import StrEnum


class Way(StrEnum):
    """Whether clients send it or are answered it, which decides what a change of it breaks."""

    SENT = "sent"
    ANSWERED = "answered"
