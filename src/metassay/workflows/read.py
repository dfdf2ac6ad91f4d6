"""`read` and `read_parallel_files`: from what a person names to a `Dataset`.

What several verbs do before their own work: take a path or a data set, normalise, drop own references.

Scores of people and metrics for the verbs that compare them: read, or computed where there are texts.

`check`: what was recognised, left out and missing, what will be made worse, what an assay would cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import polars as pl

from metassay.data.columns import TEST_SET_COLUMNS, list_column_names
from metassay.data.dataset import Dataset
from metassay.data.directions import RequestedDirections
from metassay.data.memory import set_memory_target
from metassay.data.normalisation import choose_normalisation
from metassay.data.preparation import prepare_dataset
from metassay.data.readers.base import ReaderOptions
from metassay.data.readers.remote_files import download_if_remote
from metassay.data.reading import Paths, Source, Where, read, read_parallel_files
from metassay.data.score_cube import ScoreCube
from metassay.data.score_files import ScoreRequest, Scores, chosen_cubes, read_cubes
from metassay.engine.batches import FIELDS, OutputRows
from metassay.engine.scoring import score_rows
from metassay.errors import MetassayError, UnknownName
from metassay.metrics.base import Metric
from metassay.metrics.conversion import convert_to_metric
from metassay.metrics.program_metric import ProgramMetric, is_executable_file
from metassay.metrics.registry import MetricChoice, find_metric_directions
from metassay.metrics.selection import choose_metrics
from metassay.options import split_names
from metassay.plugins import describe_user_error, load_from_file
from metassay.specs import split_specs
from metassay.workflows.options import DependOptions, RankOptions

__all__ = [
    "Paths",
    "Source",
    "Where",
    "download_if_remote",
    "read",
    "read_parallel_files",
    "set_memory_target",
]


def ensure_dataset(data: Dataset | Source) -> Dataset:
    """A data set as it is; anything else, read."""
    return data if isinstance(data, Dataset) else read(data)


def collect_metrics(
    metrics: MetricChoice, files: Sequence[str]
) -> list[str | Metric | Callable[..., Any]] | None:
    """Add metrics in the user's files (`FILE.py:NAME`, or a program) to the chosen; None for no metric."""
    chosen: list[str | Metric | Callable[..., Any]] = []
    if metrics is not None:
        chosen += split_specs(metrics)
    chosen += [_in_file(location) for location in files]
    return chosen or None


def _in_file(location: str) -> Metric:
    """The metric that `FILE.py:NAME` names, or a program; what the user's code raises is theirs."""
    if is_executable_file(location) or not (":" in location or location.endswith(".py")):
        return ProgramMetric(location)
    thing = load_from_file(location)
    try:
        return convert_to_metric(thing)
    except MetassayError:
        raise
    except Exception as error:
        raise describe_user_error(error) or error from error


def build_scoring_rows(dataset: Dataset) -> OutputRows:
    """What metrics may read of each output, with its language."""
    names = [name for name in FIELDS if name in dataset.outputs.columns]
    languages = pl.Series("language", dataset.languages, dtype=pl.String)
    return OutputRows(dataset.outputs.select(names).with_columns(languages), dataset.qrels)


def name_test_sets(dataset: Dataset) -> pl.Series:
    """The test set of each output, as `2023/en-de`; empty text where the data has no such columns."""
    names = [name for name in dataset.outputs.columns if name.lower() in TEST_SET_COLUMNS]
    names.sort(key=lambda name: TEST_SET_COLUMNS.index(name.lower()))
    if not names:
        return pl.Series("group", [""]).new_from_index(0, len(dataset))
    return dataset.outputs.select(pl.concat_str(names, separator="/").alias("group"))["group"]


ROW = "_place"


def read_scores(
    source: Source,
    options: RankOptions | DependOptions,
    *,
    also: Sequence[str] = (),
    rated: bool = True,
) -> Scores:
    """The scores that a verb compares. `also` names columns beside the metrics that are no human scores;
    with `rated=False` nobody need have rated.

    `human` and `metrics` settle of which kind a column is. Metrics of ours that are asked for and are no
    column are computed from the texts. Columns with the exact name of one of our metrics of which lower is
    better (`ter`, `wer`) are turned around, and a note says so; `lower_is_better` names others,
    `higher_is_better` those to leave as they are.
    """
    directions = RequestedDirections(
        split_names(options.lower_is_better), split_names(options.higher_is_better)
    )
    request = ScoreRequest(split_names(options.human), directions, has_clusters=options.cluster is not None)
    parts = [source] if isinstance(source, ScoreCube) else source
    if isinstance(parts, Sequence) and parts and all(isinstance(part, ScoreCube) for part in parts):
        given = [part for part in parts if isinstance(part, ScoreCube)]
        names = [str(metric) for metric in split_specs(options.metrics or [])]
        return chosen_cubes(given, request, names, [], rated=rated)
    return read_cubes(
        source,
        request,
        split_specs(options.metrics or []),
        also=also,
        ours=find_metric_directions,
        computed=partial(_computed, options),
        keep_references=options.keep_references,
        rated=rated,
        how=ReaderOptions(options.quoting, None, tuple(options.reference)),
        join=options.join,
        columns=options.columns,
        where=options.where,
        systems=options.systems,
        exclude_systems=options.exclude_systems,
    )


def _computed(
    options: RankOptions | DependOptions, frame: pl.DataFrame, missing: Sequence[Any]
) -> tuple[pl.DataFrame, list[str], list[str]]:
    """The frame with metrics that were asked for and are no column; their names; how they were computed."""
    if not {name.lower() for name in frame.columns} & {*list_column_names("output")}:
        raise UnknownName(
            "metric", str(missing[0]), [c for c in frame.columns if c not in list_column_names("item")]
        )
    numbered = frame.with_row_index(ROW)
    data = read(numbered, task=options.task, language=options.language, references="per-output")
    data = prepare_dataset(data, normalize=None, keep_references=True)
    chosen = choose_metrics(data, missing, choose_normalisation(data, None))
    scores = score_rows(chosen, build_scoring_rows(data)).scores
    made = data.outputs.select(ROW).with_columns(
        [pl.Series(spec, values).fill_nan(None) for spec, values in scores.items()]
    )
    names = [metric.spec for metric in chosen]
    notes = [f"Computed from the texts: {metric.signature}." for metric in chosen]
    return numbered.join(made, on=ROW, how="left", maintain_order="left").drop(ROW), names, notes
