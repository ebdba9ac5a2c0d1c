"""Ids, errors, time, canonical bytes and paging. No I/O, no business nouns."""
