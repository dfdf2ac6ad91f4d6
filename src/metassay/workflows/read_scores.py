"""Read the human and metric scores that `rank`, `depend`, `estimate` and `annotate` compare.

Metrics that are not in the data are computed from its texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from metassay.data.columns import list_column_names
from metassay.data.directions import RequestedDirections
from metassay.data.normalisation import choose_normalisation
from metassay.data.preparation import prepare_dataset
from metassay.data.readers.base import ReaderOptions
from metassay.data.reading import Source, read
from metassay.data.score_cube import ScoreCube
from metassay.data.score_files import ScoreRequest, Scores, chosen_cubes, read_cubes
from metassay.data.uninformed_scores import find_uninformed_metrics
from metassay.engine.scoring import score_rows
from metassay.errors import UnknownName
from metassay.metrics.registry import find_metric_directions
from metassay.metrics.selection import choose_metrics
from metassay.metrics.sentinels import SENTINELS
from metassay.options import split_names
from metassay.reporting.assay_sentences import describe_uninformed_metric
from metassay.specs import split_specs
from metassay.workflows.options import AnnotateOptions, DependOptions, EstimateOptions, RankOptions
from metassay.workflows.scoring_rows import build_scoring_rows

_ROW = "_scored_row"
_SENTINEL_NAMES = frozenset(sentinel.name for sentinel in SENTINELS)

ComparisonOptions = RankOptions | DependOptions | EstimateOptions | AnnotateOptions
"""Options of the verbs that compare metric scores with human scores."""


def read_scores(
    source: Source,
    options: ComparisonOptions,
    *,
    further_columns: Sequence[str] = (),
    needs_human_scores: bool = True,
) -> Scores:
    """Read the scores that a verb compares.

    The options `human` and `metrics` decide what kind of score a column is. A requested metric that is no
    column is computed from the texts. Scores of metrics for which lower is better (`ter`, `wer`) are
    reversed, with a note; `lower_is_better` and `higher_is_better` name exceptions. `further_columns` are
    columns that are neither metrics of ours nor human scores.
    """
    directions = RequestedDirections(
        split_names(options.lower_is_better), split_names(options.higher_is_better)
    )
    request = ScoreRequest(split_names(options.human), directions, has_clusters=options.cluster is not None)
    metrics = split_specs(options.metrics or [])
    cubes = _list_cubes(source)
    if cubes:
        names = [str(metric) for metric in metrics]
        return chosen_cubes(cubes, request, names, [], rated=needs_human_scores)
    return read_cubes(
        source,
        request,
        metrics,
        also=further_columns,
        ours=find_metric_directions,
        computed=partial(_compute_metrics, options),
        keep_references=options.keep_references,
        rated=needs_human_scores,
        how=ReaderOptions(options.quoting, reference=tuple(options.reference)),
        join=options.join,
        columns=options.columns,
        where=options.where,
        systems=options.systems,
        exclude_systems=options.exclude_systems,
    )


def mark_uninformed_metrics(cube: ScoreCube) -> tuple[ScoreCube, frozenset[str]]:
    """Find the metrics that know nothing about single outputs, and add a note for each to the cube.

    These are sentinels, and metrics whose scores depend on the system or the item alone.
    """
    properties = find_uninformed_metrics(cube)
    sentinels = {name for name in cube.metric_scores if name.partition("(")[0].lower() in _SENTINEL_NAMES}
    notes = [
        describe_uninformed_metric(metric, determining_property)
        for metric, determining_property in properties.items()
        if metric not in sentinels
    ]
    return cube.add_notes(*notes), frozenset(properties) | sentinels


def _list_cubes(source: Source) -> list[ScoreCube]:
    """Return the score cubes that a source consists of. Empty if it is anything else."""
    parts = [source] if isinstance(source, ScoreCube) else source
    if not isinstance(parts, Sequence):
        return []
    cubes = [part for part in parts if isinstance(part, ScoreCube)]
    return cubes if len(cubes) == len(parts) else []


def _compute_metrics(
    options: ComparisonOptions, table: pl.DataFrame, missing: Sequence[Any]
) -> tuple[pl.DataFrame, list[str], list[str]]:
    """Compute the missing metrics, or the default ones of the task if none is named, from texts of a table.

    Returns the table with a column for each, their names, and notes on how they were computed.
    """
    column_names = {name.lower() for name in table.columns}
    if not column_names & {*list_column_names("output")}:
        if not missing:
            return table, [], []
        possible = [name for name in table.columns if name not in list_column_names("item")]
        raise UnknownName("metric", str(missing[0]), possible)
    numbered = table.with_row_index(_ROW)
    data = read(numbered, task=options.task, language=options.language, references="per-output")
    data = prepare_dataset(data, normalize=None, keep_references=True)
    metrics = choose_metrics(data, missing or None, choose_normalisation(data, None))
    scores = score_rows(metrics, build_scoring_rows(data)).scores
    columns = [pl.Series(spec, values).fill_nan(None) for spec, values in scores.items()]
    computed = data.outputs.select(_ROW).with_columns(columns)
    scored = numbered.join(computed, on=_ROW, how="left", maintain_order="left").drop(_ROW)
    notes = [f"Computed from the texts: {metric.signature}." for metric in metrics]
    return scored, [metric.spec for metric in metrics], notes
