"""Values of the gateway that travel over HTTP."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from eai.kernel.canonical import nfc

Label = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\w.:/@-]+$"), AfterValidator(nfc)]


class Labels(BaseModel):
    """What a piece of work is charged to, besides its tenant; ends in usage events and audit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project: Label | None = None
    agent: Label | None = None
    run: Label | None = None

    def given(self) -> dict[str, str]:
        """The labels that were set."""
        return self.model_dump(exclude_none=True)
