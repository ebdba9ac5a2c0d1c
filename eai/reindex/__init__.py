"""Moves a knowledge base to another model, other dimensions or another chunking, while it answers."""
