"""The command line: `eai`."""
