"""What commands say on the terminal: answers on standard output, everything else on standard error."""

import sys
from typing import NoReturn

import typer


def report(sentence: str) -> None:
    """Tell whoever watches; standard output stays for the answer."""
    typer.echo(f"eai: {sentence}", err=True)


def fail(sentence: str) -> NoReturn:
    """Say what is wrong and end with exit code 1."""
    report(sentence)
    sys.exit(1)
