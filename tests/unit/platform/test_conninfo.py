"""What libpq is given is what the URL says, whatever characters it takes."""

from urllib.parse import quote

import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import make_url

from eai.platform.conninfo import libpq_conninfo

ODD = "a b+c%é'\\:/@?&="


def test_no_part_is_changed_on_the_way() -> None:
    odd = quote(ODD, safe="")
    url = f"postgresql://{odd}:{odd}@/{odd}?host=/tmp/{odd}/run&connect_timeout=5"
    wanted = {"user": ODD, "password": ODD, "dbname": ODD, "host": f"/tmp/{ODD}/run", "connect_timeout": "5"}
    assert conninfo_to_dict(libpq_conninfo(url)) == wanted
    assert conninfo_to_dict(libpq_conninfo(make_url(url))) == wanted


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_every_scheme_of_the_settings_is_read(scheme: str) -> None:
    assert libpq_conninfo(f"{scheme}://eai_app:pw@[::1]:5433/eai") == (
        "host=::1 dbname=eai user=eai_app password=pw port=5433"
    )


def test_several_servers_stay_several() -> None:
    found = conninfo_to_dict(libpq_conninfo("postgresql://eai_app@/eai?host=one:1&host=two:2"))
    assert (found["host"], found["port"]) == ("one,two", "1,2")
