"""The registry of events."""

import re
from enum import StrEnum, unique

import pytest

from eai.audit.actions import AuditAction


def test_two_actions_can_not_share_a_value() -> None:
    with pytest.raises(ValueError, match="duplicate values"):

        @unique
        class Actions(StrEnum):
            FIRST = "a.b"
            SECOND = "a.b"

    assert len(AuditAction.__members__) == len({action.value for action in AuditAction})


def test_values_are_dotted_words() -> None:
    assert [a.value for a in AuditAction if not re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", a.value)] == []


def test_the_promised_names_are_there() -> None:
    promised = {
        "knowledge.query",
        "knowledge.document.ingest",
        "knowledge_base.reindex.request",
        "knowledge_base.reindex.complete",
        "model.invoke",
    }
    assert promised <= {action.value for action in AuditAction}
