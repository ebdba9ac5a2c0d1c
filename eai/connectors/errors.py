"""Why a document may not be stamped with a source."""

from enum import StrEnum

from eai.kernel.errors import Forbidden, InvalidInput


class Refusal(StrEnum):
    """What stands against a stamp."""

    CREDENTIAL = "credential"
    DISABLED = "disabled"
    CLASSIFICATION = "classification"


class SourceConnectorUnknown(InvalidInput):
    """The tenant has no source connector of that name."""

    code = "source_connector_unknown"


class SourceConnectorRefused(Forbidden):
    """The connector does not take this: another's credential, switched off, or a level it does not bring."""

    code = "source_connector_refused"
    noted = ("connector", "reason")

    def __init__(self, *, connector: str, reason: Refusal) -> None:
        super().__init__(connector=connector, reason=reason.value)
