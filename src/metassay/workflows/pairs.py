"""What counts in an assay: pairs that people scored or made or that lost gain, weights, facts on contexts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.clusters import Clusters
from metassay.data.context import Context
from metassay.data.dataset import Dataset
from metassay.data.score_arrays import ScoreArrays
from metassay.data.test_sets import name_test_sets
from metassay.errors import InputError, Place, UnknownName
from metassay.meta.contexts.agreement_prediction import ContextFacts
from metassay.meta.contexts.density_weights import estimate_density_weights
from metassay.meta.contexts.human_pairs import HumanPairs
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes, compare_scores
from metassay.metrics.base import Metric
from metassay.options import PERTURBED_PAIRS
from metassay.perturbations.pairs import Pairs, PerturbationCount
from metassay.perturbations.ranking_pairs import GainChange, RankedPairs, gain_change
from metassay.workflows.options import AssaySettings
from metassay.workflows.pair_scoring import JudgedPairs

METHOD = "human"
"""Stands where the perturbation stands in pairs that were made worse."""
UNNAMED = "unnamed"
"""Stands there in pairs of which nobody says how they were made."""
EQUAL_SIDES = "both sides of the pair are equal"
DENSITY = "density"
EXPERTS = ("mqm", "esa", "da_sqm", "da")
"""Of several human scores the one to hear when none is named: those that cost people most come first."""


def human_column(dataset: Dataset, named: str | None) -> str:
    """The human score to use: the one named, or the only one."""
    if named is not None:
        if named not in dataset.human:
            raise UnknownName("human score", named, dataset.human)
        return named
    if len(dataset.human) != 1:
        listing = ", ".join(dataset.human) or "none"
        raise InputError(
            f"the data has not one human score but: {listing}.", remedy="Name one with --human COLUMN."
        )
    return dataset.human[0]


def human_pairs(dataset: Dataset, human: str, minimum_gap: float = 0.0) -> Pairs:
    """Every two outputs of an item whose human scores differ by more than `minimum_gap`, the better first.

    `frame` has the columns of perturbed pairs, and `worse_system`. Outputs of equal text are no pair.
    """
    better, worse = human_rows(dataset, human, minimum_gap)
    sides = [dataset.outputs.select("item", "system", "output")[rows] for rows in (better, worse)]
    frame = sides[0].select(
        "item",
        "system",
        pl.lit(METHOD).alias("perturbation"),
        "output",
        sides[1]["output"].alias("worse"),
        sides[1]["system"].alias("worse_system"),
    )
    if frame.is_empty():
        raise InputError(f"no two outputs of an item differ in {human} by more than {minimum_gap:g}.")
    count = PerturbationCount(applied=frame.height, pairs=frame.height)
    unrated = dataset.outputs[human].null_count()
    notes = (f"{unrated} outputs without {human} are in no pair.",) if unrated else ()
    return Pairs(frame, {METHOD: count}, notes, worse_rows=worse)


def human_rows(
    dataset: Dataset, human: str, minimum_gap: float = 0.0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the better and of the worse output of each such pair, in the order of the data."""
    if minimum_gap < 0:
        raise InputError(f"a minimum gap of {minimum_gap} is negative.")
    rated = dataset.outputs.select("item", human).with_row_index("row").drop_nulls(human)
    both = rated.join(rated, on="item", suffix="_worse").filter(
        pl.col(human) - pl.col(f"{human}_worse") > minimum_gap
    )
    found, texts = both.select("row", "row_worse").sort("row", "row_worse"), dataset.outputs["output"]
    found = found.filter(texts[found["row"]] != texts[found["row_worse"]])
    return found["row"].cast(pl.Int64).to_numpy(), found["row_worse"].cast(pl.Int64).to_numpy()


def people_column(dataset: Dataset, asked: AssaySettings, named: str | None) -> tuple[str | None, list[str]]:
    """The human score by which an assay of made pairs hears people too, or None; and a note on the choice.

    The one named, else the first of `EXPERTS`, else the first; scores of single raters (`mqm:rater1`) last.
    """
    if asked.pairs != PERTURBED_PAIRS or not dataset.human or dataset.task_definition.is_ranking:
        return None, []
    if asked.preprocess != "none":
        return None, ["People judged the texts as they are, not preprocessed: pairs of theirs are not used."]
    if named is not None or len(dataset.human) == 1:
        return named or dataset.human[0], []
    known = {name: place for place, name in enumerate(EXPERTS)}
    first = min(dataset.human, key=lambda name: (":" in name, known.get(name.lower(), len(known))))
    listed = ", ".join(dataset.human)
    return first, [f"Of the human scores ({listed}) {first} is heard; --human names another."]


