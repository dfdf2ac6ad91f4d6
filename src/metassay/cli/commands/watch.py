"""`metassay watch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metassay.cli.commands.compare import EXIT_CHANGED
from metassay.cli.options import JsonOption
from metassay.cli.printing import print_result
from metassay.errors import InputError

EXAMPLE = "metassay watch runs/ --fail-on change"


def run_watch_command(
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
    page: Annotated[
        Path | None, typer.Option(help="Write a page with charts to this file.", metavar="FILE.html")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show what changed over many runs, without false alarms from looking often."""
    from metassay.workflows.watch import watch, write_html_page_of_changes

    if fail_on not in (None, "change"):
        raise InputError(f"--fail-on {fail_on!r} is not known.", remedy="Known: change.")
    result = watch(*runs)
    if page is not None:
        write_html_page_of_changes(result, page)
    print_result(result, json=json)
    if fail_on == "change" and result.changed:
        raise typer.Exit(EXIT_CHANGED)
