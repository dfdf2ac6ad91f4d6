"""The distinct outputs of a data set, each with the data that perturbations may read to make it worse."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.errors import InputError
from metassay.perturbations.base import AnyPerturbation, View
from metassay.perturbations.preprocessing import preprocess_text
from metassay.stats.arrays import LongArray
from metassay.stats.streams import Keys, compute_output_seeds
from metassay.text.languages import get_base_language

# A text, or a tuple of document ids.
Output = Any


@dataclass(frozen=True)
class DistinctOutputs:
    """The distinct outputs of a data set. If several systems have the same output for an item, it is stored
    once.
    """

    views: tuple[View[Output], ...]
    positions: LongArray
    """For each row of the data set, the position of its output in `views`."""
    keys: Keys
    """For each view, the key of its random numbers."""

    def get_outputs_with_context(self, output_positions: LongArray) -> list[View[Output]]:
        """Return the outputs at some positions, each with the data that perturbations may read about it."""
        return [self.views[position] for position in output_positions.tolist()]

    @cached_property
    def output_positions_by_language(self) -> dict[str | None, LongArray]:
        """The positions of the outputs of each language."""
        positions: defaultdict[str | None, list[int]] = defaultdict(list)
        for position, view in enumerate(self.views):
            positions[view.language].append(position)
        # None, for an unknown language, cannot be compared with texts.
        languages = sorted(positions, key=lambda language: language or "")
        return {language: np.asarray(positions[language], dtype=np.int64) for language in languages}


def prepare_outputs_for_perturbations(
    dataset: Dataset,
    perturbations: Sequence[AnyPerturbation],
    *,
    preprocess: str,
    seed: int,
    collected: Mapping[str | None, Mapping[str, Any]],
) -> DistinctOutputs:
    """Find the distinct outputs of a data set, and collect the data that perturbations may read about each
    output.

    `collected` is what the perturbations collected from all texts, by language.
    """
    needed_fields = _list_fields_needed_by_perturbations(dataset, perturbations)
    outputs = [_preprocess_output(output, preprocess) for output in dataset.outputs["output"]]
    rivals = _list_outputs_with_lower_human_scores(dataset, outputs) if "rivals" in needed_fields else {}
    siblings = _group_distinct_outputs_by_item(dataset, outputs) if "siblings" in needed_fields else {}
    grades = _find_relevance_grades(dataset) if "grades" in needed_fields else {}
    sources = _list_column_values(dataset, "source")
    references = _list_column_values(dataset, "references")
    languages = list_languages_without_region(dataset)
    position_of: dict[tuple[str, Output, str | None], int] = {}
    views: list[View[Output]] = []
    positions = np.empty(len(dataset), np.int64)
    for row, (item, output, language) in enumerate(zip(dataset.outputs["item"], outputs, languages)):
        # The system is not part of it: equal outputs of an item get equal perturbed outputs.
        identity = (item, output, language)
        if identity not in position_of:
            position_of[identity] = len(views)
            view = View(
                output,
                item,
                language,
                source=sources[row],
                references=tuple(references[row] or ()),
                rivals=rivals.get((item, output), ()),
                siblings=siblings.get(item, ()),
                grades=grades.get(item, {}),
                collected=collected.get(language, {}),
            )
            views.append(view)
        positions[row] = position_of[identity]
    texts = (view.output if isinstance(view.output, str) else "\0".join(view.output) for view in views)
    keys = compute_output_seeds(seed, (view.item for view in views), texts)
    return DistinctOutputs(tuple(views), positions, keys)


def _list_fields_needed_by_perturbations(
    dataset: Dataset, perturbations: Sequence[AnyPerturbation]
) -> frozenset[str]:
    """List the data fields that at least one perturbation needs. Human scores that are needed but missing
    raise an error.
    """
    for perturbation in perturbations:
        if "rivals" in perturbation.needed_fields and not dataset.human:
            raise InputError(f"{perturbation.spec} needs human scores, which this data does not have.")
    return frozenset[str]().union(*(perturbation.needed_fields for perturbation in perturbations))


def _preprocess_output(output: Any, preprocess: str) -> Output:
    """Preprocess the text of an output, or convert an output that is a ranked list to a tuple of document
    ids.
    """
    if isinstance(output, str | None):
        return preprocess_text(output or "", preprocess)
    return tuple(output)


def list_languages_without_region(dataset: Dataset) -> list[str | None]:
    """Return the language of each row of a data set without its region, such as `en` for en-GB."""
    tags = dataset.languages
    # There are few tags and many rows, so each tag is parsed once.
    base_of = {tag: get_base_language(tag) or None for tag in set(tags)}
    return [base_of[tag] for tag in tags]


def _list_column_values(dataset: Dataset, column_name: str) -> Sequence[Any]:
    """List the values of a column, or None for every row if the data set does not have the column."""
    if column_name not in dataset.outputs.columns:
        return [None] * len(dataset)
    return dataset.outputs[column_name].to_list()


def _find_relevance_grades(dataset: Dataset) -> dict[str, dict[str, int]]:
    """Return for each item the relevance grades of its judged documents."""
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    if dataset.qrels is not None:
        for item, document, grade in dataset.qrels.select("item", "document", "grade").iter_rows():
            grades[item][document] = grade
    return grades


def _group_distinct_outputs_by_item(
    dataset: Dataset, preprocessed_outputs: Sequence[Output]
) -> dict[str, tuple[Output, ...]]:
    """Return the distinct outputs of each item, sorted."""
    distinct: defaultdict[str, set[Output]] = defaultdict(set)
    for item, output in zip(dataset.outputs["item"], preprocessed_outputs):
        distinct[item].add(output)
    return {item: tuple(sorted(item_outputs)) for item, item_outputs in distinct.items()}


def _list_outputs_with_lower_human_scores(
    dataset: Dataset, preprocessed_outputs: Sequence[Output]
) -> dict[tuple[str, Output], tuple[Output, ...]]:
    """Return for each output the outputs of the same item with a lower human score, the lowest first.

    The score of an output is the mean over its human scores and over the systems that returned it. For an
    item without human scores, it is the mean of these systems over all items.
    """
    table = dataset.outputs.select("item", "system", score=pl.mean_horizontal(dataset.human))
    table = table.with_columns(
        system_score=pl.col("score").mean().over("system"),
        has_scores=pl.col("score").is_not_null().any().over("item"),
    )
    scores = table.select(pl.when("has_scores").then("score").otherwise("system_score")).to_series()
    scores_of: defaultdict[str, defaultdict[Output, list[float]]] = defaultdict(lambda: defaultdict(list))
    for item, output, score in zip(table["item"], preprocessed_outputs, scores):
        if score is not None:
            scores_of[item][output].append(score)
    rivals: dict[tuple[str, Output], tuple[Output, ...]] = {}
    for item, scores_of_output in scores_of.items():
        # Equal scores are ordered by text, so that the order of the rows does not matter.
        ranked = sorted((float(np.mean(values)), output) for output, values in scores_of_output.items())
        for score, output in ranked:
            rivals[item, output] = tuple(rival for rival_score, rival in ranked if rival_score < score)
    return rivals
