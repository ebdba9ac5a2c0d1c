"""Lists what is measured, and runs it.

`python -m benchmarks` runs everything, one after the other; `python -m benchmarks NAME [options]` runs one,
`python -m benchmarks --list` only names them. `--write` puts the tables into docs/benchmarks.md.
"""

import subprocess
import sys
from collections.abc import Sequence

BENCHMARKS = {
    "retrieval_quality": "how well each leg and both together rank, beside Haystack's BM25",
    "slow_model_fusion": "the same for local-e5-384 on a part of the sets, which takes it twelve minutes",
    "rights_cost": "what filtering by rights costs in the engine, and whether it loses answers",
    "rights_classes": "what ten, a thousand and fifty thousand different rights in one base cost and lose",
    "query_latency": "what governing a query costs over HTTP, beside the same app doing the bare search",
    "cache": "what a question costs that was asked before, beside the same searched for",
    "gateway_overhead": "what a call of a model costs through the gateway, beside none and LiteLLM's proxy",
    "quota_under_load": "whether a quota holds under many callers, beside the limits of LiteLLM's proxy",
    "ingest_throughput": "chunks per second over HTTP, beside a bare Haystack pipeline",
    "process_costs": "memory of an idle API process, and the time until it is ready",
    "existence_timing": "whether time or size tells that something exists which may not be known of",
    "audit_throughput": "durable audit events per second, beside bare rows of the same bytes",
    "quarantine": "what of injections and hidden text is held, and what of honest documents",
    "drift": "how often another text under an approved name is held, and how often an edited one",
    "beside_the_base": "what is found of passages near everything or far from all, by their vectors",
    "dlp": "what DLP finds of each entity and language, and how fast, with and without its cheap looks",
    "reindex": "what moving a base to another generation costs those who ask, and how fast it is",
    "deletion": "how soon a deleted document is found no more, and whether ended rights are honoured at once",
    "fsck": "how long an examination of a large base takes, and making its index anew",
    "audit_verification": "how fast an exported chain is verified",
}


def main(arguments: Sequence[str]) -> int:
    names = [argument for argument in arguments[:1] if not argument.startswith("-")]
    unknown = [name for name in names if name not in BENCHMARKS]
    if "--list" in arguments or unknown:
        for name, what in BENCHMARKS.items():
            print(f"{name:20} {what}")
        return 2 if unknown else 0
    # Each in a process of its own: what one leaves in memory would be in the next one's figures.
    codes = [
        subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", *arguments[len(names) :]], check=False
        ).returncode
        for name in names or BENCHMARKS
    ]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
