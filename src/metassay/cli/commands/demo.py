"""`metassay demo`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.commands.assay import print_assay_result
from metassay.cli.options import OutputOptions
from metassay.cli.progress import show_progress

EXAMPLE = "metassay demo"


def run_demo_command(
    output_options: OutputOptions,
    *,
    task: Annotated[
        str, typer.Option(help="Sample data to use: mt, asr, ranking or text.", metavar="NAME")
    ] = "mt",
) -> None:
    """Run an assay on bundled sample data, without a network."""
    from metassay.workflows.assay import demo

    folder = output_options.out or (None if output_options.json else "demo")
    with show_progress(output_options) as progress:
        result = demo(
            task=task, out=folder, seed=output_options.seed, workers=output_options.workers, progress=progress
        )
    print_assay_result(result, json=output_options.json, verbose=output_options.verbose)
