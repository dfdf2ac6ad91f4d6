"""Prints the description of a result: lines and tables on standard output, notes on standard error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from metassay.workflows.terminal_blocks import Block, Table

# Characters per line where standard output is no terminal.
WIDTH_OF_PIPES = 160
# A column with longer cells is prose: it may be broken between words, down to this many characters.
PROSE_WIDTH = 18
# Characters between two columns.
COLUMN_GAP = 3
# Smaller numbers are printed with four significant digits instead of three decimals.
SMALLEST_FIXED = 1e-3


class PrintableResult(Protocol):
    """Interface of results that can be printed as JSON or as text."""

    def to_json(self) -> str:
        """Return the result as a JSON text."""

    def describe_result_for_terminal(self) -> list[Block]:
        """Describe the result in lines, tables and notes for the terminal."""


def print_lines_tables_and_notes(blocks: Sequence[Block], *, verbose: bool = False) -> None:
    """Print the lines, tables and notes that describe a result. Details are printed only with `verbose`."""
    from metassay.workflows.terminal_blocks import Details, Line, Note

    for block in blocks:
        if isinstance(block, Details):
            if verbose:
                print_lines_tables_and_notes(block.blocks, verbose=True)
        elif isinstance(block, Line):
            print_line(block.text, wrap=block.wrap)
        elif isinstance(block, Note):
            print(f"{block.heading}: {block.text}", file=sys.stderr)
        else:
            print_table(block, verbose=verbose)


def print_line(text: str, *, wrap: bool = True) -> None:
    """Print a sentence. In a terminal, long lines are broken between words."""
    if wrap and sys.stdout.isatty():
        width = get_terminal_width()
        paragraphs = text.split("\n")
        text = "\n".join(
            fill(paragraph, width, break_long_words=False, break_on_hyphens=False) for paragraph in paragraphs
        )
    print(text)


def print_result(
    result: PrintableResult, *, json: bool, verbose: bool = False, folder: str | None = None
) -> None:
    """Print a result as JSON, or else as text, followed by the path of its report if it has a run folder."""
    if json:
        print(result.to_json())
        return
    print_lines_tables_and_notes(result.describe_result_for_terminal(), verbose=verbose)
    if folder is not None:
        print_line(f"Report: {folder}/report.html")


def print_table(table: Table, *, verbose: bool = False) -> None:
    """Print a table that fits the width of the terminal.

    If it is too wide, the last columns are left out, but those in `most_important` stay as long as they fit.
    Numbers and names are never broken over two lines; prose is. Without `verbose`, a long table is cut where
    it says so.
    """
    from rich import box
    from rich import table as rich_table
    from rich.console import Console
    from rich.markup import escape

    if not table.rows:
        return
    rows = table.rows if verbose or table.most_rows is None else table.rows[: table.most_rows]
    console = Console(width=get_terminal_width(), highlight=False)
    if table.heading is not None:
        console.print(f"\n{escape(table.heading)}", style="bold")
    cells = {}
    # Rows of one table can have different columns.
    for name in dict.fromkeys(name for row in rows for name in row):
        digits = 3 if name == "p" or name.startswith("p_") else table.digits
        cells[name] = [format_table_cell(row.get(name), digits) for row in rows]
    shown_columns = _choose_columns_that_fit_width(cells, table.most_important, console.width)
    printed = rich_table.Table(box=box.SIMPLE_HEAD)
    for name in shown_columns:
        is_numeric = all(isinstance(row.get(name), int | float | None) for row in rows)
        justify: Literal["left", "right"] = "right" if is_numeric else "left"
        if _is_prose_column(cells[name]):
            longest = max(map(len, cells[name]))
            minimum = min(PROSE_WIDTH, longest)
            printed.add_column(
                _format_table_heading(name), justify=justify, overflow="fold", min_width=minimum
            )
        else:
            printed.add_column(_format_table_heading(name), justify=justify, overflow="fold", no_wrap=True)
    for row_cells in zip(*(cells[name] for name in shown_columns)):
        printed.add_row(*map(escape, row_cells))
    console.print(printed)
    if len(rows) < len(table.rows):
        print_line(f"{len(table.rows) - len(rows):,} more rows: --verbose")
    hidden_columns = [_format_table_heading(name) for name in cells if name not in shown_columns]
    if hidden_columns:
        names = ", ".join(hidden_columns)
        print_line(f"Too wide for {console.width} columns, so left out: {names}. --json has everything.")


def get_terminal_width() -> int:
    """Return the number of characters per line: the environment variable `COLUMNS`, or else the width of the
    terminal.
    """
    # `shutil.get_terminal_size` reads COLUMNS too, but is only asked for terminals.
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH_OF_PIPES


def format_table_cell(value: Any, digits: int = 3) -> str:
    """Return the value of a table cell as text on one line."""
    if value is None:
        return "–"
    if isinstance(value, float):
        is_tiny = digits >= 3 and value != 0 and abs(value) < SMALLEST_FIXED
        return f"{value:.4g}" if is_tiny else f"{value:.{digits}f}"
    return " ".join(str(value).split("\n"))


def _format_table_heading(column_name: str) -> str:
    """Return the heading of a table column, with spaces instead of underscores. Names of metrics are not
    changed.
    """
    is_metric = hasattr(column_name, "spec")
    return column_name if is_metric else column_name.replace("_", " ")


def _is_prose_column(cell_texts: Sequence[str]) -> bool:
    """Return whether a column contains sentences or lists, which can be broken into several lines."""
    longest = max(map(len, cell_texts))
    longest_with_spaces = max((len(text) for text in cell_texts if " " in text), default=0)
    return longest_with_spaces > PROSE_WIDTH or longest > 2 * PROSE_WIDTH


def _choose_columns_that_fit_width(
    cells_by_column: Mapping[str, Sequence[str]], most_important_columns: Sequence[str], width: int
) -> list[str]:
    """Return the columns that fit into the width of the terminal. The most important ones are chosen
    first.
    """
    from rich.cells import cell_len

    by_importance = [name for name in most_important_columns if name in cells_by_column]
    by_importance += [name for name in cells_by_column if name not in most_important_columns]
    chosen: list[str] = []
    used_width = 0
    for name in by_importance:
        content_width = (
            PROSE_WIDTH
            if _is_prose_column(cells_by_column[name])
            else max(map(cell_len, cells_by_column[name]))
        )
        used_width += COLUMN_GAP + max(cell_len(_format_table_heading(name)), content_width)
        # One column is always shown, even if it is too wide.
        if chosen and used_width > width - 2:
            break
        chosen.append(name)
    return [name for name in cells_by_column if name in chosen]
