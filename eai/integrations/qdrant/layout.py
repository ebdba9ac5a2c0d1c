"""How a shard arranges its vectors: the two configurations of the embedded engine."""

from dataclasses import dataclass

import qdrant_edge as q

DENSE = "dense"
SPARSE = "sparse"
_NARROW = 0.2
"""Filters that leave less than this share have hidden nodes searched through (ACORN).

At a half it took five times as long, and the engine takes a half in many classes for less than 0.4, its
own bound.
"""


@dataclass(frozen=True, slots=True)
class Layout:
    """Scanned exactly (`links` 0) or linked in a graph of `links` edges a node.

    `optimize_after` is the number of changes after which rearranging the segments is worth its time.
    It must be `None` with a graph: building one blocks the process for minutes.
    """

    links: int
    construction_breadth: int
    scan_below_kb: int
    segment_kb: int
    search_breadth: int | None
    optimize_after: int | None

    def config(self, dimensions: int) -> q.EdgeConfig:
        """The engine's configuration for a new shard."""
        return q.EdgeConfig(
            vectors={DENSE: q.EdgeVectorParams(size=dimensions, distance=q.Distance.Cosine)},
            sparse_vectors={SPARSE: q.EdgeSparseVectorParams()},
            hnsw_config=q.HnswIndexConfig(
                m=self.links,
                ef_construct=self.construction_breadth,
                full_scan_threshold=self.scan_below_kb,
            ),
            optimizers=q.EdgeOptimizersConfig(
                indexing_threshold=1_000, default_segment_number=2, max_segment_size=self.segment_kb
            ),
        )

    def search_params(self) -> q.SearchParams | None:
        """What a search of the dense leg asks of the graph; nothing when there is none."""
        if self.search_breadth is None:
            return None
        acorn = q.AcornSearchParams(enable=True, max_selectivity=_NARROW)
        return q.SearchParams(hnsw_ef=self.search_breadth, acorn=acorn)


EXACT = Layout(
    links=0,
    construction_breadth=4,
    scan_below_kb=10_000_000,
    segment_kb=60_000,
    search_breadth=None,
    optimize_after=50_000,
)
"""Exact search over immutable segments that one query reads in parallel; arranging 50,000 points: 3 s."""

GRAPH = Layout(
    links=16,
    construction_breadth=128,
    scan_below_kb=10_000,
    segment_kb=1_000_000,
    search_breadth=1_536,
    optimize_after=None,
)
"""The engine's own graph, for measurements: call `optimize` once, after loading.

So broad a search is what rights cost in a graph. Where they follow topics and half of 100,000 points may be
seen, breadth 128 finds 0.77 of the ten best, 512 finds 0.95, 1,024 finds 0.98, 1,536 finds 0.99.
"""
