"""Who is asking, how secret a thing is, and what follows: pure decisions, no I/O."""
