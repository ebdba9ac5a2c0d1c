"""A backup that is tried out where the live instance's store is configured."""

import base64
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from eai import __version__
from eai.bootstrap import lifecycle
from eai.cli import archive, backup
from eai.cli.archive import DUMP, Manifest
from eai.integrations.postgres import dumps
from eai.integrations.qdrant import connect
from eai.kernel.ids import TenantId
from eai.platform.settings import Environment, load_settings
from tests.conftest import fresh_database
from tests.stack import Stack, running_stack, settings

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: its name is too long for a socket, and for root nobody else can enter it.
    with tempfile.TemporaryDirectory(prefix="eai-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[tuple[Stack, str]]:
    """An instance, and its database as superuser."""
    with fresh_database() as urls:
        async with running_stack(settings(urls.app, tmp_path), is_working=False) as stack:
            yield stack, urls.admin


async def test_a_drill_leaves_every_point_of_the_live_instance(
    live: tuple[Stack, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack, admin_url = live
    company = await stack.company()
    base = await company.base()
    await company.document(base, "What came before the backup.")
    file = await _backed_up(admin_url, folder)
    await company.document(base, "What came after the backup.")
    await company.document(await company.base(), "So did this base.")
    vectors = stack.platform.vectors
    before = {space: await vectors.generations(space) for space in await vectors.spaces()}
    socket = stack.platform.settings.engine_socket
    monkeypatch.setattr(lifecycle, "_vectors", lambda _: connect(None, None, socket))
    environ = {
        "EAI_ENV": "dev",
        "EAI_HOME": str(folder / "drill"),
        "EAI_QDRANT_URL": "http://live",
        "EAI_MASTER_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
    }
    drill = load_settings(environ, default_environment=Environment.DEV)
    outcomes = await backup._restored(environ, drill, file)
    codes = {None if each.refused is None else each.refused.code for each in outcomes}
    assert codes == {"vector_store_not_ours"}
    assert {space: await vectors.generations(space) for space in before} == before
    examination = await stack.platform.integrity.examine(TenantId(UUID(company.id)))
    assert examination.report.findings == ()


async def _backed_up(admin_url: str, folder: Path) -> Path:
    dump = folder / DUMP
    await dumps.dump(admin_url, dump)
    digests = {DUMP: archive.digest_of(dump)}
    revision = await backup._revision(admin_url)
    file = folder / f"{uuid4()}.tar"
    archive.write(file, Manifest(__version__, revision, "2026-01-01T00:00:00+00:00", digests), {DUMP: dump})
    return file
