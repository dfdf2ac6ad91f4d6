"""`metassay list`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.printing import print_table


def run_list(
    kind: Annotated[
        str, typer.Argument(help="metrics, perturbations, readers or resources.", metavar="KIND")
    ],
    *,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Which metrics, perturbations, readers and resources there are."""
    from metassay.workflows.listing import listing

    result = listing(kind)
    if json:
        print(result.to_json())
    else:
        print_table(result.rows)
