"""The one place that runs Haystack pipelines."""

from typing import Any

from haystack import Pipeline
from haystack.core.errors import PipelineRuntimeError


class AsynchronousOnly(NotImplementedError):
    """A stage that waits has no blocking twin; Haystack asks for its `run` and never calls it here."""


async def run_pipeline(pipeline: Pipeline, inputs: dict[str, Any]) -> dict[str, Any]:
    """Run `pipeline` on `inputs`; what a component raised arrives as it was raised.

    Haystack's own error carries the inputs in its text, so it never leaves this function.
    """
    try:
        return await pipeline.run_async(inputs)
    except PipelineRuntimeError as error:
        raise (error.__cause__ or error) from None
