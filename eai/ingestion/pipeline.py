"""The ingestion pipeline, top to bottom. One instance serves every document."""

from typing import Any

from haystack import Pipeline

from eai.audit.service import Audit
from eai.gateway.service import Gateway
from eai.ingestion.components import EmbedPassages, ExtractText, SplitText, WritePoints
from eai.ingestion.examination import ExamineText
from eai.ingestion.passages import Checkpoint, Indexed, Manuscript
from eai.knowledge.ports import Vectors
from eai.platform.pipelines import run_pipeline
from eai.quarantine.service import Quarantine


def ingestion_pipeline(quarantine: Quarantine, gateway: Gateway, audit: Audit, vectors: Vectors) -> Pipeline:
    """Extract, examine, split, embed, write."""
    pipeline = Pipeline()
    pipeline.add_component("extract", ExtractText())
    pipeline.add_component("examine", ExamineText(quarantine))
    pipeline.add_component("split", SplitText())
    pipeline.add_component("embed", EmbedPassages(gateway, audit))
    pipeline.add_component("write", WritePoints(vectors))
    pipeline.connect("extract.extract", "examine.extract")
    pipeline.connect("examine.extract", "split.extract")
    pipeline.connect("split.passages", "embed.passages")
    pipeline.connect("embed.embedded", "write.embedded")
    return pipeline


async def index(pipeline: Pipeline, manuscript: Manuscript, before_batch: Checkpoint) -> Indexed:
    """Run one manuscript through; raises what a stage raised, or `before_batch` before a model is called."""
    stages = ("extract", "examine", "split", "embed", "write")
    inputs: dict[str, dict[str, Any]] = {stage: {"manuscript": manuscript} for stage in stages}
    inputs["embed"]["before_batch"] = before_batch
    answer = await run_pipeline(pipeline, inputs)
    indexed: Indexed = answer["write"]["indexed"]
    return indexed
