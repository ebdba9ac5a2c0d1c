from dataclasses import replace

import pytest
from hypothesis import given

from eai.access.acl import BaseRights
from eai.access.classification import LEVELS, Classification
from eai.access.subject import EVERYONE, Subject
from eai.access.visibility import PassageRights, may_read
from tests.unit.access.strategies import (
    ALICE,
    GROUPS,
    OTHER_TENANT,
    TENANT,
    base_rights_values,
    passages,
    subjects,
)
from tests.unit.access.test_subject import SUBJECT

READER = BaseRights(can_see=True, can_read_passages=True, can_write=False, can_manage=False)
ADMINISTRATOR = BaseRights(can_see=True, can_read_passages=False, can_write=True, can_manage=True)
OPEN = PassageRights(
    tenant=TENANT,
    document_readers=None,
    chunk_readers=None,
    classification=Classification.INTERNAL,
    is_live=True,
    is_source_enabled=True,
)
ME = frozenset({f"agent:{ALICE}"})
MY_GROUP = frozenset({f"group:{GROUPS[0]}"})
STRANGER = frozenset({f"group:{GROUPS[2]}"})
NOBODY: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("base", "passage", "expected"),
    [
        (READER, OPEN, True),
        (READER, replace(OPEN, classification=Classification.PUBLIC), True),
        (READER, replace(OPEN, document_readers=ME), True),
        (READER, replace(OPEN, document_readers=frozenset({EVERYONE})), True),
        (READER, replace(OPEN, document_readers=MY_GROUP, chunk_readers=ME), True),
        (READER, replace(OPEN, tenant=OTHER_TENANT), False),
        (ADMINISTRATOR, OPEN, False),
        (READER, replace(OPEN, is_live=False), False),
        (READER, replace(OPEN, is_source_enabled=False), False),
        (READER, replace(OPEN, classification=Classification.CONFIDENTIAL), False),
        (READER, replace(OPEN, document_readers=STRANGER), False),
        (READER, replace(OPEN, document_readers=NOBODY), False),
        (READER, replace(OPEN, chunk_readers=NOBODY), False),
        (READER, replace(OPEN, document_readers=ME, chunk_readers=STRANGER), False),
        (READER, replace(OPEN, document_readers=STRANGER, chunk_readers=ME), False),
        (READER, replace(OPEN, document_readers=frozenset({f"user:{ALICE}"})), False),
    ],
)
def test_the_rule_as_a_table(base: BaseRights, passage: PassageRights, *, expected: bool) -> None:
    assert may_read(SUBJECT, base, passage) is expected


@given(subjects, base_rights_values, passages)
def test_a_denied_passage_stays_denied_when_clearance_shrinks(
    subject: Subject, base: BaseRights, passage: PassageRights
) -> None:
    if may_read(subject, base, passage):
        return
    for lower in LEVELS[: subject.clearance.rank]:
        assert not may_read(replace(subject, clearance=lower), base, passage)


@given(subjects, base_rights_values, passages)
def test_readers_on_a_passage_only_ever_narrow(
    subject: Subject, base: BaseRights, passage: PassageRights
) -> None:
    if may_read(subject, base, passage):
        assert may_read(subject, base, replace(passage, document_readers=None))
        assert may_read(subject, base, replace(passage, chunk_readers=None))


@given(subjects, base_rights_values, passages)
def test_another_tenants_passage_is_never_shown(
    subject: Subject, base: BaseRights, passage: PassageRights
) -> None:
    assert not may_read(subject, base, replace(passage, tenant=OTHER_TENANT))


@given(subjects, base_rights_values, passages)
def test_leaving_every_group_never_shows_more(
    subject: Subject, base: BaseRights, passage: PassageRights
) -> None:
    alone = replace(subject, groups=frozenset())
    assert not may_read(alone, base, passage) or may_read(subject, base, passage)


@given(subjects, passages)
def test_who_may_not_read_the_base_reads_none_of_it(subject: Subject, passage: PassageRights) -> None:
    assert not may_read(subject, ADMINISTRATOR, passage)
