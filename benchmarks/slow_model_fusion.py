"""Ranking quality of `local-e5-384`, and how its leg is best joined with the keyword leg's.

`python -m benchmarks.slow_model_fusion [--write]`: some twelve minutes of one core, on a part of the sets
that `retrieval_quality` uses whole. It ends with exit code 1 where the hybrid ranking falls below its better
leg.
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.evaluation_sets import EvaluationSet, Gain, gain, load, quality, sample
from benchmarks.exact_legs import KeywordLeg, dense_leg, haystack_bm25, keyword_leg
from benchmarks.report import table, write_section
from benchmarks.retrieval_quality import Measured, measure
from eai.gateway.catalogue import LOCAL_E5_384
from eai.gateway.ports import FusionRule
from eai.integrations.local_models import E5Embedder
from eai.knowledge.ports import Hit
from eai.retrieval.fusion import fuse

PARTS = {"xquad-en": (240, 3), "piaf-fr": (250, 4)}
"""Passages of each set, and of which questions each so-manyth is asked."""
WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
FLOORS = (0.0, 0.6, 0.65, 0.7, 0.75, 0.8)


@dataclass(frozen=True)
class Part:
    """A part of a set, what each leg found in it, and what the model's rule made of that."""

    evaluation: EvaluationSet
    keyword: KeywordLeg
    dense: Sequence[Sequence[Hit]]
    measured: Measured

    def ranked(self, rule: FusionRule) -> list[list[int]]:
        legs = zip(self.dense, self.keyword.hits, self.keyword.attainable, strict=True)
        return [[hit.id.int for hit in fuse(near, matching, rule, most)] for near, matching, most in legs]

    def ndcg(self, rule: FusionRule) -> str:
        return f"{quality(self.evaluation, self.ranked(rule)).ndcg_at_10:.4f}"

    def gain_of(self, rule: FusionRule) -> Gain:
        """What another rule would gain on the one that ships."""
        return gain(self.evaluation, self.ranked(rule), self.ranked(LOCAL_E5_384.fusion))


async def parts() -> list[Part]:
    embedder = E5Embedder()
    found = []
    for name, (passages, every) in PARTS.items():
        evaluation = sample(load(name), passages=passages, every=every)
        keyword, peer = keyword_leg(evaluation), haystack_bm25(evaluation)
        dense = await dense_leg(evaluation, embedder)
        measured = measure(evaluation, LOCAL_E5_384, keyword, dense, peer, weights=WEIGHTS)
        found.append(Part(evaluation, keyword, dense, measured))
    return found


def report(found: Sequence[Part]) -> str:
    """The section of docs/benchmarks.md."""
    shipped = LOCAL_E5_384.fusion
    sizes = [
        f"{len(one.passages)} passages and {len(one.questions)} questions of {one.name}"
        for one in (part.evaluation for part in found)
    ]
    legs = [
        [p.evaluation.name, *map(str, (m.peer, m.keyword, m.dense, m.hybrid, m.over_better_leg))]
        for p in found
        for m in [p.measured]
    ]
    names = [p.evaluation.name for p in found]
    ways = [
        [way, *(f"{p.measured.tried[way].ndcg_at_10:.4f}" for p in found)] for way in found[0].measured.tried
    ]
    floors = [[str(floor), *(p.ndcg(replace(shipped, dense_floor=floor)) for p in found)] for floor in FLOORS]
    rivals = [
        [str(weight), *(str(p.gain_of(replace(shipped, dense_weight=weight))) for p in found)]
        for weight in WEIGHTS
        if weight != shipped.dense_weight
    ]
    return "\n\n".join(
        [
            "## Retrieval quality of local-e5-384",
            "`python -m benchmarks.slow_model_fusion --write`",
            f"nDCG@10 / recall@100 as above, on {' and '.join(sizes)}.",
            table(["set", "Haystack BM25", "keyword", "vector", "hybrid", "hybrid over better leg"], legs),
            f"nDCG@10 by the way of joining, above the floor that ships ({shipped.dense_floor}):",
            table(["joined by", *names], ways),
            f"By the floor, at the weight that ships ({shipped.dense_weight}):",
            table(["floor", *names], floors),
            "What another weight would gain on it in nDCG@10, with 95 % intervals over 2,000 resamplings:",
            table(["weight", *names], rivals),
            _CHOSEN.strip(),
        ]
    )


_CHOSEN = """
No other weight is better on either set by more than the noise. The rule was there before the measurement: the
floor is where the model's authors say that its cosines begin, and the weight is even. Only parts of the sets
were asked, because the model takes about a second for a passage.
"""


def main() -> int:
    found = asyncio.run(parts())
    section = report(found)
    print(section)
    if "--write" in sys.argv[1:]:
        write_section("slow-model-fusion", section)
    return 0 if all(part.measured.holds for part in found) else 1


if __name__ == "__main__":
    sys.exit(main())
