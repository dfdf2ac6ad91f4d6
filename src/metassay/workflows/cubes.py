"""Scores of people and metrics for the verbs that compare them: read, or computed where there are texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from metassay.data.columns import item_names, output_names
from metassay.data.cube import Cube, cubes
from metassay.data.readers.registry import How
from metassay.data.score_files import ScoreFrame, read_score_frame
from metassay.engine.local import score_rows
from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Metric
from metassay.metrics.registry import parse_metric
from metassay.settings import Named, names_of
from metassay.specs import single_parts
from metassay.workflows.preparing import chosen_metrics, normalisation, prepared, scoring_rows
from metassay.workflows.read import read
from metassay.workflows.settings import Compared, ScoreReading

Source = Any
"""Whatever `read` takes, tables of scores alone, a folder of mt-metrics-eval, or cubes."""
ROW = "_place"


@dataclass(frozen=True)
class Scores:
    """One cube per data set that has human scores and metrics, and what was asked for in their names."""

    cubes: tuple[Cube, ...]
    human: str
    metrics: tuple[str, ...]
    """Those asked for; empty: all."""
    notes: tuple[str, ...] = ()


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
    parts = [source] if isinstance(source, Cube) else source
    if isinstance(parts, Sequence) and parts and all(isinstance(part, Cube) for part in parts):
        given = [part for part in parts if isinstance(part, Cube)]
        return _chosen(given, asked, names_of(asked.metrics), [], rated=rated)
    people = names_of(asked.human)
    read_in = read_score_frame(
        source,
        human=people,
        metrics=[part for part in single_parts(asked.metrics or []) if isinstance(part, str)],
        how=How(reading.quoting, None, tuple(reading.reference)),
        join=reading.join,
        columns=reading.columns,
        where=reading.where,
        systems=reading.systems,
        exclude_systems=reading.exclude_systems,
    )
    frame, metrics, computed = _with_computed(read_in, asked.metrics, reading)
    ours = _our_metrics(frame.columns)
    found = cubes(
        frame,
        human=[*dict.fromkeys([*people, *read_in.human])],
        metrics=[*ours, *metrics, *also],
        described=read_in.described,
        lower_is_better=frozenset(name for name, metric in ours.items() if not metric.higher_is_better),
        file=read_in.file,
        keep_references=reading.keep_references,
    )
    return _chosen(found, asked, metrics, [*read_in.notes, *computed], rated=rated)


def _chosen(
    found: Sequence[Cube], asked: Compared, metrics: Sequence[str], notes: list[str], *, rated: bool
) -> Scores:
    """The cubes with something to compare, in the directions that the user gave."""
    useful = [cube for cube in found if cube.metrics and (cube.human or not rated)]
    if not useful:
        lacking = "are no human scores" if any(cube.metrics for cube in found) else "is no metric to rank"
        raise InputError(
            f"there {lacking}.",
            remedy="Add a column with --join FILE, name one with --human, or compute metrics with --metrics.",
        )
    notes += [f"{c.dataset}: passed over, without metric or human scores." for c in found if c not in useful]
    lower, higher = names_of(asked.lower_is_better), names_of(asked.higher_is_better)
    turned = sorted({name for cube in useful for name in cube.lower} - {*lower, *higher})
    if turned:
        notes.append(
            f"Lower is better, so these scores are turned around: {', '.join(turned)}. "
            "Where that was done before, keep them with --higher-is-better."
        )
    human = _only_human(useful, asked.human) if rated else ""
    return Scores(tuple(_directed(useful, lower, higher)), human, tuple(metrics), tuple(notes))


def _with_computed(
    read_in: ScoreFrame, metrics: Any, reading: ScoreReading
) -> tuple[pl.DataFrame, list[str], list[str]]:
    """The frame with metrics that were asked for and are no column; their names; how they were computed."""
    frame = read_in.frame
    asked = single_parts(metrics or [])
    missing = [part for part in asked if not (isinstance(part, str) and part in frame.columns)]
    if not missing:
        return frame, [str(part) for part in asked], []
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
    names = iter(metric.spec for metric in chosen)
    specs = [next(names) if part in missing else str(part) for part in asked]
    notes = [f"Computed from the texts: {metric.signature}." for metric in chosen]
    return numbered.join(made, on=ROW, how="left", maintain_order="left").drop(ROW), specs, notes


def _our_metrics(names: Iterable[str]) -> dict[str, Metric]:
    """The names that are, to the letter, specs of our metrics: what `score --per-segment` writes."""
    found = {}
    for name in names:
        try:
            metric = parse_metric(name)
        except InputError:
            continue
        if metric.spec == name:
            found[name] = metric
    return found


def _only_human(found: Sequence[Cube], human: Named | None) -> str:
    """The human score asked for, the first where several are declared, or the only one there is."""
    if declared := names_of(human):
        return declared[0]
    known = list(dict.fromkeys(name for cube in found for name in cube.human if ":" not in name))
    if not known:
        raise InputError("there is no column of human scores.", remedy="Name one with --human COLUMN.")
    if len(known) > 1:
        raise InputError(
            f"there are several human scores: {', '.join(known)}.", remedy="Choose one with --human COLUMN."
        )
    return known[0]


def _directed(found: Sequence[Cube], lower: Sequence[str], higher: Sequence[str]) -> list[Cube]:
    """The cubes with the directions that the user gave; a name that no cube has is refused."""
    known = dict.fromkeys(name for cube in found for name in (*cube.metrics, *cube.human))
    for name in (*lower, *higher):
        if name not in known:
            raise UnknownName("score", name, known)
    if both := {*lower} & {*higher}:
        raise InputError(f"{', '.join(sorted(both))} cannot be both lower and higher is better.")
    return [replace(cube, lower=(cube.lower | {*lower}) - {*higher}) for cube in found]
