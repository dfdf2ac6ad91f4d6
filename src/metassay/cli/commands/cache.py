"""`metassay cache`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.options import JsonOption
from metassay.cli.printing import print_lines_tables_and_notes

EXAMPLE = "metassay cache info"
EXIT_DAMAGED = 2


def run_cache_command(
    action: Annotated[str, typer.Argument(help="info, prune or verify.", metavar="ACTION")],
    *,
    cache: Annotated[
        str | None,
        typer.Option(help="Cache folder. By default the folder in METASSAY_CACHE.", metavar="FOLDER"),
    ] = None,
    most: Annotated[
        float,
        typer.Option(
            help="With prune: keep this many gigabytes of the scores used last.", metavar="GB", min=0
        ),
    ] = 10.0,
    json: JsonOption = False,
) -> None:
    """List the scores that runs share (info), delete old ones (prune), or check them (verify)."""
    from metassay.workflows.cache import manage_cache

    result = manage_cache(action, cache, max_gigabytes=most)
    if json:
        print(result.to_json())
    else:
        print_lines_tables_and_notes(result.describe_result_for_terminal(action))
    if result.broken:
        raise typer.Exit(EXIT_DAMAGED)
