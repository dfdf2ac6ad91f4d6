"""Compare the items that `annotate` chooses with random items and with those of subset2evaluate.

    pip install subset2evaluate
    python benchmarks/item_choice.py [repetitions]

On each language pair of WMT23, 100 items are chosen without looking at human scores, rated, and given to
`estimate`. `var` and `diversity` are methods of subset2evaluate: the items on which the scores of XCOMET vary
most between systems, and those whose outputs have the fewest words in common. They choose the same items each
time and give no probabilities, so their estimates treat the items as a random sample; the rows `mean` take
the mean of the ratings instead, as subset2evaluate does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import subset2evaluate.select_subset

from decision_data import ROOT, draw_by_item, hide_labels, load_population
from metassay.meta.decisions.control_variates import THESE_ITEMS
from metassay.meta.decisions.item_choice import choose_items_to_label
from metassay.meta.decisions.labelled_scores import LabelledScores
from metassay.meta.decisions.metric_choice import LabelSavingChoice, choose_metric_saving_most_labels
from metassay.meta.decisions.system_estimates import estimate_system_scores
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.labels_saved import compute_system_differences

COUNT = 100
RESAMPLES = 200
LABELS_ONLY = LabelSavingChoice([], None, use_for_differences=False)


@dataclass(frozen=True)
class Quality:
    """How good the estimates of systems are, over repeated choices."""

    error: float
    """Root mean square error of the means of systems."""
    bias: float
    """Mean error of the means of systems."""
    ordered_pairs: float
    """Share of pairs of systems that are ordered as by all ratings."""
    coverage: float
    """Share of 95 % intervals that contain the mean of all ratings."""


def choose_at_random(scores: LabelledScores, generator: np.random.Generator) -> LabelledScores:
    """Rate random items."""
    return hide_labels(scores, generator.choice(len(scores.items), COUNT, replace=False))


def choose_by_annotate(scores: LabelledScores, generator: np.random.Generator) -> LabelledScores:
    """Rate the items that `annotate` chooses, with their probabilities."""
    unlabelled = hide_labels(scores, np.array([], dtype=int))
    chosen = choose_items_to_label(unlabelled, COUNT, generator)
    return replace(hide_labels(scores, chosen.positions), probabilities=chosen.probabilities)


def rank_items_of_subset2evaluate(name: str, scores: LabelledScores) -> dict[str, LongArray]:
    """Return the first items by each method of subset2evaluate."""
    year, language_pair = name.lower().split()
    texts = pl.read_parquet(ROOT / year / f"{year}_{language_pair}.parquet")
    text_by_output = {
        (str(item), system): text
        for item, system, text in texts.select("seg_id", "system", "hyp").iter_rows()
    }
    metric = next(iter(scores.metrics))
    data = []
    for position, item in enumerate(scores.items):
        metric_scores = dict(zip(scores.systems, scores.metrics[metric][:, position]))
        data.append(
            {
                "i": position,
                "tgt": {system: text_by_output[item, system] for system in scores.systems},
                "scores": {system: {metric: float(score)} for system, score in metric_scores.items()},
            }
        )
    select = subset2evaluate.select_subset.basic
    ordered = {
        "var": select(data, method="metric_var", metric=metric),
        "diversity": select(data, method="diversity", metric="unigram"),
    }
    return {method: np.array([item["i"] for item in items[:COUNT]]) for method, items in ordered.items()}


def measure_quality(
    scores: LabelledScores,
    choose: Callable[[LabelledScores, np.random.Generator], LabelledScores],
    repetitions: int,
    *,
    labels_only: bool = False,
) -> Quality:
    """Choose items, estimate the systems, and compare with all ratings."""
    truth = scores.human.mean(axis=1)
    generator = np.random.default_rng(0)
    errors = []
    ordered = []
    covered = []
    for repetition in range(repetitions):
        sample = choose(scores, generator)
        choice = LABELS_ONLY if labels_only else choose_metric_saving_most_labels(sample)
        estimated = estimate_system_scores(
            sample, choice, target=THESE_ITEMS, seed=repetition, resamples=RESAMPLES
        )
        by_system = {entry.system: entry.estimate for entry in estimated.systems}
        values = np.array([by_system[system].value for system in scores.systems])
        lows = np.array([by_system[system].low for system in scores.systems])
        highs = np.array([by_system[system].high for system in scores.systems])
        errors.append(values - truth)
        ordered.append(_find_ordered_pairs(values, truth).mean())
        covered.append(((lows <= truth) & (truth <= highs)).mean())
    return Quality(
        error=float(np.sqrt(np.mean(np.square(errors)))),
        bias=float(np.mean(errors)),
        ordered_pairs=float(np.mean(ordered)),
        coverage=float(np.mean(covered)),
    )


def _find_ordered_pairs(values: FloatArray, truth: FloatArray) -> np.ndarray:
    return np.sign(compute_system_differences(values[:, None])) == np.sign(
        compute_system_differences(truth[:, None])
    )


def main(repetitions: int = 100) -> None:
    print(f"{COUNT} rated items, {repetitions} repetitions, error and bias in points of MQM")
    print("| data | items chosen by | error | bias | system pairs ordered alike | intervals cover |")
    print("|---|---|---|---|---|---|")
    for name in ("WMT23 en-de", "WMT23 he-en", "WMT23 zh-en"):
        scores = draw_by_item(load_population(name))
        rows = {
            "random": measure_quality(scores, choose_at_random, repetitions),
            "random, mean": measure_quality(scores, choose_at_random, repetitions, labels_only=True),
            "annotate": measure_quality(scores, choose_by_annotate, repetitions),
        }
        for method, items in rank_items_of_subset2evaluate(name, scores).items():
            sample = hide_labels(scores, items)
            for label, labels_only in ((method, False), (f"{method}, mean", True)):
                rows[label] = measure_quality(scores, lambda *_, s=sample: s, 1, labels_only=labels_only)
        for label, row in rows.items():
            numbers = f"{row.error:.2f} | {row.bias:+.2f} | {row.ordered_pairs:.3f} | {row.coverage:.2f}"
            print(f"| {name} | {label} | {numbers} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
