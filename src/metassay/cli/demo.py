"""`metassay demo`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.assay import show_assay
from metassay.cli.options import OutputOptions
from metassay.cli.printing import progress
from metassay.sample import DEFAULT


def run_demo(
    output: OutputOptions, *, task: Annotated[str, typer.Option(help="Which sample.")] = DEFAULT
) -> None:
    """The main job on the bundled sample, offline, in seconds; leaves a folder with report.html."""
    from metassay.workflows.demo import demo

    with progress(output) as show:
        folder = output.out or (None if output.json else "demo")
        result = demo(task=task, out=folder, seed=output.seed, workers=output.workers, progress=show)
    if output.json:
        print(result.to_json())
    else:
        show_assay(result.to_dict(), result.folder)
