"""Proof of deletion: what was removed, and what the engine counted afterwards."""
