"""One file for each kind of thing that does not belong in a document."""
