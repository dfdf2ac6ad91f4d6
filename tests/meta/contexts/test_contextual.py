"""Every number of a contextual assay, recomputed slowly and plainly from the pairs on random small data."""

from itertools import combinations, pairwise
from math import comb, isclose

import msgspec
import numpy as np
import pytest
from by_hand import (
    METHODS,
    METRICS,
    accuracy,
    assay,
    cluster_variance,
    cmh,
    contexts_of,
    expected_row,
    mean_over_systems,
    random_pairs,
    same,
    step_down,
    table,
    worst_mix,
)
from scipy.stats import chi2_contingency

from metassay.reporting.assay_sentences import describe_confounding
from metassay.results.assay import MetricConfounding
from metassay.stats.rank_correlation import kendall_tau, tau_ap_b, weighted_tau

AGREEMENT = {"tau_ap_b": tau_ap_b, "weighted_tau": weighted_tau, "kendall": kendall_tau}
CASES = [(0, "strict", False, "tau_ap_b"), (1, "half", False, "weighted_tau"), (2, "strict", True, "kendall")]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(map(str, case)))
def case(request):
    seed, ties, weighted, agreement = request.param
    pairs = random_pairs(seed, weighted=weighted)
    result = assay(
        pairs,
        weighted=weighted,
        ties=ties,
        agreement=agreement,
        cost_classes={"bleu": "cheap", "chrf": "tagger"},
    )
    return pairs, result, 0.5 if ties == "half" else 0.0, AGREEMENT[agreement]


def test_local_accuracy(case):
    pairs, result, tie, _ = case
    for column in ("system", "domain"):
        groups = contexts_of(pairs, column)
        wanted = [
            expected_row(c, members, pairs, m, tie) for c, members in groups.items() for m in METRICS[:3]
        ]
        for found, expected in zip(result["contexts"][column]["local_accuracy"], wanted, strict=True):
            same(found, expected)
            assert found["low"] <= found["accuracy"] <= found["high"]
        wanted = [expected_row(c, members, pairs, "length", tie) for c, members in groups.items()]
        for found, expected in zip(result["contexts"][column]["sentinels"], wanted, strict=True):
            same(found, expected)


def test_global(case):
    pairs, result, tie, _ = case
    for found, metric in zip([*result["global"], *result["sentinels"]], METRICS, strict=True):
        same(found, expected_row("global", pairs, pairs, metric, tie))


def test_method_mix(case):
    pairs, result, _, _ = case
    for value, members in contexts_of(pairs, "domain").items():
        for method in METHODS:
            share = sum(p.method == method for p in members) / len(members)
            assert result["contexts"]["domain"]["method_mix"][value][method] == pytest.approx(share)


@pytest.mark.parametrize("column", ["system", "domain"])
def test_h1(case, column):
    pairs, result, tie, _ = case
    groups = contexts_of(pairs, column)
    rows = {row["metric"]: row for row in result["contexts"][column]["h1"]}
    assert list(rows) == list(METRICS[:3])
    for metric, row in rows.items():
        right, sizes = np.array([table(g, metric, tie) for g in groups.values()]).T
        expected = chi2_contingency(np.stack([right, sizes - right]), correction=False)
        assert row["chi2"] == pytest.approx(expected.statistic, abs=1e-9)
        assert row["p"] == pytest.approx(expected.pvalue)
        assert row["dof"] == len(groups) - 1
        assert row["cramers_v"] == pytest.approx(np.sqrt(expected.statistic / sizes.sum()))
        assert row["p_cmh"] == pytest.approx(cmh(groups, metric, tie))
    for p, adjusted in [("p", "p_holm"), ("p_permutation", "p_permutation_holm"), ("p_cmh", "p_cmh_holm")]:
        expected = step_down({metric: row[p] for metric, row in rows.items()})
        assert {metric: row[adjusted] for metric, row in rows.items()} == pytest.approx(expected)


@pytest.mark.parametrize("column", ["system", "domain"])
def test_h2_matrix(case, column):
    pairs, result, tie, agreement = case
    h2 = result["contexts"][column]["h2"]
    groups = {"global": pairs, **contexts_of(pairs, column)}
    assert h2["contexts"][0] == "global"
    assert sorted(h2["contexts"]) == sorted(groups)
    orders = {name: [round(accuracy(g, m, tie), 12) for m in METRICS[:3]] for name, g in groups.items()}
    for i, first in enumerate(h2["contexts"]):
        for j, second in enumerate(h2["contexts"]):
            expected = agreement(orders[first], orders[second])
            assert h2["matrix"][i][j] == pytest.approx(expected, abs=1e-9)
            assert h2["low"][i][j] <= h2["matrix"][i][j] <= h2["high"][i][j]
            assert h2["low"][i][j] == h2["low"][j][i]
    assert h2["p_global"][0] is None
    assert all(0 < p <= 1 for p in h2["p_global"][1:])


