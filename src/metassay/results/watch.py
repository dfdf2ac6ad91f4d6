"""Result of `watch`: whether anything changed in a series of runs."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, Interval, ResultStruct, Share
from metassay.results.verdict import Claim

# How often a metric prefers the better output of a pair.
ACCURACY = "accuracy"
# How often a metric prefers the output with the higher human score.
HUMAN_AGREEMENT = "agreement"
# How often a judge agrees with human labels.
JUDGE_ACCURACY = "judge accuracy"
# How often a judge gives the same verdict when two outputs are shown in the other order.
JUDGE_CONSISTENCY = "judge consistency"


class WatchedRun(msgspec.Struct, frozen=True):
    """One run in a series of runs: its value, and the mean of all runs so far with an interval."""

    run: str
    value: float
    clusters: Count
    mean: Interval


class SeriesChange(msgspec.Struct, frozen=True):
    """A significant change in a series of runs: the run with which it began, the run that showed it, and the
    means before and after.

    `before` is the mean of the runs before `first_run`, `after` that of the runs from it to `shown_by`.
    The intervals are those of confidence sequences, which hold at every look.
    """

    first_run: str
    shown_by: str
    before: Interval
    after: Interval


class WatchedSeries(msgspec.Struct, frozen=True):
    """The values of one metric or judge in a series of runs, and whether they changed."""

    metric: str
    """The name of the metric or the judge."""
    measure: str
    """`accuracy`, `agreement` with human scores, a meta-metric such as `spa`, `judge accuracy` or
    `judge consistency`."""
    runs: list[WatchedRun]
    change: SeriesChange | None
    delay: Count | None
    """After how many more runs like these a change of .05 is expected to be shown; None for over 1,000."""
    delay_of_fixed_test: Count | None
    """The same for a single test at a fixed number of runs, which must not be repeated."""


class WatchContent(ResultStruct, frozen=True, kw_only=True):
    """The values of metrics and judges in a series of runs, oldest run first, and whether
    anything changed.
    """

    runs: list[str]
    changed: bool
    error_rate: Share
    """The probability that anything is called a change although nothing changed, at any look."""
    series: list[WatchedSeries]
    notes: list[str] = msgspec.field(default_factory=list)
    verdict: list[Claim] = msgspec.field(default_factory=list)
