"""What documents and audit hold of a person: found, and removed or redacted."""
