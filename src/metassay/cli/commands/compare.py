"""`metassay compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.options import JsonOption
from metassay.cli.printing import print_result
from metassay.errors import InputError

EXAMPLE = "metassay compare run next-run --fail-on change"
EXIT_CHANGED = 3


def run_compare_command(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Two or more run folders, oldest first, or a folder that contains them.", metavar="RUN…"
        ),
    ],
    *,
    fail_on: Annotated[
        str | None, typer.Option(help="Exit with status 3 if something changed.", metavar="change")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show which accuracies, rankings and recommendations changed between runs by more than chance."""
    from metassay.workflows.compare import compare

    if fail_on not in (None, "change"):
        raise InputError(f"--fail-on {fail_on!r} is not known.", remedy="Known: change.")
    result = compare(*runs)
    print_result(result, json=json)
    if fail_on == "change" and result.changed:
        raise typer.Exit(EXIT_CHANGED)
