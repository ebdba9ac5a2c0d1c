"""What a look of `eai doctor` finds."""

from dataclasses import dataclass

from eai.platform.settings import Settings

DATABASE_FIRST = "the database must answer first"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look found; `mend` says what to do where it is not `ok`."""

    name: str
    ok: bool
    says: str
    mend: str | None = None


def nothing_runs(settings: Settings, name: str) -> Finding:
    """That there is no database to look at."""
    mend = f"start `eai up --home {settings.home}`, or set EAI_DATABASE_URL"
    return Finding(name, ok=False, says="there is none", mend=mend)
