"""The retrieval pipeline, top to bottom. One instance serves every query."""

from haystack import Pipeline

from eai.access.visibility import may_read
from eai.gateway.service import Gateway
from eai.knowledge.ports import Vectors
from eai.platform.pipelines import run_pipeline
from eai.retrieval.components import CitePassages, EmbedQuestion, FuseLegs, RecheckPassages, SearchIndex
from eai.retrieval.recheck import Rule
from eai.retrieval.repository import QueryRows
from eai.retrieval.values import Cited, Question


def retrieval_pipeline(
    rows: QueryRows, gateway: Gateway, vectors: Vectors, *, store: str, rule: Rule = may_read
) -> Pipeline:
    """Embed, search, fuse, re-check, cite."""
    pipeline = Pipeline()
    pipeline.add_component("embed", EmbedQuestion(gateway))
    pipeline.add_component("search", SearchIndex(rows, vectors, store))
    pipeline.add_component("fuse", FuseLegs())
    pipeline.add_component("recheck", RecheckPassages(rows, rule))
    pipeline.add_component("cite", CitePassages())
    pipeline.connect("embed.question", "search.question")
    pipeline.connect("search.found", "fuse.found")
    pipeline.connect("fuse.ranked", "recheck.ranked")
    pipeline.connect("recheck.readable", "cite.readable")
    return pipeline


async def run_pass(pipeline: Pipeline, question: Question) -> Cited:
    """One pass of a question; raises what a stage raised."""
    answer = await run_pipeline(pipeline, {"embed": {"question": question}})
    cited: Cited = answer["cite"]["cited"]
    return cited
