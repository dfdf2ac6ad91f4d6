"""What rests on random draws, against the same draws made by hand with other random numbers."""

import numpy as np
import pytest
from by_hand import (
    METRICS,
    accuracy,
    assay,
    compute_p_values_of_accuracy_differences,
    order_p_value,
    random_pairs,
    resampled,
    scored,
    shuffled_p_value,
)

from metassay.stats.rank_correlation import tau_ap_b


@pytest.mark.parametrize(
    ("seed", "ties", "weighted"), [(0, "strict", False), (1, "half", False), (2, "strict", True)]
)
def test_h1_permutation_agrees_with_shuffling_by_hand(seed, ties, weighted):
    pairs, tie = random_pairs(seed, weighted=weighted), 0.5 if ties == "half" else 0.0
    result = assay(pairs, weighted=weighted, ties=ties, permutations=1999)
    rng = np.random.default_rng(5)
    for column, exchanges in [("system", ["contexts within clusters"]), ("domain", ["clusters"])]:
        assert result["contexts"][column]["h1_exchanges"] == exchanges
        for row in result["contexts"][column]["h1"]:
            expected = shuffled_p_value(pairs, column, row["metric"], tie, rng)
            assert row["p_permutation"] == pytest.approx(expected, abs=0.08)


def test_intervals_agree_with_a_bootstrap_by_hand():
    pairs = random_pairs(3, weighted=False, items=120)
    result = assay(pairs, resamples=2000)
    draws = [accuracy(drawn, "bleu", 0.0) for drawn in resampled(pairs, np.random.default_rng(0), 600)]
    found = result["global"][0]
    stretch = 2.0227 / 1.96  # Student's t with 39 degrees of freedom, for 40 documents
    for end, share in (("low", 2.5), ("high", 97.5)):
        expected = found["accuracy"] + stretch * (np.percentile(draws, share) - found["accuracy"])
        assert found[end] == pytest.approx(expected, abs=0.008)


def test_agreement_intervals_and_ceiling_agree_with_resampling_by_hand():
    pairs = random_pairs(4, weighted=False)
    h2 = assay(pairs, resamples=2000)["contexts"]["system"]["h2"]
    place = h2["contexts"].index("A")
    rng = np.random.default_rng(0)

    def order(members):
        return [round(accuracy(members, m, 0.0), 12) for m in METRICS[:3]]

    values = [
        tau_ap_b(order(drawn), order([p for p in drawn if p.system == "A"]))
        for drawn in resampled(pairs, rng, 400)
    ]
    low, high = np.nanpercentile(values, [2.5, 97.5])
    observed = h2["matrix"][0][place]
    assert h2["low"][0][place] == pytest.approx(min(low, observed), abs=0.26)  # three metrics: few values
    assert h2["high"][0][place] == pytest.approx(max(high, observed), abs=0.26)
    ours = [p for p in pairs if p.system == "A"]
    halves = []
    while len(halves) < 400:
        coin = rng.integers(0, 2, 8)
        parts = [[p for p in ours if coin[p.document] == side] for side in (0, 1)]
        if all(scored(part, m) for part in parts for m in METRICS[:3]):
            halves.append(tau_ap_b(order(parts[0]), order(parts[1])))
    r = np.sin(np.pi / 2 * np.nanmean(halves))
    doubled = 2 / np.pi * np.arcsin(2 * r / (1 + r))  # two samples of full size
    assert h2["ceiling"][place] == pytest.approx(doubled, abs=0.15)


@pytest.mark.parametrize("seed", range(4))
def test_top_group_and_order_test_agree_with_resampling_by_hand(seed):
    pairs = random_pairs(20 + seed, weighted=False, items=75)
    for pair in pairs:  # set the metrics apart, one of them in domain news only
        if pair.document % 3 == seed % 3 and pair.domain == "news":
            pair.outcomes["bleu"] = 1
    result = assay(pairs, resamples=2000)
    members = [p for p in pairs if p.domain == "news"]
    values = np.array([accuracy(members, m, 0.0) for m in METRICS[:3]])
    rng = np.random.default_rng(seed)
    draws = [[accuracy(drawn, m, 0.0) for m in METRICS[:3]] for drawn in resampled(members, rng, 300)]
    h2 = result["contexts"]["domain"]["h2"]
    expected = order_p_value(pairs, members, draws)
    assert h2["p_global"][h2["contexts"].index("news")] == pytest.approx(expected, abs=0.12)
    top = result["recommendation"]["domain"]["news"]["top_group"]
    for metric, p in zip(METRICS, compute_p_values_of_accuracy_differences(values, draws)):
        if not 0.01 < p < 0.1:  # near the level, few clusters and other draws may decide otherwise
            assert (metric in top) == (p > 0.05)
