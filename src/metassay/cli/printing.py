"""What people see: progress on standard error, tables and sentences on standard output."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from metassay.cli.options import OutputOptions

PLAIN_WIDTH = 160
_PROSE = 24
"""Longer cells with spaces in them may be broken between words, down to this many characters."""
_EVERY = 60
"""Seconds between two lines that say how far a long stage is."""
_GAP = 3
"""What stands between two columns."""


class Shown(Protocol):
    """A result that can be printed as JSON."""

    def to_json(self) -> str:
        """The JSON object."""
        ...


def is_plain() -> bool:
    """No colours and no moving bars: off a terminal, or where NO_COLOR is set."""
    return not sys.stderr.isatty() or bool(os.environ.get("NO_COLOR"))


@contextmanager
def progress(output: OutputOptions, *, quiet: bool = False) -> Iterator[Any]:
    """A function (stage, done, total) that shows how far the work is; None with --quiet."""
    if output.quiet or quiet:
        yield None
    elif is_plain():
        yield PlainProgress()
    else:
        from rich import progress as bar
        from rich.console import Console

        columns = (
            bar.TextColumn("{task.description:<11}"),
            bar.BarColumn(),
            bar.MofNCompleteColumn(),
            bar.TimeElapsedColumn(),
            bar.TimeRemainingColumn(),
        )
        with bar.Progress(*columns, console=Console(stderr=True)) as bars:
            tasks: dict[str, Any] = {}

            def show(stage: str, done: int, total: int) -> None:
                if stage not in tasks:
                    tasks[stage] = bars.add_task(stage, total=total)
                bars.update(tasks[stage], completed=done, total=total)

            yield show


class PlainProgress:
    """A line when a stage is done, and one a minute meanwhile, with its rate and the time that is left."""

    def __init__(self) -> None:
        self._begun: dict[str, tuple[float, int]] = {}
        self._said = time.monotonic()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Say how far a stage is."""
        now = time.monotonic()
        start, before = self._begun.setdefault(stage, (now, done))
        if done == total:
            print(f"{stage}: done ({total} of {total})", file=sys.stderr, flush=True)
        elif done > before and now - self._said >= _EVERY:
            self._said, rate = now, (done - before) / (now - start)
            left = f"{rate:,.3g} a second, {(total - done) / rate / 60:,.0f} min left"
            print(f"{stage}: {done} of {total}, {left}", file=sys.stderr, flush=True)


def print_table(
    rows: Sequence[Mapping[str, Any]], *, title: str | None = None, first: Sequence[str] = ()
) -> None:
    """A table that fits the terminal, or is wide and plain off it.

    Where it is too wide, columns go: the last ones first, but those in `first`, which name what matters most,
    in their order. No number and no name is broken over two lines; prose is.
    """
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    if not rows:
        return
    console = Console(width=width(), highlight=False)
    if title is not None:
        console.print(f"\n{escape(title)}", style="bold")
    columns = {name: [cell(row.get(name)) for row in rows] for name in rows[0]}
    shown = _fitting(columns, first, console.width)
    table = Table(box=box.SIMPLE_HEAD)
    for name in shown:
        numeric = all(isinstance(row.get(name), int | float | None) for row in rows)
        prose = _is_prose(columns[name])
        side: Any = "right" if numeric else "left"
        least = min(_PROSE, max(map(len, columns[name]))) if prose else None
        table.add_column(_head(name), justify=side, overflow="fold", no_wrap=not prose, min_width=least)
    for cells in zip(*(columns[name] for name in shown)):
        table.add_row(*map(escape, cells))
    console.print(table)
    if gone := [_head(name) for name in columns if name not in shown]:
        say(f"Too wide for {console.width} columns, so left out: {', '.join(gone)}. --json has everything.")


def width() -> int:
    """How many characters go on a line: the terminal's, or what COLUMNS says; else many."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said) > 0:
        return int(said)
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PLAIN_WIDTH


def _head(name: str) -> str:
    """The heading of a column; a metric's label (`recip_rank`) stays what it is."""
    return name if hasattr(name, "spec") else name.replace("_", " ")


def _is_prose(cells: Sequence[str]) -> bool:
    """Whether a column holds sentences or lists, which may go over several lines."""
    return any((len(text) > _PROSE and " " in text) or len(text) > 2 * _PROSE for text in cells)


def _fitting(columns: Mapping[str, Sequence[str]], first: Sequence[str], width: int) -> list[str]:
    """The columns that have room beside each other, in their order."""
    needed = {}
    for name, cells in columns.items():
        longest = max(map(_cell_length, cells))
        needed[name] = _GAP + max(_cell_length(_head(name)), _PROSE if _is_prose(cells) else longest)
    order = [*first, *(name for name in columns if name not in first)]
    kept: list[str] = []
    for name in (name for name in order if name in columns):
        if not kept or sum(needed[own] for own in (*kept, name)) <= width - 2:
            kept.append(name)
        else:
            break
    return [name for name in columns if name in kept]


def _cell_length(text: str) -> int:
    """How many places a text takes on the terminal."""
    from rich.cells import cell_len

    return cell_len(text)


def cell(value: Any) -> str:
    """A value as people read it, on one line."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e-3 and value else f"{value:.3f}"
    return " ".join(str(value).split("\n"))


def say(*sentences: str) -> None:
    """Sentences on standard output; on a terminal they break between words."""
    for sentence in sentences:
        print(_broken(sentence) if sys.stdout.isatty() else sentence)


def _broken(text: str) -> str:
    from textwrap import fill

    lines = text.split("\n")
    return "\n".join(fill(one, width(), break_long_words=False, break_on_hyphens=False) for one in lines)


def note(sentences: Sequence[str]) -> None:
    """What a reader should know, on standard error."""
    for sentence in sentences:
        print(f"Note: {sentence}", file=sys.stderr)
