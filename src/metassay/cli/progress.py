"""Shows the progress of a command on standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from metassay.cli.options import OutputOptions

if TYPE_CHECKING:
    from metassay.options import Progress

SECONDS_BETWEEN_LINES = 60


@contextmanager
def show_progress(output_options: OutputOptions, *, quiet: bool = False) -> Iterator[Progress | None]:
    """Yield a function that shows progress if it is called as `show(stage, done, total)`, or None if the user
    wants no progress.
    """
    if output_options.quiet or quiet:
        yield None
    elif not sys.stderr.isatty() or os.environ.get("NO_COLOR"):
        yield PlainProgress()
    else:
        with _show_progress_bars() as show:
            yield show


@contextmanager
def _show_progress_bars() -> Iterator[Progress]:
    """Yield a function that draws a progress bar for each stage of a command."""
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description:<11}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True)) as bars:
        bar_of_stage: dict[str, Any] = {}

        def show_progress_of_stage(stage: str, done: int, total: int) -> None:
            if stage not in bar_of_stage:
                bar_of_stage[stage] = bars.add_task(stage, total=total)
            bars.update(bar_of_stage[stage], completed=done, total=total)

        yield show_progress_of_stage


class PlainProgress:
    """Shows progress in lines of text: one when a stage ends, and one per minute with the speed and the
    remaining time.
    """

    def __init__(self) -> None:
        self._stage_starts: dict[str, tuple[float, int]] = {}
        self._last_line_at = time.monotonic()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Record how far a stage is, and print a line if it is time for one."""
        now = time.monotonic()
        # A resumed run begins with finished steps, which must not count for the speed.
        started_at, done_at_start = self._stage_starts.setdefault(stage, (now, done))
        if done == total:
            print(f"{stage}: done ({total} of {total})", file=sys.stderr, flush=True)
        elif done > done_at_start and now - self._last_line_at >= SECONDS_BETWEEN_LINES:
            self._last_line_at = now
            per_second = (done - done_at_start) / (now - started_at)
            minutes_left = (total - done) / per_second / 60
            estimate = f"{per_second:,.3g} a second, {minutes_left:,.0f} min left"
            print(f"{stage}: {done} of {total}, {estimate}", file=sys.stderr, flush=True)
