"""Everything an operator can choose, read from the environment in one place.

`load_settings` takes the environment as an argument; no field does any work.
"""

from eai.platform.settings.environment import (
    SettingsError,
    Variable,
    load_settings,
    process_environ,
    variables,
)
from eai.platform.settings.tree import (
    AuditSettings,
    DatabaseSettings,
    Environment,
    HttpSettings,
    KeySettings,
    ModelSettings,
    QdrantSettings,
    Settings,
    WorkerSettings,
)

__all__ = [
    "AuditSettings",
    "DatabaseSettings",
    "Environment",
    "HttpSettings",
    "KeySettings",
    "ModelSettings",
    "QdrantSettings",
    "Settings",
    "SettingsError",
    "Variable",
    "WorkerSettings",
    "load_settings",
    "process_environ",
    "variables",
]
