"""Summarize the data that a verb works on (`metassay.results.data_summary`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from metassay.data.columns import find_unusable_columns
from metassay.data.dataset import Dataset
from metassay.data.directions import ScoreDirection, decide_if_higher_is_better
from metassay.data.score_cube import ScoreCube
from metassay.data.verdicts import VerdictTable
from metassay.results.data_summary import (
    HIGHER,
    HUMAN_SCORE,
    LOWER,
    METRIC_SCORE,
    DataSummary,
    ScoreSummary,
    SystemSummary,
)

NO_HUMAN_SCORE_REASON = "no human score"
NO_METRIC_SCORE_REASON = "no metric score"
NO_VERDICT_REASON = "no verdict"
NO_HUMAN_LABEL_REASON = "no human label"
DIVIDED_RATERS_REASON = "raters are divided equally"
_DEFINED_BY_METRIC = "part of the metric's definition"
_GIVEN_WITH_SCORES = "given with the scores"


def summarize_dataset(dataset: Dataset, higher_is_better: Mapping[str, bool] | None = None) -> DataSummary:
    """Count the outputs, items and systems of a data set, and describe the scores of its outputs.

    `higher_is_better` has the direction of each metric that is computed.
    """
    counts = dataset.outputs.group_by("system").agg(
        pl.len().alias("outputs"),
        pl.col("item").n_unique(),
        build_filter_for_empty_outputs(dataset.outputs["output"].dtype).sum(),
    )
    languages = sorted({language for language in dataset.languages if language is not None})
    scores = [_summarize_human_score(dataset, name, languages) for name in dataset.human]
    for metric, is_higher in (higher_is_better or {}).items():
        better = HIGHER if is_higher else LOWER
        scores.append(ScoreSummary(metric, METRIC_SCORE, better, _DEFINED_BY_METRIC, languages))
    return DataSummary(
        outputs=len(dataset),
        items=dataset.outputs["item"].n_unique(),
        systems=[SystemSummary(*row) for row in counts.sort("system").iter_rows()],
        left_out=dict(sorted(dataset.left_out.items())),
        ignored_columns=dict(sorted(dataset.ignored_columns.items())),
        scores=scores,
    )


def build_filter_for_empty_outputs(output_dtype: pl.DataType) -> pl.Expr:
    """Build a Polars expression that is true for empty outputs: blank texts and ranked lists without
    documents.
    """
    output = pl.col("output")
    return output.list.len() == 0 if output_dtype.is_nested() else output.str.strip_chars() == ""


def _summarize_human_score(dataset: Dataset, score_name: str, languages: list[str]) -> ScoreSummary:
    """Describe a human score of a data set: whether higher is better, the languages, and how many outputs
    have the score.
    """
    scores = dataset.outputs[score_name].cast(pl.Float64)
    direction = None
    for known_direction in dataset.directions:
        if known_direction.score == score_name:
            direction = known_direction
    if direction is None:
        direction = decide_if_higher_is_better(score_name, scores.to_numpy(), score_kind=HUMAN_SCORE)
    rated = len(scores) - scores.null_count()
    return ScoreSummary(score_name, HUMAN_SCORE, direction.better, direction.why, languages, rated)


def summarize_score_cubes(
    score_cubes: Sequence[ScoreCube],
    human_score: str | None,
    *,
    left_out: Mapping[str, int] | None = None,
    ignored_columns: Mapping[str, str] | None = None,
    languages: Iterable[str] = (),
) -> DataSummary:
    """Count the systems, items and outputs of several data sets, and describe all human and metric scores."""
    counts = Counter(left_out or {})
    outputs_of_system: Counter[str] = Counter()
    items: set[str] = set()
    for cube in score_cubes:
        # Without metrics, the outputs with a human score are counted.
        has_metric = _mark_outputs_with_any_score(cube, cube.metric_scores or cube.human_scores)
        has_human = has_metric
        if human_score is not None and human_score in cube.human_scores:
            has_human = ~np.isnan(cube.human_scores[human_score])
        counts[NO_HUMAN_SCORE_REASON] += int((has_metric & ~has_human).sum())
        counts[NO_METRIC_SCORE_REASON] += int((has_human & ~has_metric).sum())
        is_used = has_metric & has_human
        for system, used in zip(cube.systems, is_used):
            outputs_of_system[system] += int(used.sum())
        qualified = cube.qualified_items
        items.update(qualified[position] for position in np.flatnonzero(is_used.any(axis=0)))
    systems = [SystemSummary(name, count, count) for name, count in sorted(outputs_of_system.items())]
    return DataSummary(
        outputs=sum(outputs_of_system.values()),
        items=len(items),
        systems=systems,
        left_out={reason: count for reason, count in sorted(counts.items()) if count},
        ignored_columns=dict(sorted((ignored_columns or {}).items())),
        scores=_summarize_each_score(score_cubes, sorted(set(languages))),
    )


def _mark_outputs_with_any_score(
    score_cube: ScoreCube, scores_by_name: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return an array of systems by items that is true for outputs with at least one of the given scores."""
    has_score = np.zeros((len(score_cube.systems), len(score_cube.items)), dtype=bool)
    for array in scores_by_name.values():
        has_score |= ~np.isnan(array)
    return has_score


