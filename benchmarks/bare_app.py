"""The floor of a query: the same web framework, model, engine and fusion, and nothing that governs.

No credential, no database, no re-check, no audit: `POST /query` embeds the question, asks both legs under
the filter that it was told beforehand, fuses, and answers with ids and scores.
"""

import argparse
import asyncio
import json
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import orjson
import uvicorn
from fastapi import FastAPI, Header
from starlette.responses import Response
from uvicorn.loops.auto import auto_loop_factory

from benchmarks.library import SPACE, Library
from eai.access.rights_class import generation_key
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.ports import EmbeddingRole
from eai.integrations.local_models import HashEmbedder
from eai.integrations.qdrant.client import EngineVectors
from eai.knowledge.lexical import analyse_query, query_weights
from eai.knowledge.ports import SearchFilter, SearchRequest
from eai.retrieval.fusion import fuse
from eai.retrieval.reach import reaches
from eai.retrieval.schemas import QueryRequest


def write_state(path: Path, socket_path: Path, library: Library) -> None:
    """What the app must know of the base: filters and term statistics, in a file."""
    frequencies: dict[str, int] = {}
    for terms in library.tally.terms.values():
        for term, count in terms.items():
            frequencies[term] = frequencies.get(term, 0) + count
    state = {
        "socket": str(socket_path),
        "generation": generation_key(library.tenant, library.generation),
        "scopes": {name: library.rights_keys(reader) for name, reader in library.readers.items()},
        "chunks": {"en": library.counted},
        "frequencies": frequencies,
    }
    path.write_text(json.dumps(state))


def create_app(state: Mapping[str, Any]) -> FastAPI:
    """The app over the engine that `state` names."""
    app = FastAPI(
        openapi_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    vectors, embedder, rule = EngineVectors(Path(state["socket"])), HashEmbedder(), LOCAL_HASH_256.fusion
    scopes = {name: SearchFilter(state["generation"], tuple(keys)) for name, keys in state["scopes"].items()}

    @app.post("/query")
    async def query(question: QueryRequest, x_reader: Annotated[str, Header()]) -> Response:
        embedded = await embedder.embed([question.query], EmbeddingRole.QUERY)
        weights = query_weights(analyse_query(question.query), state["frequencies"], state["chunks"])
        fetched = reaches(question.top_k)[0].fetched
        request = SearchRequest(scopes[x_reader], fetched, embedded.vectors[0], weights.vector)
        hits = await vectors.search(SPACE, request)
        ranked = fuse(hits.dense, hits.sparse, rule, weights.attainable)[: question.top_k]
        results = [{"id": str(id_), "score": score} for id_, score, _, _ in ranked]
        return Response(orjson.dumps({"results": results}), media_type="application/json")

    return app


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args(given)
    app = create_app(json.loads(arguments.state.read_text()))
    listener = socket.create_server(("127.0.0.1", arguments.port), backlog=1024)
    # As `eai serve` runs its own.
    config = uvicorn.Config(app, ws="none", log_config=None, access_log=False, server_header=False)
    with asyncio.Runner(loop_factory=auto_loop_factory(use_subprocess=False)) as runner:
        runner.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
