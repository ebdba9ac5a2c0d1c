"""The ingestion pipeline, top to bottom. One instance serves every document."""

from typing import Any

from haystack import Pipeline

from eai.audit.service import Audit
from eai.gateway.service import Gateway
from eai.ingestion.components import ComparePassages, EmbedPassages, ExtractText, SplitText, WritePoints
from eai.ingestion.examination import ExamineText
from eai.ingestion.passages import Checkpoint, Indexed, Manuscript
from eai.knowledge.ports import Vectors
from eai.platform.pipelines import run_pipeline


def ingestion_pipeline(
    examine: ExamineText, gateway: Gateway, audit: Audit, compare: ComparePassages, vectors: Vectors
) -> Pipeline:
    """Extract, examine, split, embed, compare, write: from the examination on, what that made of the text."""
    pipeline = Pipeline()
    pipeline.add_component("extract", ExtractText())
    pipeline.add_component("examine", examine)
    pipeline.add_component("split", SplitText())
    pipeline.add_component("embed", EmbedPassages(gateway, audit))
    pipeline.add_component("compare", compare)
    pipeline.add_component("write", WritePoints(vectors))
    pipeline.connect("extract.extract", "examine.extract")
    pipeline.connect("examine.extract", "split.extract")
    pipeline.connect("examine.examined", "compare.examined")
    for stage in ("split", "embed", "compare", "write"):
        pipeline.connect("examine.manuscript", f"{stage}.manuscript")
    pipeline.connect("split.passages", "embed.passages")
    pipeline.connect("embed.embedded", "compare.embedded")
    pipeline.connect("compare.embedded", "write.embedded")
    return pipeline


async def index(pipeline: Pipeline, manuscript: Manuscript, before_batch: Checkpoint) -> Indexed:
    """Run one manuscript through; raises what a stage raised, or `before_batch` before a model is called."""
    inputs: dict[str, dict[str, Any]] = {
        stage: {"manuscript": manuscript} for stage in ("extract", "examine")
    }
    inputs["embed"] = {"before_batch": before_batch}
    answer = await run_pipeline(pipeline, inputs)
    indexed: Indexed = answer["write"]["indexed"]
    return indexed
