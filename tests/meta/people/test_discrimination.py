"""How finely PA and SPA tell metrics apart: table 1 of Thompson et al. (2024)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.discrimination import count_significant_metric_differences
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.meta.people.metric_comparison import compute_metric_differences


@pytest.mark.parametrize(
    ("lp", "distinct", "significant", "clusters"),
    [
        ("en-de", (12, 24), (171, 206), (5, 6)),
        ("he-en", (11, 25), (180, 224), (5, 8)),
        ("zh-en", (12, 25), (186, 229), (7, 7)),
    ],
)
def test_counts_are_close_to_table_1_of_the_paper(
    real_data: Callable[[str], Path],
    lp: str,
    distinct: tuple[int, int],
    significant: tuple[int, int],
    clusters: tuple[int, int],
) -> None:
    """Distinct values exactly, significant comparisons within 10 %, clusters within 2.

    The paper kept two metrics of en-de with the same scores, so its counts are those with copies.
    """
    table = pl.read_parquet(real_data(f"wmt23/wmt23_{lp}_metrics.parquet")).sort("system", "seg_id")
    names = [name for name in table.columns if name[-5:-1] == "-ref"]
    systems = table["system"].n_unique()
    human, *metrics = (table[name].to_numpy().reshape(systems, -1) for name in ["mqm", *names])
    scores = ScoreArrays(human, np.stack(metrics))
    for position, name in enumerate(("pa", "spa")):
        row = count_significant_metric_differences(lp, parse_meta_metric(name), scores, ComparisonSettings())
        expected_significant = pytest.approx(significant[position], rel=0.1)
        assert row.metrics == 25
        assert row.distinct_values == distinct[position]
        assert row.comparisons == (276 if lp == "en-de" else 300)
        assert row.significant_one_sided == expected_significant
        assert row.significant_one_sided_with_copies == expected_significant
        assert row.significant_two_sided_with_copies == expected_significant
        assert row.clusters_one_sided == pytest.approx(clusters[position], abs=2)
        assert row.clusters_two_sided == pytest.approx(clusters[position], abs=2)
        if name == "spa":
            assert row.significant_two_sided == expected_significant


def test_copies_count_as_if_each_metric_had_been_tested(real_data: Callable[[str], Path]) -> None:
    table = pl.read_parquet(real_data("wmt23/wmt23_en-de_metrics.parquet")).sort("system", "seg_id")
    names = ["instructscore-refA", "sescoreX-refA", "BLEU-refA", "COMET-refA", "chrF-refA"]
    human, *metrics = (table[name].to_numpy().reshape(12, -1) for name in ["mqm", *names])
    scores = ScoreArrays(human, np.stack(metrics))
    spa = parse_meta_metric("spa")
    row = count_significant_metric_differences("en-de", spa, scores, ComparisonSettings())
    differences = compute_metric_differences(spa, scores, ComparisonSettings())
    assert differences is not None
    one_sided, two_sided = (int((p <= 0.05).sum()) for p in differences.compute_p_values())
    assert (row.metrics, row.different_metrics, row.comparisons) == (5, 4, 6)
    assert row.significant_one_sided is not None
    assert row.significant_two_sided is not None
    assert row.significant_one_sided_with_copies == one_sided > row.significant_one_sided
    assert row.significant_two_sided_with_copies == two_sided > row.significant_two_sided
