"""A bit of the index flips on the disk: it differs from its row, and is made anew (fault 18)."""

from pathlib import Path
from uuid import UUID

import numpy as np

from eai.access.rights_class import generation_key
from eai.cli.fsck import CLEAN, FOUND, Examiner, code_of
from eai.kernel.ids import GenerationId, TenantId
from eai.knowledge.ports import Selector, SpaceId
from tests.integration.kills.dying import Order
from tests.integration.kills.mortals import Mortals
from tests.invariants import Judge
from tests.stack import Company, Json, Stack

QUESTION = {"query": "refunds", "mode": "vector"}


async def test_a_flipped_bit_of_a_vector_is_found_and_the_vector_made_anew(
    workless: Stack, mortals: Mortals, company: Company, judge: Judge
) -> None:
    base, tenant = await company.base(), TenantId(UUID(company.id))
    for days in ("two", "six"):
        await company.document(base, f"Refunds are paid within {days} days.")
    before = await shown(company, base)
    vector = await stored_vector(workless, company, base)
    engine, examiner = workless.engine, Examiner(workless.platform)
    await engine.stop()
    flip_a_bit(workless.platform.settings.engine_folder, vector)
    await engine.start()
    # Texts and rights are of rows: they are what they were, whatever the index says.
    assert {hit["content"] for hit in await shown(company, base)} == {hit["content"] for hit in before}

    found = await examiner.examine(tenant, repairs=False, is_deep=True)
    assert code_of([found]) == FOUND
    assert [(each.kind, each.count) for each in found.report.findings] == [("point_vector_wrong", 1)]
    mended = await examiner.examine(tenant, repairs=True, is_deep=True)
    assert (code_of([mended]), mended.mended) == (CLEAN, {"point_vector_wrong": 1})
    assert await shown(company, base) == before
    async with mortals.born(Order("worker")):
        await judge.judge(company.id)


async def shown(company: Company, base: str) -> list[Json]:
    """What a question is shown, but for what counts questions."""
    answer = await company.admin.made(f"/v1/knowledge-bases/{base}/query", QUESTION, status=200)
    return [{"content": hit["content"], "score": hit["vector_score"]} for hit in answer["results"]]


async def stored_vector(stack: Stack, company: Company, base: str) -> bytes:
    """One of them, as it lies in the engine's files."""
    made = await company.admin.got(f"/v1/knowledge-bases/{base}")
    key = generation_key(TenantId(UUID(company.id)), GenerationId(UUID(made["vector_generation"])))
    space = SpaceId(made["vector_collection"], made["dimensions"])
    page = await stack.platform.vectors.scan(space, Selector(key), limit=1, with_vectors=True)
    dense = page.points[0].dense
    assert dense is not None
    return np.asarray(dense, "<f4").tobytes()


def flip_a_bit(folder: Path, vector: bytes) -> None:
    """The lowest bit of an exponent: one number of the vector is half or twice what it was."""
    numbers = np.frombuffer(vector, "<f4")
    place = int(np.flatnonzero(numbers)[0]) * 4 + 2
    for file in folder.rglob("vector_storage*/vectors/chunk_*"):
        content = file.read_bytes()
        if (at := content.find(vector)) >= 0:
            with file.open("r+b") as opened:
                opened.seek(at + place)
                opened.write(bytes([vector[place] ^ 0x80]))
            return
    raise AssertionError("the engine has no such vector")
