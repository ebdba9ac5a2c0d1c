"""`python -m eai.cli`: the command line where no script is installed."""

from eai.cli.main import app

app()
