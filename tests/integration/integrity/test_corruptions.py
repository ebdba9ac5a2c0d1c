"""Every corruption is found by its kind, mended where it can be, and named where it cannot."""

import pytest

from eai.integrity.findings import REPAIRABLE, Kind
from eai.kernel.ids import PLATFORM_TENANT
from tests.integration.integrity.corruptions import ALL, Corruption, leave_a_generation
from tests.integration.integrity.seeded import Seeded


async def _spoil(seeded: Seeded, corruption: Corruption) -> None:
    if isinstance(corruption.spoil, str):
        await seeded.rows(corruption.spoil)
    else:
        await corruption.spoil(seeded)


@pytest.mark.parametrize("corruption", ALL, ids=lambda each: each.name.replace(" ", "-"))
async def test_it_is_found_and_mended(seeded: Seeded, corruption: Corruption) -> None:
    is_deep = corruption.is_deep
    async with seeded.kept(*corruption.tables):
        await _spoil(seeded, corruption)
        found = await seeded.kinds(is_deep=is_deep)
        mended = await seeded.repair(is_deep=is_deep)
        after = await seeded.kinds(is_deep=is_deep)
    if corruption.tables and await seeded.kinds(is_deep=is_deep):
        await seeded.repair(is_deep=is_deep)
    assert found == corruption.kinds
    assert set(mended) == (corruption.kinds & REPAIRABLE if corruption.is_mended else set(mended))
    assert after == (set() if corruption.is_mended else corruption.kinds - set(mended))


async def test_points_of_an_unknown_generation_are_found_and_removed(seeded: Seeded) -> None:
    await leave_a_generation(seeded)
    assert await seeded.kinds(tenant=PLATFORM_TENANT) == {"generation_unknown"}
    assert await seeded.repair(tenant=PLATFORM_TENANT) == {"generation_unknown": 1}
    assert await seeded.kinds(tenant=PLATFORM_TENANT) == set()


def test_every_kind_is_met_by_a_corruption() -> None:
    met = {kind for corruption in ALL for kind in corruption.kinds}
    assert {str(kind) for kind in Kind} - met == {"generation_unknown", "store_not_ours"}
    assert len(ALL) >= 50


async def test_a_base_that_follows_its_generation_cuts_as_that_does(seeded: Seeded) -> None:
    cuts = "SELECT chunk_size, chunk_overlap FROM eai.knowledge_bases WHERE id = %(base)s"
    (before,) = await seeded.rows(cuts)
    await seeded.rows(
        "UPDATE eai.knowledge_bases SET chunk_size = 333, chunk_overlap = 33, embedding_model = 'other' "
        "WHERE id = %(base)s"
    )
    assert await seeded.repair() == {"base_generation_wrong": 1}
    assert await seeded.rows(cuts) == [before]


async def test_a_generation_that_does_not_say_how_it_was_cut_agrees_with_its_base(seeded: Seeded) -> None:
    async with seeded.kept("kb_generations"):
        await seeded.rows("UPDATE eai.kb_generations SET chunk_size = NULL, chunk_overlap = NULL")
        assert await seeded.kinds() == set()
