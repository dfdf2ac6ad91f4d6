"""How often perturbations apply, how much they change outputs, and whether human scores confirm the harm.

A perturbed output need not be worse: one with a synonym often is not. Then the pair has a wrong label, and
the metric is counted wrong without an error. Human scores show this where some system returned exactly the
perturbed output for the item.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from metassay.data.dataset import Dataset
from metassay.perturbations.pairs import PerturbationCount
from metassay.results.assay import PerturbationStatistics
from metassay.stats.arrays import FloatArray, IntArray, LongArray


@dataclass(frozen=True)
class EditDistances:
    """For each pair of an output and its perturbed version: the number of characters that differ, and its
    share of the longer text.

    Both are empty for rankings.
    """

    characters: LongArray
    shares: FloatArray


@dataclass(frozen=True)
class MeanEdits:
    """Mean edit distance between outputs and the versions that one perturbation made of them, in characters
    and as a share of the longer text.
    """

    characters: float
    share: float


def measure_edit_distances(
    outputs: pl.Series, perturbed_outputs: pl.Series, workers: int = 1
) -> EditDistances:
    """Compute the edit distance (Levenshtein) between outputs and their perturbed versions, in characters."""
    if outputs.is_empty() or outputs.dtype != pl.String:
        return EditDistances(np.empty(0, dtype=np.int64), np.empty(0))
    distances = process.cpdist(
        outputs.to_list(),
        perturbed_outputs.to_list(),
        scorer=Levenshtein.distance,
        dtype=np.int64,
        workers=workers,
    )
    lengths = np.maximum(outputs.str.len_chars().to_numpy(), perturbed_outputs.str.len_chars().to_numpy())
    return EditDistances(distances, distances / np.maximum(lengths, 1))


def average_edits_by_perturbation(
    edit_distances: EditDistances, perturbation_names: Sequence[str], perturbation_codes: IntArray
) -> dict[str, MeanEdits]:
    """Compute for each perturbation the mean edit distance between outputs and their perturbed versions."""
    averages = {}
    if len(edit_distances.characters):
        for code, name in enumerate(perturbation_names):
            is_own = perturbation_codes == code
            if is_own.any():
                averages[name] = MeanEdits(
                    float(edit_distances.characters[is_own].mean()),
                    float(edit_distances.shares[is_own].mean()),
                )
    return averages


def compute_human_score_differences(pairs: pl.DataFrame, dataset: Dataset) -> dict[str, list[float]]:
    """Subtract the human score of a perturbed output from that of the original output, where some system
    produced the perturbed text itself. Returns a list of differences for each perturbation.

    Pairs without both human scores are left out.
    """
    differences: defaultdict[str, list[float]] = defaultdict(list)
    if not dataset.human or dataset.task_definition.is_ranking:
        return differences
    scored = dataset.outputs.select("item", "output", score=pl.mean_horizontal(dataset.human))
    scored = scored.drop_nulls("score")
    means = scored.group_by("item", "output", maintain_order=True).agg(pl.col("score").mean())
    means_of_worse = means.rename({"output": "worse", "score": "worse_score"})
    both = pairs.join(means, on=["item", "output"]).join(means_of_worse, on=["item", "worse"])
    for perturbation, better, worse in both.select("perturbation", "score", "worse_score").iter_rows():
        differences[perturbation].append(better - worse)
    return differences


def summarize_perturbations(
    pair_counts: Mapping[str, PerturbationCount],
    edits: Mapping[str, MeanEdits],
    human_differences: Mapping[str, Sequence[float]],
    gain_changes: Mapping[str, Mapping[str, int]],
) -> list[PerturbationStatistics]:
    """List for each perturbation the number of pairs, the mean edit distance, and how often human scores
    disagree that the perturbed output is worse.

    `edits` and `human_differences` come from `average_edits_by_perturbation` and
    `compute_human_score_differences`; `gain_changes` counts, for rankings, how the perturbed rankings changed
    in discounted gain.
    """
    rows = []
    for name, count in sorted(pair_counts.items()):
        mean_edits = edits.get(name)
        differences = human_differences.get(name, ())
        gains = gain_changes.get(name, {})
        rows.append(
            PerturbationStatistics(
                perturbation=name,
                outputs=count.applied + count.not_applicable + count.unchanged,
                applied=count.applied,
                not_applicable=count.not_applicable,
                unchanged=count.unchanged,
                pairs=count.pairs,
                edit_distance=None if mean_edits is None else mean_edits.characters,
                edit_share=None if mean_edits is None else mean_edits.share,
                human_scored=len(differences),
                disagreements=sum(difference < 0 for difference in differences),
                ties=sum(difference == 0 for difference in differences),
                worse=gains.get("worse"),
                clearly_worse=gains.get("clearly_worse"),
                equal=gains.get("equal"),
                better=gains.get("better"),
                refused=gains.get("refused"),
            )
        )
    return rows
