"""`metassay report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metassay.cli.printing import say


def run_report(run: Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")]) -> None:
    """Write the report of a run anew: one HTML file that needs no network."""
    from metassay.workflows.overview import report

    say(f"Report: {report(run)}")
