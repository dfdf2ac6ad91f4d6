"""`metassay report`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.printing import print_line
from metassay.errors import format_path_for_user

EXAMPLE = "metassay report run"


def run_report_command(
    runs: Annotated[
        list[str],
        typer.Argument(help="Run folders: one, or one of each command on the same data.", metavar="RUN…"),
    ],
    *,
    out: Annotated[
        str | None,
        typer.Option(help="File of the page. By default report.html in the run folder.", metavar="FILE"),
    ] = None,
    figures: Annotated[
        str | None, typer.Option(help="Write all charts as files: svg, pdf or png.", metavar="FORMAT")
    ] = None,
    tables: Annotated[
        str | None, typer.Option(help="Write all tables as files: latex, markdown or csv.", metavar="FORMAT")
    ] = None,
) -> None:
    """Write the page of a run again, or one page for several runs on the same data."""
    from metassay.workflows.report import report

    page = report(*runs, out=out, figures=figures, tables=tables)
    print_line(f"Report: {format_path_for_user(page)}")
    if figures is not None:
        print_line(f"Figures of one and two columns: {format_path_for_user(page.parent / 'figures')}")
    if tables is not None:
        print_line(f"Tables: {format_path_for_user(page.parent / 'tables')}")
