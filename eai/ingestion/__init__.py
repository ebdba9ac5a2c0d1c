"""How a document becomes findable: accepted, extracted, split, embedded, written, swapped in."""
