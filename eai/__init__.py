"""The governed RAG platform: decide, prove and record who may see what, and which model may see it."""

import os

# Haystack reads this when it is first imported and would otherwise report to its makers.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
# LiteLLM reads this when it is first imported and would otherwise fetch its price list from the network.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

__version__ = "0.1.0"
