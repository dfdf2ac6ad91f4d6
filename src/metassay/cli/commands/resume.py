"""`metassay resume`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.configuration_files import (
    CALL_FILE,
    TrustOption,
    read_command_that_started_run,
    run_command_named_in_file,
)
from metassay.cli.options import JsonOption

EXAMPLE = "metassay resume run"


def run_resume_command(
    run: Annotated[str, typer.Argument(help="Run folder.", metavar="RUN")],
    *,
    workers: Annotated[
        int | None, typer.Option(help="Number of threads. By default as in the interrupted run.", metavar="N")
    ] = None,
    json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")] = False,
    trust: TrustOption = False,
) -> None:
    """Continue an interrupted run with the same options."""
    options = read_command_that_started_run(run, trust=trust)
    if workers:
        options["workers"] = workers
    if json:
        options["json"] = True
    if quiet:
        options["quiet"] = True
    run_command_named_in_file(options, f"{run}/{CALL_FILE}")
