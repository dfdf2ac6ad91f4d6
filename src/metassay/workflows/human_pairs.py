"""Human pairs: the outputs of two systems for one item, of which one has the higher human score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from metassay.data.clusters import Clusters
from metassay.data.context import Context
from metassay.data.dataset import Dataset
from metassay.data.score_arrays import ScoreArrays
from metassay.data.test_sets import list_test_set_of_each_output
from metassay.errors import InputError, UnknownName
from metassay.meta.contexts.human_pairs import HumanPairs
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes, compare_scores_of_pairs
from metassay.metrics.base import Metric
from metassay.options import PERTURBED_PAIRS
from metassay.perturbations.pairs import Pairs, PerturbationCount
from metassay.stats.arrays import FloatArray, LongArray
from metassay.workflows.options import AssaySettings
from metassay.workflows.pair_scoring import ScoredPairs

# Value of the column `perturbation` in human pairs.
HUMAN_PERTURBATION = "human"
# Which human score is used if there are several and none is named: the most expensive to collect first.
PREFERRED_HUMAN_SCORES = ("mqm", "esa", "da_sqm", "da")


@dataclass(frozen=True)
class PairRows:
    """Pairs of a better and a worse output by human score. Both are given by row numbers."""

    better: LongArray
    worse: LongArray

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.better)


def find_human_column(dataset: Dataset, requested_column: str | None) -> str:
    """Return the column of human scores that the user requested, or the only one in the data."""
    if requested_column is not None:
        if requested_column not in dataset.human:
            raise UnknownName("human score", requested_column, dataset.human)
        return requested_column
    if len(dataset.human) != 1:
        listing = ", ".join(dataset.human) or "none"
        raise InputError(
            f"exactly one human score is needed, but the data has: {listing}.",
            remedy="Name one with --human COLUMN.",
        )
    return dataset.human[0]


def choose_human_score_for_comparison(
    dataset: Dataset, assay_settings: AssaySettings, requested_column: str | None
) -> tuple[str | None, list[str]]:
    """Choose the human score with which the results on perturbed outputs are compared. Returns None if there
    is none, and notes for the user.

    The requested score is chosen, else the first of `PREFERRED_HUMAN_SCORES`, else the first column. Scores
    of single raters (`mqm:rater1`) come last.
    """
    # Human pairs are compared with perturbed pairs; relevance judgements are the human scores of rankings.
    if assay_settings.pairs != PERTURBED_PAIRS or not dataset.human or dataset.task_definition.is_ranking:
        return None, []
    if assay_settings.preprocess != "none":
        return None, ["Human pairs are not used, because people rated the texts before preprocessing."]
    if requested_column is not None or len(dataset.human) == 1:
        return requested_column or dataset.human[0], []
    preference = {name: rank for rank, name in enumerate(PREFERRED_HUMAN_SCORES)}

    def get_human_column_sort_key(human_column: str) -> tuple[bool, int]:
        """Return a key that sorts usual human scores first and scores of single raters last."""
        is_single_rater = ":" in human_column
        return is_single_rater, preference.get(human_column.lower(), len(preference))

    column = min(dataset.human, key=get_human_column_sort_key)
    others = ", ".join(name for name in dataset.human if name != column)
    return column, [f"Using {column} as the human score (also available: {others}; choose with --human)."]


def find_pairs_with_different_human_scores(
    dataset: Dataset, human_column: str, minimum_difference: float = 0.0
) -> PairRows:
    """Find all pairs of outputs of the same item whose human scores differ by more than `minimum_difference`.

    Pairs with identical texts are left out, because no metric can tell them apart.
    """
    if minimum_difference < 0:
        raise InputError(f"a minimum gap of {minimum_difference} is negative.")
    rated = dataset.outputs.select("item", human_column).with_row_index("row").drop_nulls(human_column)
    # The join has each pair in both orders. The filter keeps the one with the better output first.
    pairs = rated.join(rated, on="item", suffix="_worse")
    pairs = pairs.filter(pl.col(human_column) - pl.col(f"{human_column}_worse") > minimum_difference)
    pairs = pairs.select("row", "row_worse").sort("row", "row_worse")
    texts = dataset.outputs["output"]
    pairs = pairs.filter(texts[pairs["row"]] != texts[pairs["row_worse"]])
    return PairRows(
        better=pairs["row"].cast(pl.Int64).to_numpy(), worse=pairs["row_worse"].cast(pl.Int64).to_numpy()
    )


def pair_outputs_by_human_score(
    dataset: Dataset, human_column: str, minimum_difference: float = 0.0
) -> Pairs:
    """Build a table of pairs of outputs of the same item. The output with the higher human score is the
    better one.
    """
    rows = find_pairs_with_different_human_scores(dataset, human_column, minimum_difference)
    outputs = dataset.outputs.select("item", "system", "output")
    worse_outputs = outputs[rows.worse]
    frame = outputs[rows.better].select(
        "item",
        "system",
        pl.lit(HUMAN_PERTURBATION).alias("perturbation"),
        "output",
        worse_outputs["output"].alias("worse"),
        worse_outputs["system"].alias("worse_system"),
    )
    if frame.is_empty():
        raise InputError(
            f"no two outputs of an item differ in {human_column} by more than {minimum_difference:g}."
        )
    count = PerturbationCount(applied=frame.height, pairs=frame.height)
    unrated = dataset.outputs[human_column].null_count()
    subject = "1 output has" if unrated == 1 else f"{unrated} outputs have"
    notes = (f"{subject} no {human_column} score and so no pair.",) if unrated else ()
    return Pairs(frame, {HUMAN_PERTURBATION: count}, notes, worse_rows=rows.worse)


def measure_agreement_with_human_order(
    dataset: Dataset,
    human_column: str,
    scored_pairs: ScoredPairs,
    metrics: Sequence[Metric],
    contexts: Sequence[Context],
    weights: FloatArray | None,
) -> HumanPairs | None:
    """Compare how metrics and people order two outputs of an item, for all pairs with different human scores.
    Returns None if there are no such pairs.
    """
    rows = find_pairs_with_different_human_scores(dataset, human_column)
    if not len(rows):
        return None
    clusters = scored_pairs.clusters
    outcomes = []
    for metric, scores in zip(metrics, scored_pairs.output_scores):
        tolerance = np.array([metric.tie_tolerance])
        outcomes.append(
            compare_scores_of_pairs(scores[None, rows.better], scores[None, rows.worse], tolerance)
        )
    pair_outcomes = PairOutcomes(
        metrics=tuple(metric.spec for metric in metrics),
        perturbation_names=(HUMAN_PERTURBATION,),
        outcomes=np.concatenate(outcomes),
        items=clusters.items[rows.better],
        outputs=rows.better.astype(np.int32),
        clusters=clusters.codes[rows.better],
        perturbations=np.zeros(len(rows), dtype=np.int32),
        weights=None if weights is None else weights[rows.better],
        worse_outputs=rows.worse.astype(np.int32),
    )
    pair_contexts = [
        PairContexts(context.name, context.values, context.codes[rows.better], context.codes[rows.worse])
        for context in contexts
    ]
    score_arrays = _arrange_scores_by_system_and_item(
        dataset, human_column, clusters, scored_pairs.output_scores
    )
    return HumanPairs(human_column, pair_outcomes, pair_contexts, score_arrays)


def _arrange_scores_by_system_and_item(
    dataset: Dataset, human_column: str, clusters: Clusters, output_scores: FloatArray
) -> list[ScoreArrays]:
    """Arrange human and metric scores of each test set by system and item.

    The systems are those with human scores, and the items those for which all of these systems have one.
    """
    system_codes = dataset.outputs["system"].rank("dense").to_numpy()
    human_scores = dataset.outputs[human_column]
    frame = pl.DataFrame({"row": np.arange(len(dataset)), "test_set": list_test_set_of_each_output(dataset)})
    arrays = []
    for _, rated in frame.filter(human_scores.is_not_null()).group_by("test_set", maintain_order=True):
        rows = rated["row"].to_numpy()
        systems, system_positions = np.unique(system_codes[rows], return_inverse=True)
        items, item_positions = np.unique(clusters.items[rows], return_inverse=True)
        row_table = np.full((len(systems), len(items)), -1)
        row_table[system_positions.ravel(), item_positions.ravel()] = rows
        complete_rows = row_table[:, (row_table >= 0).all(axis=0)]
        # `np.unique` sorts items by code. This brings back the order of the data.
        data_order = np.argsort(complete_rows.min(axis=0, initial=len(dataset)))
        complete_rows = complete_rows[:, data_order]
        # Ranking needs at least two systems and one item.
        if len(complete_rows) > 1 and complete_rows.size:
            human = human_scores.to_numpy()[complete_rows]
            arrays.append(
                ScoreArrays(human, output_scores[:, complete_rows], clusters.codes[complete_rows[0]])
            )
    return arrays
