"""`eai demo`: a company, its documents, two people who ask the same. Over the API."""