def test_confounding(case):
    pairs, result, tie, _ = case
    for row, metric in zip(result["confounding"], METRICS, strict=True):
        single = {method: mean_over_systems(pairs, metric, tie, {method}) for method in METHODS}
        assert row["metric"] == metric
        assert row["by_method"] == pytest.approx(single)
        assert row["variance"] == pytest.approx(np.var(list(single.values())))
        assert row["low"] <= row["variance"] <= row["high"]
        for entry in row["by_k"]:
            chosen = list(combinations(METHODS, entry["k"]))
            expected = np.var([mean_over_systems(pairs, metric, tie, set(methods)) for methods in chosen])
            assert entry["variance"] == pytest.approx(expected, abs=1e-12)
            assert entry["combinations"] == comb(3, entry["k"]) == len(chosen)
            law = row["variance"] / entry["k"] * (3 - entry["k"]) / 2
            assert entry["law"] == pytest.approx(law)


def test_length_is_flagged_and_the_others_are_not(case):
    _, result, tie, _ = case
    flags = {row["metric"]: row["flag"] for row in result["confounding"]}
    assert flags == {"bleu": False, "chrf": False, "ter": False, "length": True}
    length = result["confounding"][3]
    assert length["sentinel"]
    assert length["by_method"] == {"insertion": 0.0, "removal": 1.0, "swapping": tie}
    swing = "0 % of insertion pairs" if tie else "100 % of removal pairs"
    row = msgspec.convert(length, MetricConfounding)
    sentence = f"The accuracy of length depends on the perturbation: it is right in {swing}"
    assert sentence in describe_confounding(row)


def test_phi_is_the_correlation_of_being_right(case):
    pairs, result, _, _ = case
    for i, first in enumerate(METRICS[:3]):
        for j, second in enumerate(METRICS[:3]):
            both = [p for p in pairs if p.outcomes[first] is not None and p.outcomes[second] is not None]
            right = np.array([[p.outcomes[m] == 1 for p in both] for m in (first, second)], dtype=float)
            assert result["phi"]["matrix"][i][j] == pytest.approx(np.corrcoef(right)[0, 1])


def test_robustness(case):
    pairs, result, tie, _ = case
    groups = contexts_of(pairs, "domain")
    items = [len({p.item for p in g}) for g in groups.values()]
    rows = {(r["context"], r["metric"]): r for r in result["contexts"]["domain"]["local_accuracy"]}
    for row in result["contexts"]["domain"]["robustness"]:
        values = [accuracy(g, row["metric"], tie) for g in groups.values()]
        expected = worst_mix(values, np.array(items) / sum(items), 0.1)
        assert row["robust_accuracy"] == pytest.approx(expected, abs=1e-4)
        lows = {context: rows[context, row["metric"]]["low"] for context in groups}
        assert row["worst_case"] == min(lows.values())
        assert lows[row["worst_context"]] == row["worst_case"]
        sampling = np.mean([cluster_variance(g, row["metric"], tie) for g in groups.values()])
        between = max(np.var(values, ddof=1) - sampling, 0)
        assert row["stability"] == pytest.approx(np.sqrt(between), abs=1e-9)


def test_recommendation(case):
    pairs, result, tie, _ = case
    for column in ("system", "domain"):
        for context, members in {"global": pairs, **contexts_of(pairs, column)}.items():
            entry = result["recommendation"][column][context]
            values = {m: accuracy(members, m, tie) for m in METRICS[:3]}
            ordered = [values[m] for m in entry["metrics"]]
            assert all(a >= b or isclose(a, b) for a, b in pairwise(ordered))
            assert entry["metrics"][0] in entry["top_group"]
            ahead = {
                row["better"]
                for row in result["claims"]["lead"]
                if (row["column"], row["context"], row["worse"])
                == (column, context, result["answer"]["metric"])
            }
            assert entry["choice"] in (ahead or {result["answer"]["metric"]})
            assert entry["choice"] == entry["top_group"][0] or entry["choice"] not in entry["top_group"]


def test_pareto(case):
    pairs, result, tie, _ = case
    better = accuracy(pairs, "chrf", tie) > accuracy(pairs, "bleu", tie)
    assert result["pareto"] == (["bleu", "chrf"] if better else ["bleu"])


@pytest.mark.parametrize("weighted", [False, True])
def test_contexts_in_several_goes_are_those_in_one(weighted, monkeypatch):
    pairs = random_pairs(3, weighted=weighted)
    one = assay(pairs, weighted=weighted)
    monkeypatch.setattr("metassay.meta.contexts.accuracy._PAIRS_PER_BATCH", 7)
    assert assay(pairs, weighted=weighted) == one
