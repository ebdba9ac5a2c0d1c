"""From a question to cited passages that the caller may read."""
