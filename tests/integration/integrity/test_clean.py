"""An instance on which nobody laid hands has nothing to find."""

from eai.kernel.ids import PLATFORM_TENANT
from tests.integration.integrity.seeded import Seeded


async def test_a_tenant_with_everything_is_clean(seeded: Seeded) -> None:
    examination = await seeded.examine(is_deep=True)
    assert examination.report.findings == ()
    assert examination.failed == ()
    assert examination.report.not_checked == ()
    assert examination.report.examined["documents"] >= 6


async def test_the_platforms_own_tenant_is_clean_and_so_is_the_store_as_a_whole(seeded: Seeded) -> None:
    examination = await seeded.examine(tenant=PLATFORM_TENANT)
    assert (examination.report.findings, examination.failed) == ((), ())
