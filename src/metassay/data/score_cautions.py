"""Notes on what a reader of comparisons with human scores should check first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from metassay.data.clusters import CLUSTER_COLUMNS
from metassay.data.columns import select_columns_by_name
from metassay.data.directions import warn_of_scores_that_may_count_errors
from metassay.data.score_cube import ScoreCube
from metassay.data.similar_names import warn_of_similar_names
from metassay.errors import join_with_commas
from metassay.stats.arrays import FloatArray

# How often a metric that knows nothing is said to be worse than a constant.
CONTRARY_LEVEL = 0.001
# Scores of systems differ in spread by at most a factor of 4 in the WMT, REALSumm and TREC data that we know.
_LARGEST_SPREAD_RATIO = 8.0
# With fewer scores a system may lack the rare low scores of the others by chance.
_SCORES_FOR_SPREAD = 30
_SCORES_FOR_LOCATION = 10
# Numbers that people write for a missing score, and how often one must occur to be taken for that.
_CODES_OF_MISSING_SCORES = (-1.0, -9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0)
_FEWEST_CODES = 3
# A code lies this many times as far from the other scores as these lie from each other.
_GAP_BEFORE_CODE = 2.0
# On scales such as −1, 0 and 1 the value −1 is a score.
_LEAST_SCALE_WITH_CODE_MINUS_1 = 2.0
# With fewer items a metric may disagree with people by chance.
_MINIMUM_ITEMS = 10


def warn_of_doubtful_scores(
    score_cubes: Iterable[ScoreCube], human_score: str, *, has_clusters: bool
) -> list[str]:
    """Return notes on scores that may be misread: because lower may be better, because scales differ, or
    because items depend on each other.
    """
    notes: list[str] = []
    for cube in score_cubes:
        notes += warn_of_similar_names(cube.systems)
        if human_score not in cube.human_scores:
            continue
        if human_score not in cube.lower_is_better:
            notes += warn_of_scores_that_may_count_errors(human_score, cube.human_scores[human_score])
        notes += warn_if_score_scales_differ(
            human_score, dict(zip(cube.systems, cube.human_scores[human_score]))
        )
        notes += _warn_of_equal_human_scores(human_score, cube.human_scores[human_score])
        for name in (human_score, *cube.metric_scores):
            scores = cube.human_scores[name] if name == human_score else cube.metric_scores[name]
            notes += warn_of_values_that_may_mean_missing(name, scores)
        notes += warn_of_metrics_that_contradict_humans(cube, human_score)
        if not has_clusters:
            notes += _suggest_cluster_column(cube)
    return list(dict.fromkeys(notes))


def _warn_of_equal_human_scores(human_score: str, scores: FloatArray) -> list[str]:
    """Return a note if all human scores are equal, so that no metric can agree with them."""
    present = scores[~np.isnan(scores)]
    if len(present) < 2 or (present != present[0]).any():
        return []
    return [f"All scores of {human_score} are equal, so no metric can be compared with them."]


def warn_if_score_scales_differ(human_score: str, scores_by_system: Mapping[str, FloatArray]) -> list[str]:
    """Return a note on the systems whose human scores seem to be on another scale than those of the other
    systems, such as 0–1 instead of 0–100.

    A scale differs if its spread is 8 times as wide or narrow as that of the median system, or if the middle
    half of the scores lies outside the range of all other systems. The system that differs most is set aside
    before the others are compared, so that one wrong scale does not make the right ones look wrong. Missing
    scores are NaN.
    """
    ranges = {}
    for system, scores in scores_by_system.items():
        present = scores[~np.isnan(scores)]
        if len(present):
            ranges[system] = _ScoreRange.measure(present)
    suspects = {}
    while len(ranges) > 1:
        differences = {}
        for system, own in ranges.items():
            others = [other for name, other in ranges.items() if name != system]
            differences[system] = _measure_scale_difference(own, others)
        most_different = max(differences, key=lambda system: differences[system])
        if differences[most_different] == 0:
            break
        suspects[most_different] = ranges.pop(most_different)
    if not suspects:
        return []
    owner = "its" if len(suspects) == 1 else "their"
    other_systems = f"the other {len(ranges)} systems" if len(ranges) > 1 else next(iter(ranges))
    note = (
        f"{human_score} of {join_with_commas(sorted(suspects))} may be on another scale: {owner} scores lie"
        f" between {_describe_range(suspects.values())}, those of {other_systems} between"
        f" {_describe_range(ranges.values())}. Bring all human scores to one scale before you compare"
        " systems."
    )
    return [note]


@dataclass(frozen=True)
class _ScoreRange:
    """Where the human scores of a system lie."""

    count: int
    low: float
    high: float
    lower_quartile: float
    upper_quartile: float
    middle_spread: float
    """Range without the 5 % lowest and highest scores."""

    @classmethod
    def measure(cls, scores: FloatArray) -> _ScoreRange:
        """Measure where the scores of a system lie."""
        low, low_5, lower_quartile, upper_quartile, high_5, high = np.percentile(
            scores, [0, 5, 25, 75, 95, 100]
        )
        return cls(len(scores), low, high, lower_quartile, upper_quartile, high_5 - low_5)


def _describe_range(ranges: Iterable[_ScoreRange]) -> str:
    """Describe the lowest and the highest of all scores, as in "0 and 100"."""
    ranges = list(ranges)
    # Adding 0.0 turns −0.0 into 0.0.
    low = min(scores.low for scores in ranges) + 0.0
    high = max(scores.high for scores in ranges) + 0.0
    return f"{low:g} and {high:g}"


def warn_of_values_that_may_mean_missing(score_name: str, scores: FloatArray) -> list[str]:
    """Return a note if a value such as −999 seems to stand for missing scores.

    Such a value occurs several times, and lies far from all other scores; −1 need only be the only negative
    score of a scale of several points.
    """
    present = scores[~np.isnan(scores)]
    if not len(present):
        return []
    for code in _CODES_OF_MISSING_SCORES:
        is_code = present == code
        others = present[~is_code]
        if is_code.sum() < _FEWEST_CODES or not len(others) or is_code.sum() > len(others):
            continue
        low, high = float(others.min()), float(others.max())
        if code == -1:
            is_apart = low >= 0 and high > _LEAST_SCALE_WITH_CODE_MINUS_1
        else:
            is_apart = max(low - code, code - high) > _GAP_BEFORE_CODE * (high - low)
        if is_apart:
            note = (
                f"{score_name} is {code:g} in {is_code.sum()} rows and between {low:g} and {high:g} in all"
                f" others. If {code:g} means that there is no score, leave these cells empty."
            )
            return [note]
    return []


def warn_if_score_scales_differ_in_table(outputs: pl.DataFrame, human_score: str) -> list[str]:
    """Return a note on the systems in a table of outputs whose human scores seem to be on another scale than
    those of other systems.
    """
    scores_by_system = {}
    for system in sorted(outputs["system"].unique()):
        scores = outputs.filter(pl.col("system") == system)[human_score]
        scores_by_system[system] = scores.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return warn_if_score_scales_differ(human_score, scores_by_system)


def _measure_scale_difference(scores: _ScoreRange, others: Sequence[_ScoreRange]) -> float:
    """Measure how much the scale of a system differs from those of other systems. Returns 0 if there is no
    clear difference.
    """
    ratio = _measure_spread_ratio(scores, others)
    if ratio >= _LARGEST_SPREAD_RATIO:
        return ratio
    return 1.0 if _lies_outside_range_of_others(scores, others) else 0.0


def _measure_spread_ratio(scores: _ScoreRange, others: Sequence[_ScoreRange]) -> float:
    """Return how many times as wide or narrow as those of the median system the scores of a system spread.

    Of the ratios for the whole range and for the range without the 5 % lowest and highest scores, the smaller
    counts. Returns 0 if there are too few scores, or if scores are equal, which says nothing about the scale.
    """
    others = [other for other in others if other.count >= _SCORES_FOR_SPREAD]
    if scores.count < _SCORES_FOR_SPREAD or not others:
        return 0.0
    median_range = float(np.median([other.high - other.low for other in others]))
    median_middle = float(np.median([other.middle_spread for other in others]))
    ratios = []
    for spread, other_spread in (
        (scores.high - scores.low, median_range),
        (scores.middle_spread, median_middle),
    ):
        if spread == 0 or other_spread == 0:
            return 0.0
        ratios.append(max(spread / other_spread, other_spread / spread))
    return min(ratios)


def _lies_outside_range_of_others(scores: _ScoreRange, others: Sequence[_ScoreRange]) -> bool:
    """Return whether the middle half of the scores of a system lies outside the range of all other systems.

    A system whose scores are all equal may just be perfect.
    """
    others = [other for other in others if other.count >= _SCORES_FOR_LOCATION]
    if scores.count < _SCORES_FOR_LOCATION or not others or scores.low == scores.high:
        return False
    is_below = scores.upper_quartile < min(other.low for other in others)
    is_above = scores.lower_quartile > max(other.high for other in others)
    return is_below or is_above


def warn_of_metrics_that_contradict_humans(score_cube: ScoreCube, human_score: str) -> list[str]:
    """Return a note on metrics that prefer the outputs with lower human scores, more often than by chance."""
    human_scores = score_cube.get_higher_is_better_scores(human_score)
    contrary = []
    for name in score_cube.metric_scores:
        if does_metric_contradict_human_scores(human_scores, score_cube.get_higher_is_better_scores(name)):
            contrary.append(name)
    if not contrary:
        return []
    remedies = []
    reversed_scores = [name for name in contrary if name in score_cube.lower_is_better]
    if len(reversed_scores) < len(contrary):
        remedies.append("If lower scores are better, add --lower-is-better NAME.")
    if reversed_scores:
        # "lower is better" is already assumed of these, so that it cannot be the remedy.
        names = ", ".join(reversed_scores)
        remedies.append(f"If higher scores of {names} are better, add --higher-is-better NAME.")
    note = (
        f"These metrics prefer outputs with a lower {human_score}, so a constant score would be better: "
        f"{', '.join(contrary)}. {' '.join(remedies)}"
    )
    return [note]


def does_metric_contradict_human_scores(human_scores: FloatArray, metric_scores: FloatArray) -> bool:
    """Return whether a metric prefers outputs with lower human scores among the outputs of one item, more
    often than by chance.

    Both arrays are `[systems, items]`, higher is better. A constant metric has covariance 0 with human
    scores within every item. The metric is contrary if the mean covariance over items is negative with
    p below `CONTRARY_LEVEL`, one-sided t-test.
    """
    is_present = ~np.isnan(human_scores + metric_scores)
    counts = is_present.sum(axis=0)
    is_comparable = counts >= 2
    if is_comparable.sum() < _MINIMUM_ITEMS:
        return False
    present_human = np.where(is_present, human_scores, 0.0)[:, is_comparable]
    present_metric = np.where(is_present, metric_scores, 0.0)[:, is_comparable]
    counts = counts[is_comparable]
    products = (present_human * present_metric).sum(axis=0) / counts
    covariances = products - present_human.sum(axis=0) * present_metric.sum(axis=0) / counts**2
    spread = covariances.std(ddof=1)
    if spread == 0:
        return bool(covariances[0] < 0)
    # Imported only here, because it takes longer than reading and scoring a small file.
    from scipy.special import stdtr

    t = covariances.mean() / (spread / np.sqrt(len(covariances)))
    return bool(stdtr(len(covariances) - 1, t) < CONTRARY_LEVEL)


def _suggest_cluster_column(score_cube: ScoreCube) -> list[str]:
    """Return a note that suggests a column, such as a document id, by which items that depend on each other
    could be grouped.
    """
    for column in select_columns_by_name(score_cube.item_metadata, CLUSTER_COLUMNS):
        clusters = len(np.unique(score_cube.assign_items_to_clusters(column)))
        if 1 < clusters < len(score_cube.items):
            note = (
                f"Intervals and tests treat items as independent, but several items share one {column}. If "
                f"items of one {column} get similar scores, intervals are too narrow: add --cluster {column}."
            )
            return [note]
    return []
