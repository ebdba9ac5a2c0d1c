"""What an API process costs before anybody asks it anything: memory, and the time until it is ready.

`python -m benchmarks.process_costs [--write]`. `eai serve` with database and engine running, beside an empty
app of the same web framework. What each has loaded when it answers, and after its first document and
question with either local model.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from benchmarks.cpu import resident_mib
from benchmarks.product import (
    Product,
    free_port,
    made,
    running_api,
    running_product,
    running_python,
    until_answered,
)
from benchmarks.report import machine, publish, table, wanted
from benchmarks.rounds import middle, note, options
from benchmarks.stage import temporary_home
from eai.gateway.catalogue import LOCAL_HASH_256, LOCAL_USE_512
from eai.integrations.local_models import SentenceEmbedder

MOST_MIB, MOST_S = 200, 3.0
_IDLE_S = 1.0


@dataclass
class Costs:
    """Seconds until ready and MiB while idle, by round; MiB after work, by what was done."""

    floor_s: list[float] = field(default_factory=list)
    floor_mib: list[float] = field(default_factory=list)
    ready_s: list[float] = field(default_factory=list)
    idle_mib: list[float] = field(default_factory=list)
    worked_mib: dict[str, list[float]] = field(default_factory=dict)


async def measured(arguments: argparse.Namespace) -> Costs:
    """Start and look, round by round."""
    costs = Costs()
    models = [LOCAL_HASH_256.name]
    if SentenceEmbedder.is_available():
        models.append(LOCAL_USE_512.name)
    async with AsyncExitStack() as stack:
        home = stack.enter_context(temporary_home())
        product = await stack.enter_async_context(running_product(home))
        async with product.client(product.admin_key) as admin:
            bases = {name: await _base(admin, name) for name in models}
        for number in range(arguments.rounds):
            await _floor(home, costs)
            for model, base in bases.items():
                await _product(home, product, costs, model, base)
            note(
                f"round {number + 1}: empty {costs.floor_s[-1]:.2f} s, {costs.floor_mib[-1]:.0f} MiB; "
                f"product {costs.ready_s[-1]:.2f} s, {costs.idle_mib[-1]:.0f} MiB"
            )
    return costs


async def _floor(home: Path, costs: Costs) -> None:
    port = free_port()
    call = ("-m", "benchmarks.empty_app", "--port", str(port))
    async with running_python(home / "empty.log", {"PATH": os.environ["PATH"]}, *call) as (pid, started):
        costs.floor_s.append(await until_answered(f"http://127.0.0.1:{port}/readyz") - started)
        await asyncio.sleep(_IDLE_S)
        costs.floor_mib.append(resident_mib(pid))


async def _product(home: Path, product: Product, costs: Costs, model: str, base: str) -> None:
    async with running_api(home, product.environ) as (pid, port, seconds):
        costs.ready_s.append(seconds)
        await asyncio.sleep(_IDLE_S)
        costs.idle_mib.append(resident_mib(pid))
        headers = {"authorization": f"Bearer {product.admin_key}"}
        url = f"http://127.0.0.1:{port}"
        async with httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=60) as client:
            question = {"query": "how long do we keep invoices"}
            await made(client, f"/v1/knowledge-bases/{base}/query", question)
            _add(costs, f"first question, {model}", pid)
            document = {"title": "Note", "content": f"We keep invoices for ten years, says note {pid}."}
            await made(client, f"/v1/knowledge-bases/{base}/documents", document)
            _add(costs, f"first document, {model}", pid)


def _add(costs: Costs, what: str, pid: int) -> None:
    costs.worked_mib.setdefault(what, []).append(resident_mib(pid))


async def _base(admin: httpx2.AsyncClient, model: str) -> str:
    base = (await made(admin, "/v1/knowledge-bases", {"name": model, "embedding_model": model}))["id"]
    document = {"title": "Invoices", "content": "We keep the invoices of suppliers for ten years."}
    await made(admin, f"/v1/knowledge-bases/{base}/documents", document)
    return str(base)


def report(costs: Costs) -> str:
    """The section of docs/benchmarks.md."""
    rows = [
        _row("until `/readyz` is 200", costs.floor_s, costs.ready_s, "s", MOST_S),
        _row("idle", costs.floor_mib, costs.idle_mib, "MiB", MOST_MIB),
    ]
    rows += [[f"after the {what}", "", *_cells(found, "MiB"), ""] for what, found in costs.worked_mib.items()]
    return "\n\n".join(
        [
            "## What an API process costs",
            f"`python -m benchmarks.process_costs --write`, {machine()}",
            _EXPLAINED.strip().format(starts=len(costs.ready_s)),
            table(["", "empty app", "`eai serve`", "worst", "wanted"], rows),
        ]
    )


def _row(what: str, floor: list[float], ours: list[float], unit: str, most: float) -> list[str]:
    aim = wanted(f"≤ {most:g} {unit}", holds=middle(ours) <= most)
    return [what, _cells(floor, unit)[0], *_cells(ours, unit), aim]


def _cells(values: list[float], unit: str) -> tuple[str, str]:
    digits = 2 if unit == "s" else 0
    return f"{middle(values):.{digits}f} {unit}", f"{max(values):.{digits}f} {unit}"


_EXPLAINED = """
One API process with database and engine running, {starts} starts; medians, and the worst start. The floor is
an empty app of the same web framework and server. Memory is what the process holds (resident). The semantic
model is loaded by the first text that needs it; the first document of either also loads the model that tells
languages apart.
"""


def main(given: Sequence[str]) -> int:
    parser = options(__doc__, rounds=5)
    arguments = parser.parse_args(given)
    publish("process-costs", report(asyncio.run(measured(arguments))), write=arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
