"""Reasons of the ledger are checks: they fail when the figures behind them change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from reproduce.contextual.entries import (
    build_entries,
    compute_combination_variances,
    count_crossings,
    measure_ranges,
)
from reproduce.spa.rounding import count_significant_comparisons
from reproduce.spa.run import list_reference_based_metrics, load_scores

from metassay.data.score_arrays import ScoreArrays

METRICS = ("bleu", "chrf")


def test_ties_that_rounding_loses_bring_the_published_count(real_data: Callable[[str], Path]) -> None:
    """Thompson et al. (2024), table 1: 171 significant comparisons by PA on WMT23 en-de."""
    table = pl.read_parquet(real_data("wmt23/wmt23_en-de_metrics.parquet"))
    scores = load_scores(table, list_reference_based_metrics(table))
    plain = count_significant_comparisons(scores, exact_ties=False, seed=1)
    exact = count_significant_comparisons(scores, exact_ties=True, seed=1)
    assert abs(plain - 171) <= 3
    assert exact < 165


def test_a_lost_tie_can_only_add_significant_comparisons() -> None:
    rng = np.random.default_rng(3)
    human = rng.normal(size=(6, 1)) + rng.normal(size=(6, 40))
    scores = ScoreArrays(human, human + rng.normal(size=(5, 6, 40)))
    exact = count_significant_comparisons(scores, exact_ties=True, seed=0)
    assert exact <= count_significant_comparisons(scores, exact_ties=False, seed=0)


def test_variances_of_combinations_follow_the_formula_for_any_numbers() -> None:
    values = list(np.random.default_rng(0).random(8))
    for variance, formula in compute_combination_variances(values):
        assert variance == pytest.approx(formula, abs=1e-12)


def test_crossings_and_ranges_of_accuracies() -> None:
    accuracies = {"bleu": (0.5, 0.7), "chrf": (0.6, 0.6), "ter": (0.1, 0.2)}
    rows = [
        {"metric": metric, "context": context, "accuracy": value}
        for metric, values in accuracies.items()
        for context, value in zip(("news", "chat"), values)
    ]
    rows.append({"metric": "bleu", "context": "global", "accuracy": 0.0})
    assert count_crossings({"local_accuracy": rows}) == 1
    assert measure_ranges({"local_accuracy": rows}) == pytest.approx([0.2, 0.0, 0.1])


def make_context(p: float, agreement: float = 0.4) -> dict[str, Any]:
    """A column with two contexts."""
    return {
        "h1": [
            {"metric": metric, "chi2": 50.0, "dof": 1, "p": p, "p_permutation": p, "cramers_v": 0.1}
            for metric in METRICS
        ],
        "h2": {
            "statistic": "tau_ap_b",
            "matrix": [[1, agreement, agreement], [agreement, 1, agreement], [agreement, agreement, 1]],
            "ceiling": [0.9, 0.9, 0.9],
        },
        "local_accuracy": [
            {"metric": metric, "context": context, "accuracy": 0.5 + 0.1 * n * (-1) ** m}
            for m, metric in enumerate(METRICS)
            for n, context in enumerate(("a", "b"))
        ],
    }


def make_measurements(
    *, p: float = 0.01, largest_share: float = 0.44, russian: float = 0.06
) -> dict[str, Any]:
    """What `contextual.run` measures with one seed, in the smallest form."""
    columns = ("system", "year", "domain", "speaker_id")
    assay = {
        "contexts": {column: make_context(p) for column in columns},
        "confounding": [
            {"metric": name, "flag": True, "by_method": {"a": 0.1, "b": 0.4, "c": 0.9}}
            for name in (*METRICS, "rouge1")
        ],
        "global": [{"metric": name, "accuracy": 0.95} for name in METRICS],
        "pairs": 1000,
    }
    speech = {
        "contexts": {
            column: make_context(p)
            | {"h1": [row | {"metric": name} for name, row in zip(("wil", "wip"), make_context(p)["h1"])]}
            for column in ("speaker_id", "system")
        }
    }
    quality = {
        pair: {
            "buckets": 29,
            "largest_share": largest_share,
            "trend": {"bleu": 0.5, "chrf": 0.5},
            "pair_correlation": dict.fromkeys(METRICS, russian if pair == "en-ru" else 0.06),
        }
        for pair in ("en-de", "zh-en", "en-ru")
    }
    by_utterance = {"contexts": {"speaker_id": make_context(p / 10)}}
    return {
        "paper": assay,
        "with references": assay,
        "draft": assay,
        "speech": speech,
        "speech draft": speech,
        "speech by utterance": by_utterance,
        "speech draft by utterance": by_utterance,
        "chapters": [1, 4],
        "quality": quality,
        "by_perturbation": [{"perturbation": "swapping", "metric": "rouge1", "accuracy": 0.0}],
    }


def test_the_reason_of_figure_10_fails_if_buckets_are_equal_or_pairs_differ() -> None:
    def get_reason(**figures: float) -> bool:
        entries = build_entries([make_measurements(**figures)] * 5)
        (reason,) = entries["000 figure 10"].reasons
        return reason.holds

    assert get_reason()
    assert not get_reason(largest_share=0.1)
    assert not get_reason(russian=0.3)


def test_claims_have_an_outcome_per_seed() -> None:
    p_values = (0.01, 0.2, 0.01, 0.01, 0.2)
    entries = build_entries([make_measurements(p=p) for p in p_values])
    claims = entries["000 figure 1a"].claims
    assert claims["every metric has p < .05"] == [True, False, True, True, False]
    assert claims["lines cross"] == [False] * 5
