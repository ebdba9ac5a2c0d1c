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
    CacheSettings,
    DatabaseSettings,
    EgressSettings,
    Environment,
    HttpSettings,
    KeySettings,
    ModelSettings,
    PolicySettings,
    QdrantSettings,
    Settings,
    WorkerSettings,
)

__all__ = [
    "AuditSettings",
    "CacheSettings",
    "DatabaseSettings",
    "EgressSettings",
    "Environment",
    "HttpSettings",
    "KeySettings",
    "ModelSettings",
    "PolicySettings",
    "QdrantSettings",
    "Settings",
    "SettingsError",
    "Variable",
    "WorkerSettings",
    "load_settings",
    "process_environ",
    "variables",
]
