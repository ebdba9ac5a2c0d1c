"""One file (or folder) per outside system: its adapter, its in-process stand-in, the choice between them."""
