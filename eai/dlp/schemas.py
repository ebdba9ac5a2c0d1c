"""Scans as clients ask for them, and what they are told."""

from typing import Annotated

from pydantic import Field

from eai.access.classification import Classification
from eai.tenants.dlp_rules import DlpAction, DlpEntity
from eai.tenants.schemas import Schema

MAX_TEXT_LENGTH = 1_000_000
MAX_TEXTS = 1_000

ScannedText = Annotated[str, Field(max_length=MAX_TEXT_LENGTH)]


class ScanRequest(Schema):
    """Texts to be searched as if they followed each other: what a border cuts in two is found."""

    texts: Annotated[list[ScannedText], Field(min_length=1, max_length=MAX_TEXTS)]


class FoundOut(Schema):
    """An entity at `[start, end)` of text number `text`, and what your tenant's rules let follow from it."""

    entity: DlpEntity
    text: int
    start: int
    end: int
    action: DlpAction


class ScanOut(Schema):
    """What was found, and what follows from all of it.

    `action` is the strictest consequence, `classification` the level that the texts are at least worth; null
    for none. `texts` are those that were sent, with `[<entity>]` in place of what is to be redacted.
    """

    findings: list[FoundOut]
    action: DlpAction | None
    classification: Classification | None
    texts: list[str]
