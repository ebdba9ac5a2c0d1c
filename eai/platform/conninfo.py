"""From the URL of a database to what libpq connects with."""

from psycopg.conninfo import make_conninfo
from sqlalchemy import URL, make_url


def libpq_conninfo(url: str | URL) -> str:
    """The connection string for psycopg and for libraries that bring their own pool.

    SQLAlchemy's own reading of the URL is used, so that every pool of a process reaches the same server.
    Its text form would not do: it writes a space as `+`, which libpq takes for a plus.
    """
    read = make_url(url).set(drivername="postgresql+psycopg")
    _, parts = read.get_dialect()().create_connect_args(read)
    return make_conninfo(**parts)
