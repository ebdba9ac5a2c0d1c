"""The one way an audit record spells an instant: RFC 3339, UTC, always six decimals."""

from datetime import UTC, datetime


def timestamp(instant: datetime) -> str:
    """`instant` as `2026-01-31T12:00:00.000000Z`; texts of this form sort as their instants do."""
    return f"{instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def read_timestamp(text: str) -> datetime:
    """The instant that `timestamp` spelled. Raises ValueError for any other spelling."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None or timestamp(instant) != text:
        raise ValueError("not a timestamp of this form")
    return instant