def _summarize_each_score(score_cubes: Sequence[ScoreCube], languages: list[str]) -> list[ScoreSummary]:
    """Describe every human and metric score: whether higher is better, the languages, and how many outputs
    have the score.
    """
    directions: dict[str, ScoreDirection] = {}
    counts: Counter[str] = Counter()
    for cube in score_cubes:
        reasons = {direction.score: direction.why for direction in cube.directions}
        for kind, scores in ((HUMAN_SCORE, cube.human_scores), (METRIC_SCORE, cube.metric_scores)):
            for name, array in scores.items():
                better = LOWER if name in cube.lower_is_better else HIGHER
                why = reasons.get(name, _GIVEN_WITH_SCORES)
                directions[name] = ScoreDirection(name, kind, better, why)
                counts[name] += int((~np.isnan(array)).sum())
    return [
        ScoreSummary(name, direction.kind, direction.better, direction.why, languages, counts[name])
        for name, direction in sorted(directions.items(), key=lambda entry: (entry[1].kind, entry[0]))
    ]


def summarize_verdicts(verdict_table: VerdictTable, raw_table: pl.DataFrame) -> DataSummary:
    """Count the verdicts of LLM judges, and the items and outputs of each system.

    `raw_table` is the table as it was read, with all of its columns.
    """
    systems = []
    if verdict_table.has_columns("system"):
        counts = (
            verdict_table.frame.group_by("system").agg(pl.len(), pl.col("item").n_unique()).sort("system")
        )
        systems = [SystemSummary(str(name), outputs, items) for name, outputs, items in counts.iter_rows()]
    return DataSummary(
        outputs=verdict_table.frame.height,
        items=verdict_table.frame["item"].n_unique(),
        systems=systems,
        left_out=_count_verdicts_left_out(verdict_table, raw_table.columns),
        ignored_columns=dict(sorted(find_unusable_columns(raw_table).items())),
        scores=[
            ScoreSummary(direction.score, direction.kind, direction.better, direction.why, [])
            for direction in verdict_table.directions
        ],
    )


def _count_verdicts_left_out(verdict_table: VerdictTable, columns: Sequence[str]) -> dict[str, int]:
    """Count the rows without a verdict, and those whose verdict is not compared with people, by reason.

    `columns` are those of the input. If the human labels are none of them, they are the majority of raters.
    """
    has_verdict = pl.col("value").is_not_null()
    reasons = {NO_VERDICT_REASON: ~has_verdict}
    if verdict_table.gold is not None:
        has_label = pl.col("gold").is_not_null()
        has_rater = pl.lit(value=False)
        if verdict_table.gold not in columns:
            has_rater = pl.any_horizontal(pl.col(*verdict_table.raters).is_not_null())
        reasons[NO_HUMAN_LABEL_REASON] = has_verdict & ~has_label & ~has_rater
        reasons[DIVIDED_RATERS_REASON] = has_verdict & ~has_label & has_rater
    counts = {
        reason: verdict_table.frame.filter(is_left_out).height for reason, is_left_out in reasons.items()
    }
    return {reason: count for reason, count in counts.items() if count}
