"""Database, jobs, keys, languages, logs and telemetry. No business nouns."""
