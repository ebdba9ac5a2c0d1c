"""Writes the pages of docs/reference that can be read off the code: `python -m eai.cli.reference`."""
