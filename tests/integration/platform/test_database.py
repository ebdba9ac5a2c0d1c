"""What callers get of a database that does not answer."""

import asyncio
import socket
from collections.abc import Iterator
from uuid import uuid4

import pytest
from psycopg.conninfo import conninfo_to_dict

from eai.kernel.ids import TenantId
from eai.platform.database import Database, DatabaseUnavailable


@pytest.fixture
def silent_url() -> Iterator[str]:
    """A host that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"postgresql://eai_app@127.0.0.1:{listener.getsockname()[1]}/eai"


async def test_a_host_that_never_answers_is_given_up_within_the_connect_timeout(silent_url: str) -> None:
    database = Database(silent_url, checkout_timeout_s=0.2, connect_timeout_s=1)
    async with asyncio.timeout(10):
        with pytest.raises(DatabaseUnavailable):
            async with database.transaction(TenantId(uuid4())):
                pytest.fail("there is nobody there")
    await database.close()


def test_a_timeout_in_the_url_itself_stands(silent_url: str) -> None:
    database = Database(f"{silent_url}?connect_timeout=9&application_name=it", connect_timeout_s=1)
    told = conninfo_to_dict(database.conninfo)
    assert (told["application_name"], told["connect_timeout"]) == ("it", "9")
