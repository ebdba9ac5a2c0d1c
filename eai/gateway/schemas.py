"""Values of the gateway that travel over HTTP."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Label = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\w.:/@-]+$")]


class Labels(BaseModel):
    """What a piece of work is charged to, besides its tenant; ends in usage events and audit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project: Label | None = None
    agent: Label | None = None
    run: Label | None = None

    def given(self) -> dict[str, str]:
        """The labels that were set."""
        return self.model_dump(exclude_none=True)
