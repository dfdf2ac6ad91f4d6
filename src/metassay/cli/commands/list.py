"""`metassay list`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.options import JsonOption
from metassay.cli.printing import print_result

EXAMPLE = "metassay list metrics"


def run_list_command(
    kind: Annotated[
        str,
        typer.Argument(help="metrics, meta_metrics, perturbations, readers or resources.", metavar="KIND"),
    ],
    *,
    json: JsonOption = False,
) -> None:
    """List all metrics, meta-metrics, perturbations, readers or resources."""
    from metassay.workflows.list import list_installed_components

    result = list_installed_components(kind)
    print_result(result, json=json)
