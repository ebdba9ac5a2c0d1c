"""How each provider answers two texts."""

from typing import Any

VECTORS = [[0.25, 0.5, 0.75], [1.0, 1.25, 1.5]]


def openai_form(model: str) -> dict[str, Any]:
    data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(VECTORS)]
    usage = {"prompt_tokens": 9, "total_tokens": 9}
    return {"object": "list", "model": model, "data": data, "usage": usage}


OLLAMA = {"model": "nomic-embed-text", "embeddings": VECTORS, "prompt_eval_count": 5}
COHERE = {"id": "1", "embeddings": {"float": VECTORS}, "meta": {"billed_units": {"input_tokens": 7}}}
GEMINI = {"embeddings": [{"values": vector} for vector in VECTORS]}
