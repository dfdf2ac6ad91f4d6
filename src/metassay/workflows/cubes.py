"""Scores of people and metrics for the verbs that compare them: read, or computed where there are texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from metassay.data.columns import item_names, output_names
from metassay.data.cube import Cube
from metassay.data.preparation import normalisation, prepared
from metassay.data.readers.registry import How
from metassay.data.score_files import Directions, Scores, chosen_cubes, read_cubes
from metassay.engine.local import score_rows
from metassay.errors import UnknownName
from metassay.metrics.registry import chosen_metrics, directions
from metassay.settings import names_of
from metassay.specs import single_parts
from metassay.workflows.read import read, scoring_rows
from metassay.workflows.settings import Compared, ScoreReading

Source = Any
"""Whatever `read` takes, tables of scores alone, a folder of mt-metrics-eval, or cubes."""
ROW = "_place"


def read_scores(
    source: Source, asked: Compared, reading: ScoreReading, *, also: Sequence[str] = (), rated: bool = True
) -> Scores:
    """The scores that a verb compares. `also` names columns beside the metrics that are no human scores;
    with `rated=False` nobody need have rated.

    `human` and `metrics` settle of which kind a column is. Metrics of ours that are asked for and are no
    column are computed from the texts. Columns with the exact name of one of our metrics of which lower is
    better (`ter`, `wer`) are turned around, and a note says so; `lower_is_better` names others,
    `higher_is_better` those to leave as they are.
    """
    said = Directions(
        names_of(asked.human), names_of(asked.lower_is_better), names_of(asked.higher_is_better)
    )
    parts = [source] if isinstance(source, Cube) else source
    if isinstance(parts, Sequence) and parts and all(isinstance(part, Cube) for part in parts):
        given = [part for part in parts if isinstance(part, Cube)]
        return chosen_cubes(given, said, names_of(asked.metrics), [], rated=rated)
    return read_cubes(
        source,
        said,
        single_parts(asked.metrics or []),
        also=also,
        ours=directions,
        computed=partial(_computed, reading),
        keep_references=reading.keep_references,
        rated=rated,
        how=How(reading.quoting, None, tuple(reading.reference)),
        join=reading.join,
        columns=reading.columns,
        where=reading.where,
        systems=reading.systems,
        exclude_systems=reading.exclude_systems,
    )


def _computed(
    reading: ScoreReading, frame: pl.DataFrame, missing: Sequence[Any]
) -> tuple[pl.DataFrame, list[str], list[str]]:
    """The frame with metrics that were asked for and are no column; their names; how they were computed."""
    if not {name.lower() for name in frame.columns} & {*output_names()}:
        raise UnknownName("metric", str(missing[0]), [c for c in frame.columns if c not in item_names()])
    numbered = frame.with_row_index(ROW)
    data = read(numbered, task=reading.task, language=reading.language, references="per-output")
    data = prepared(data, normalize=None, keep_references=True)
    chosen = chosen_metrics(data, missing, normalisation(data, None))
    scores = score_rows(chosen, scoring_rows(data)).scores
    made = data.outputs.select(ROW).with_columns(
        [pl.Series(spec, values).fill_nan(None) for spec, values in scores.items()]
    )
    names = [metric.spec for metric in chosen]
    notes = [f"Computed from the texts: {metric.signature}." for metric in chosen]
    return numbered.join(made, on=ROW, how="left", maintain_order="left").drop(ROW), names, notes
