"""The command line: the script `eai`, and `python -m eai.cli` where no script is installed."""

import signal


def main() -> None:
    """Run the command that the arguments name."""
    # Loading the commands takes a moment, in which a Ctrl-C should not end in a traceback. Where it is
    # ignored, as in the background of a script, it stays so.
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from eai.cli.main import app  # noqa: PLC0415

    if is_ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    app()


if __name__ == "__main__":
    main()