def people_side(
    dataset: Dataset,
    human: str,
    judged: JudgedPairs,
    metrics: Sequence[Metric],
    contexts: Sequence[Context],
    weights: NDArray[np.float64] | None,
) -> HumanPairs | None:
    """What people said of the outputs; None where they tell no two outputs of an item apart."""
    better, worse = human_rows(dataset, human)
    if not len(better):
        return None
    unit, scores = judged.unit, judged.outputs
    outcome = [
        compare_scores(own[None, better], own[None, worse], np.array([metric.tie_tolerance]))
        for metric, own in zip(metrics, scores)
    ]
    pairs = PairOutcomes(
        metrics=tuple(metric.spec for metric in metrics),
        perturbation_names=(METHOD,),
        outcomes=np.concatenate(outcome),
        items=unit.items[better],
        outputs=better.astype(np.int32),
        clusters=unit.codes[better],
        perturbations=np.zeros(len(better), dtype=np.int32),
        weights=None if weights is None else weights[better],
        worse_outputs=worse.astype(np.int32),
    )
    within = [
        PairContexts(context.name, context.values, context.codes[better], context.codes[worse])
        for context in contexts
    ]
    return HumanPairs(human, pairs, within, _rated_systems(dataset, human, unit, scores))


def _rated_systems(
    dataset: Dataset, human: str, unit: Clusters, scores: NDArray[np.float64]
) -> list[ScoreArrays]:
    """Of each test set the segments in which people scored every system that they scored at all."""
    system = dataset.outputs["system"].rank("dense").to_numpy()
    frame = pl.DataFrame({"row": np.arange(len(dataset)), "set": name_test_sets(dataset)})
    found = []
    for _, rated in frame.filter(dataset.outputs[human].is_not_null()).group_by("set", maintain_order=True):
        rows = rated["row"].to_numpy()
        place, systems = _numbered(system[rows])
        segment, segments = _numbered(unit.items[rows])
        table = np.full((systems, segments), -1)
        table[place, segment] = rows
        whole = np.flatnonzero((table >= 0).all(axis=0))
        places = table[:, whole[np.argsort(table[:, whole].min(axis=0, initial=len(dataset)))]]
        if len(places) > 1 and places.size:
            people = dataset.outputs[human].to_numpy()[places]
            found.append(ScoreArrays(people, scores[:, places], unit.codes[places[0]]))
    return found


