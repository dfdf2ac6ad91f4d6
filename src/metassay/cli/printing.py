"""What people see: progress on standard error, tables and sentences on standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from metassay.cli.options import OutputOptions

PLAIN_WIDTH = 160


class Shown(Protocol):
    """A result that can be printed as JSON."""

    def to_json(self) -> str:
        """The JSON object."""
        ...


def is_plain() -> bool:
    """No colours and no moving bars: off a terminal, or where NO_COLOR is set."""
    return not sys.stderr.isatty() or bool(os.environ.get("NO_COLOR"))


@contextmanager
def progress(output: OutputOptions) -> Iterator[Any]:
    """A function (stage, done, total) that shows how far the work is; None with --quiet."""
    if output.quiet:
        yield None
    elif is_plain():
        yield _plain_progress
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description:<11}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=Console(stderr=True)) as bars:
            tasks: dict[str, Any] = {}

            def show(stage: str, done: int, total: int) -> None:
                if stage not in tasks:
                    tasks[stage] = bars.add_task(stage, total=total)
                bars.update(tasks[stage], completed=done, total=total)

            yield show


def _plain_progress(stage: str, done: int, total: int) -> None:
    if done == total:
        print(f"{stage}: done ({total} of {total})", file=sys.stderr, flush=True)


def print_table(rows: Sequence[Mapping[str, Any]], *, title: str | None = None) -> None:
    """A table that fits the terminal, or is wide and plain off it."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    if not rows:
        return
    console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)
    if title is not None:
        console.print(f"\n{escape(title)}", style="bold")
    table = Table(box=box.SIMPLE_HEAD)
    for name in rows[0]:
        numeric = all(isinstance(row.get(name), int | float | None) for row in rows)
        table.add_column(name.replace("_", " "), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(cell(row.get(name)) for name in rows[0]))
    console.print(table)


def cell(value: Any) -> str:
    """A value as people read it; text is never taken for markup."""
    from rich.markup import escape

    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e-3 and value else f"{value:.3f}"
    return escape(value if isinstance(value, str) else str(value))


def say(*sentences: str) -> None:
    """Sentences on standard output."""
    for sentence in sentences:
        print(sentence)


def note(sentences: Sequence[str]) -> None:
    """What a reader should know, on standard error."""
    for sentence in sentences:
        print(f"Note: {sentence}", file=sys.stderr)
