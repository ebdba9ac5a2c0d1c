"""What an examination must not do, however much there is to look at."""

import threading
from typing import Any
from uuid import uuid4

import pytest

from eai.integrity import statistics, work_rows
from eai.integrity.findings import Found, Kind
from eai.integrity.repository import ExaminationRows
from eai.knowledge.lexical import Language, analyse_document
from tests.integration.integrity.seeded import Seeded


@pytest.mark.parametrize("kind", [Kind.DOCUMENT_STUCK, Kind.DELETION_UNFINISHED])
async def test_what_waits_is_not_held_against_jobs_one_by_one(seeded: Seeded, kind: Kind) -> None:
    rule = work_rows.RULES[kind].replace(":tenant", "%(tenant)s")
    # Only where nothing else can be done does a plan keep what is forbidden here.
    await seeded.rows("SET enable_nestloop = off")
    plan = await seeded.rows(f"EXPLAIN {rule}")
    await seeded.rows("RESET enable_nestloop")
    steps = [row["QUERY PLAN"].strip() for row in plan]
    assert [step for step in steps if "Nested Loop" in step and "Anti" in step] == []
    assert len([step for step in steps if "Anti Join" in step]) == 2


async def test_passages_are_analysed_beside_the_event_loop(
    seeded: Seeded, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set()

    def noted(text: str, language: Language) -> Any:
        threads.add(threading.get_ident())
        return analyse_document(text, language)

    monkeypatch.setattr(statistics, "analyse_document", noted)
    assert await seeded.kinds(is_deep=True) == set()
    assert threads
    assert threading.get_ident() not in threads


async def test_the_classes_of_a_tenant_are_read_once_for_all_that_are_mended(
    seeded: Seeded, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    read = ExaminationRows.classes

    async def counted(rows: ExaminationRows) -> Any:
        reads.append(rows)
        return await read(rows)

    await seeded.rows("UPDATE eai.kb_rights_classes SET digest = sha256(digest) WHERE tenant_id = %(tenant)s")
    examination = await seeded.examine()
    found = [each for each in examination.found if each.kind is Kind.RIGHTS_CLASS_WRONG]
    assert len(found) > 1
    gone = Found(Kind.RIGHTS_CLASS_WRONG, "gone", (uuid4(), 1))
    monkeypatch.setattr(ExaminationRows, "classes", counted)
    await seeded.platform.integrity_jobs._mending._mend_classes(seeded.tenant, [*found, gone])
    assert len(reads) == 1
    monkeypatch.undo()
    assert await seeded.kinds() == set()
