"""A child that reads content must not disturb the models that compute in threads of this process."""

import subprocess
import sys

import pytest

from eai.integrations.local_models import SentenceEmbedder

PROGRAM = """
import asyncio, uvloop
from eai.gateway.ports import EmbeddingRole
from eai.ingestion.confinement import extract_confined
from eai.integrations.local_models import SentenceEmbedder

async def main():
    embedder = SentenceEmbedder()
    texts = ["Parcels leave the depot at noon, and trains run every hour. " * 10] * 24
    embeddings = [embedder.embed(texts, EmbeddingRole.DOCUMENT) for _ in range(4)]
    readings = [extract_confined(b"<p>Noon.</p>", "text/html") for _ in range(24)]
    answers = await asyncio.gather(*embeddings, *readings)
    print(sum(len(answer.vectors) for answer in answers[:4]), set(answers[4:]))

uvloop.run(main())
"""


@pytest.mark.skipif(not SentenceEmbedder.is_available(), reason="the extra `semantic` is not installed")
def test_embedding_and_reading_side_by_side_come_to_an_end() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("96 {'Noon.'}", 0), done.stderr[-500:]
