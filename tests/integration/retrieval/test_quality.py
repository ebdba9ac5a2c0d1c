"""The promise of the fusion rules on a public set; `benchmarks.retrieval_quality` measures all of them."""

import pytest

from benchmarks.evaluation_sets import EvaluationSet, folder, load, quality
from benchmarks.exact_legs import KeywordLeg, dense_leg, keyword_leg, ranking
from eai.gateway.catalogue import LOCAL_HASH_256, LOCAL_USE_512
from eai.gateway.ports import Embedder
from eai.gateway.registry import Model
from eai.integrations.local_models import HashEmbedder, SentenceEmbedder
from eai.retrieval.fusion import fuse

pytestmark = [
    pytest.mark.skipif(not folder().is_dir(), reason=f"no evaluation data in {folder()}"),
    # Whole legs are reckoned exactly; beside the rest of the suite that takes minutes.
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def evaluation() -> EvaluationSet:
    return load("xquad-en")


@pytest.fixture(scope="module")
def keyword(evaluation: EvaluationSet) -> KeywordLeg:
    return keyword_leg(evaluation)


def test_the_keyword_leg_is_as_good_as_bm25_with_stemming_should_be(
    evaluation: EvaluationSet, keyword: KeywordLeg
) -> None:
    assert quality(evaluation, [ranking(hits) for hits in keyword.hits]).ndcg_at_10 >= 0.963


@pytest.mark.parametrize(
    ("model", "embedder"),
    [
        (LOCAL_HASH_256, HashEmbedder()),
        pytest.param(
            LOCAL_USE_512,
            SentenceEmbedder(),
            marks=pytest.mark.skipif(not SentenceEmbedder.is_available(), reason="no extra `semantic`"),
        ),
    ],
    ids=["local-hash-256", "local-use-512"],
)
async def test_a_hybrid_search_is_not_below_its_better_leg(
    evaluation: EvaluationSet, keyword: KeywordLeg, model: Model, embedder: Embedder
) -> None:
    dense = await dense_leg(evaluation, embedder)
    legs = zip(dense, keyword.hits, keyword.attainable, strict=True)
    fused = [fuse(near, matching, model.fusion, attainable) for near, matching, attainable in legs]
    hybrid = quality(evaluation, [[hit.id.int for hit in hits] for hits in fused])
    single = [quality(evaluation, [ranking(hits) for hits in leg]) for leg in (dense, keyword.hits)]
    assert hybrid.ndcg_at_10 >= max(leg.ndcg_at_10 for leg in single)
