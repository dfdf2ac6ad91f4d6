"""`metassay work`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metassay.cli.configuration_files import (
    TrustOption,
    read_command_that_started_run,
    read_configuration_file,
    run_command_named_in_file,
)
from metassay.errors import is_remote_path

EXAMPLE = "metassay work run --parts 0-9"


def run_work_command(
    run: Annotated[
        str, typer.Argument(help="Run folder, or a configuration file as for `run`.", metavar="RUN")
    ],
    *,
    parts: Annotated[
        str,
        typer.Option(
            "--parts",
            "--part",
            help="Numbers of the parts: one number, or a range such as 0-9.",
            metavar="PARTS",
        ),
    ],
    workers: Annotated[
        int | None, typer.Option(help="Number of threads. By default as in the interrupted run.", metavar="N")
    ] = None,
    trust: TrustOption = False,
) -> None:
    """Score some parts of an assay, as one of many processes. `resume` finishes the run."""
    is_file = run.endswith((".toml", ".json")) if is_remote_path(run) else not Path(run).is_dir()
    options = read_configuration_file(run) if is_file else read_command_that_started_run(run, trust=trust)
    options["parts"] = parts
    if workers is not None:
        options["workers"] = workers
    run_command_named_in_file(options, run)