def _numbered(codes: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """For each the place of its code among those that occur, and how many these are."""
    held, place = np.unique(codes, return_inverse=True)
    return place.ravel(), len(held)


def told_apart(dataset: Dataset) -> Dataset:
    """The pairs whose two sides differ; the others are counted."""
    return dataset.filter_rows(dataset.outputs["output"] != dataset.outputs["worse"], reason=EQUAL_SIDES)


def given_pairs(dataset: Dataset) -> Pairs:
    """The pairs that a data set of pairs holds, one per row, in its order."""
    outputs = dataset.outputs
    named = "perturbation" in outputs.columns
    method = pl.col("perturbation").fill_null(UNNAMED) if named else pl.lit(UNNAMED).alias("perturbation")
    frame = outputs.select("item", "system", method, "output", "worse")
    held = dict(frame["perturbation"].value_counts().iter_rows())
    counts = {name: PerturbationCount(applied=count, pairs=count) for name, count in held.items()}
    distinct = outputs.select("item", "system", "output").n_unique()
    notes = _hopeless(outputs)
    if distinct < len(dataset):
        notes = [
            f"{distinct:,} distinct outputs are in {len(dataset):,} pairs; each pair counts as one output.",
            *notes,
        ]
    return Pairs(frame, counts, tuple(notes), rows=np.arange(len(dataset)))


def _hopeless(outputs: pl.DataFrame) -> list[str]:
    """A note on pairs whose worse side is a reference and whose better side is none."""
    if "references" not in outputs.columns:
        return []
    own, worse = (pl.col("references").list.contains(pl.col(side)) for side in ("output", "worse"))
    count = outputs.filter(worse & ~own).height
    said = "the worse text is the reference itself: a metric that rewards likeness to it must be wrong there."
    return [f"In {count:,} pairs {said}"] if count else []


def checked(pairs: Pairs, *, valid_only: bool) -> Pairs:
    """The pairs with a note on how many copies lost gain, and `validity` by method; for texts, as they are.

    With `valid_only` the pairs whose copy did not lose gain are dropped: their label is wrong. A method whose
    copies gain as often as they lose makes nothing worse: then it is refused, all its pairs dropped.
    """
    if not isinstance(pairs, RankedPairs):
        if valid_only:
            raise InputError("only of rankings can it be told which pairs are valid.")
        return pairs
    found = gain_change(pairs.lists.take(pairs.rows), pairs.copies)
    methods = pairs.frame["perturbation"].to_numpy()
    validity = {name: found.take(methods == name).counts() for name in pairs.counts}
    refused = [
        name for name, count in validity.items() if valid_only and count["better"] >= max(count["worse"], 1)
    ]
    for name in refused:
        validity[name]["refused"] = 1
    noted = replace(pairs, notes=(*pairs.notes, _note(found, valid_only=valid_only)), validity=validity)
    kept = found.worse & ~np.isin(methods.astype(str), refused)
    if valid_only and not kept.any():
        gained = f" {', '.join(refused)}: copies gained as often as they lost." if refused else ""
        raise InputError(
            f"no reordered list lost gain, so no pair is valid.{gained}",
            remedy="--all-pairs keeps every pair, whatever its label is worth.",
        )
    return noted.filter_rows(kept) if valid_only else noted


def _note(found: GainChange, *, valid_only: bool) -> str:
    total = len(found.change)
    counts = Counter(np.sign(found.change).astype(int).tolist())
    shares = {sign: f"{100 * counts[sign] / max(total, 1):.1f} %" for sign in (-1, 0, 1)}
    clear = f"{100 * found.clear.mean():.1f} %" if total else "0 %"
    fate = (
        "The last two are dropped."
        if valid_only
        else "The labels of the last two are wrong: without --all-pairs they are dropped."
    )
    return (
        f"Of {total} reordered lists {shares[-1]} lost discounted gain "
        f"({clear} hold more than before at no rank), {shares[0]} kept it and {shares[1]} won. {fate}"
    )


def output_weights(
    dataset: Dataset, wanted: str | None, contexts: Sequence[Context]
) -> NDArray[np.float64] | None:
    """One weight per output: a column's numbers, or how typical the output is of its (first) context.

    `density` estimates the density of the context from the lengths of output, reference and source, so that
    odd outputs count less.
    """
    if wanted is None or wanted == "uniform":
        return None
    if wanted == DENSITY:
        return estimate_density_weights(_features(dataset), contexts[0].codes)
    if wanted not in dataset.outputs.columns:
        raise UnknownName("column of weights", wanted, (DENSITY, "uniform", *dataset.metadata))
    weights = dataset.outputs[wanted].cast(pl.Float64, strict=False)
    bad = (
        weights.is_null() | ~weights.is_finite().fill_null(value=False) | (weights <= 0).fill_null(value=True)
    )
    if bad.any():
        first = dataset.outputs.row(int(bad.arg_max() or 0), named=True)
        raise InputError(
            f"the weight of item {first['item']}, system {first['system']} is {first[wanted]}; "
            "weights are positive numbers.",
            place=Place(column=wanted),
        )
    return weights.to_numpy()


def context_metadata(dataset: Dataset, contexts: Sequence[Context]) -> dict[str, ContextFacts]:
    """By column, what the data says of its contexts."""
    lengths = _lengths(dataset.outputs["output"])
    return {context.name: _metadata(dataset, context, lengths) for context in contexts}


def _metadata(dataset: Dataset, context: Context, lengths: NDArray[np.float64]) -> ContextFacts:
    """What the data says of each context: columns with one value in it, mean length and human scores."""
    told = (dataset.outputs[name] for name in dataset.metadata)
    outputs = pl.DataFrame([pl.Series("_code", context.codes), *told])
    outputs = outputs if (context.codes >= 0).all() else outputs.filter(pl.col("_code") >= 0)
    asked = set(context.name.replace(":", "+").split("+"))
    known: dict[str, list[str | float]] = {}
    for name in (column for column in dataset.metadata if column not in asked):
        grouped = outputs.group_by("_code").agg(
            pl.col(name).n_unique().alias("n"), pl.col(name).first().cast(pl.String)
        )
        values = grouped.sort("_code")[name]
        if (grouped["n"] == 1).all() and not values.has_nulls() and values.n_unique() > 1:
            known[name] = values.to_list()
    numbers = {"output_length": lengths}
    scores = (name for name in dataset.human if name not in asked)
    numbers |= {f"mean_{name}": dataset.outputs[name].to_numpy() for name in scores}
    for name, own in numbers.items():
        inside = (context.codes >= 0) & ~np.isnan(own)
        codes, size = context.codes[inside], len(context.values)
        count = np.bincount(codes, minlength=size)
        if (count > 0).all():
            known[name] = (np.bincount(codes, own[inside], minlength=size) / count).tolist()
    return known


def _features(dataset: Dataset) -> NDArray[np.float64]:
    outputs = dataset.outputs
    lengths = [_lengths(outputs["output"])]
    if "references" in outputs.columns:
        lengths.append(_lengths(outputs["references"].list.first()))
    if "source" in outputs.columns:
        lengths.append(_lengths(outputs["source"].fill_null("")))
    return np.log1p(np.column_stack(lengths))


def _lengths(column: pl.Series) -> NDArray[np.float64]:
    """Words of a text, documents of a list."""
    if column.dtype.is_nested():
        return column.list.len().cast(pl.Float64).to_numpy()
    words = (np.nan if text is None else len(text.split()) for text in column)
    return np.fromiter(words, np.float64, len(column))
