"""Check error rates in simulations with a known truth: coverage of intervals, size and power of tests.

    python benchmarks/calibration.py [replicates]

Every rate is printed with its 95 % Monte-Carlo interval and the bound it must keep; a rate is out when its
whole interval is. Rates marked "shown" belong to a condition that is stated beside the number (docs): they
have no bound. In tests of H1, intervals and confounding independent metrics serve as replicates.
"""

import sys
import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri
from scipy.stats import binomtest

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.aggregation.system_comparison import TESTS
from metassay.meta.contexts.accuracy import count_correct_pairs, sort_pairs_by_item
from metassay.meta.contexts.column_analysis import AccuracyEstimates
from metassay.meta.contexts.confounding import measure_accuracy_dependence_on_perturbation
from metassay.meta.contexts.context_statistics import build_context_statistics
from metassay.meta.contexts.h1 import run_accuracy_tests_between_contexts, split_contexts_by_perturbation
from metassay.meta.contexts.h2 import extrapolate_agreement_to_full_sample
from metassay.meta.contexts.human_pairs import HumanPairs
from metassay.meta.contexts.label_error_correction import (
    PerturbationLabelCheck,
    correct_accuracy_for_label_errors,
)
from metassay.meta.contexts.pair_analysis import analyze_pairs
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes, put_all_pairs_in_one_context
from metassay.meta.contexts.run_comparison import compare_runs
from metassay.meta.contexts.saved_labels import estimate_share_of_human_labels_saved
from metassay.meta.contexts.trend import compute_p_values_of_accuracy_trends
from metassay.meta.dependence.deviations import (
    compute_range_over_groups,
    measure_how_much_groups_are_overrated,
    system_dependence,
)
from metassay.meta.dependence.null_hypotheses import (
    compute_p_values_of_equal_treatment,
    compute_p_values_of_metric_fairness,
)
from metassay.meta.dependence.scored_outputs import build_scored_outputs
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.meta.people.metric_comparison import compute_metric_differences
from metassay.metrics.bleu import Bleu
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.intervals import proportion_interval
from metassay.stats.multiplicity import adjust_p_values_by_holm, select_candidates_that_may_be_best
from metassay.stats.rank_correlation import correlate_rows
from metassay.stats.sufficient_statistics import (
    compute_means_from_sums_and_counts,
    convert_scores_to_sums_and_counts,
)

METRICS = 20
LEVEL = 0.05
KINDS = ("lead", "vary", "trend", "predict", "method", "people")


@dataclass(frozen=True)
class Rate:
    """A share of `of` trials, and the range in which it must lie (None: shown, not bounded)."""

    name: str
    share: float
    of: int
    bounds: tuple[float, float] | None

    def interval(self):
        """Return the 95 % interval of the rate, from the number of trials."""
        found = binomtest(round(self.share * self.of), self.of).proportion_ci(method="wilson")
        return found.low, found.high

    @property
    def holds(self):
        """Return whether the interval of the rate reaches its bounds."""
        low, high = self.interval()
        return self.bounds is None or (low <= self.bounds[1] and high >= self.bounds[0])

    def __str__(self):
        low, high = self.interval()
        wanted = "shown" if self.bounds is None else f"want {self.bounds[0]:.2f}–{self.bounds[1]:.2f}"
        verdict = "" if self.holds else "   OUT"
        return f"{self.name:66} {self.share:.3f} ({low:.3f}–{high:.3f}, n {self.of:5})  {wanted}{verdict}"


SIZE, FAMILY, COVERS = (0.0, 0.06), (0.0, 0.05), (0.93, 0.97)


def expit(x):
    return 1 / (1 + np.exp(-x))


def build_outcomes(right, item, output, cluster, method=None):
    """Build outcomes from `right`, [metrics, pairs]."""
    method = np.zeros(len(item), dtype=np.int32) if method is None else method
    return PairOutcomes(
        metrics=tuple(f"m{m}" for m in range(len(right))),
        perturbation_names=tuple(f"perturbation{k}" for k in range(int(method.max()) + 1)),
        outcomes=np.where(right, 1, -1),
        items=item,
        outputs=output,
        clusters=cluster,
        perturbations=method,
    )


def build_contexts(name, codes):
    return PairContexts(name, tuple(map(str, range(int(codes.max()) + 1))), codes)


def draw_crossed_null(rng, items=60, systems=8, pairs=4):
    """Draw items and outputs of different difficulty; systems do not differ."""
    output = np.repeat(np.arange(items * systems), pairs)
    item = output // systems
    difficulty = rng.normal(0.8, 1.5, (METRICS, items))[:, item]
    noise = rng.normal(0, 1.5, (METRICS, items * systems))[:, output]  # the pairs of an output go together
    right = rng.random((METRICS, len(output))) < expit(difficulty + noise)
    return build_outcomes(right, item, output, item), build_contexts("system", output % systems)


def draw_overdispersed_null(rng, items=60, systems=8, pairs=4):
    """Draw systems with equal accuracy; in the first, all pairs of an output have the same outcome."""
    output = np.repeat(np.arange(items * systems), pairs)
    item = output // systems
    chance = expit(rng.normal(0.8, 1, (METRICS, items)))[:, item]
    alone = rng.random((METRICS, len(output))) < chance
    together = rng.random((METRICS, items * systems))[:, output] < chance
    right = np.where(output % systems == 0, together, alone)
    return build_outcomes(right, item, output, item), build_contexts("system", output % systems)


def draw_nested_null(rng, documents=48, domains=4, systems=5, pairs=4):
    """Draw documents of different difficulty and length in domains that do not differ."""
    lengths = rng.integers(2, 9, documents)
    document_of_item = np.repeat(np.arange(documents), lengths)
    output = np.repeat(np.arange(len(document_of_item) * systems), pairs)
    item = output // systems
    document = document_of_item[item]
    difficulty = rng.normal(0.8, 1.0, (METRICS, documents))[:, document]
    difficulty += rng.normal(0, 0.7, (METRICS, len(document_of_item)))[:, item]
    right = rng.random((METRICS, len(output))) < expit(difficulty)
    domain_of = rng.permutation(np.arange(documents) % domains)
    return build_outcomes(right, item, output, document), build_contexts("domain", domain_of[document])


def draw_heteroscedastic_null(rng, sizes=(200, 150, 25, 20), pairs=4, noisy=1.0):
    """Draw domains with equal means; small ones vary far more from item to item."""
    domain = np.repeat(np.arange(len(sizes)), sizes)
    item = np.repeat(np.arange(len(domain)), pairs)
    precision = np.where(np.array(sizes) > 30, 30.0, noisy)[domain]
    chance = rng.beta(0.7 * precision, 0.3 * precision, (METRICS, len(domain)))[:, item]
    right = rng.random((METRICS, len(item))) < chance
    return build_outcomes(right, item, item, item), build_contexts("domain", domain[item])


def draw_many_contexts_null(rng, contexts=250, items=20):
    """Draw 250 contexts of twenty items with one pair each."""
    item = np.arange(contexts * items)
    right = rng.random((METRICS, len(item))) < 0.8
    return build_outcomes(right, item, item, item), build_contexts("speaker", item % contexts)


H1_DESIGNS = {
    "crossed, 8 systems": draw_crossed_null,
    "nested, unequal documents": draw_nested_null,
    "one overdispersed of 3 systems": lambda rng: draw_overdispersed_null(rng, systems=3),
    "one overdispersed of 8 systems": draw_overdispersed_null,
    "one overdispersed of 20 systems": lambda rng: draw_overdispersed_null(rng, items=40, systems=20),
    "small heterogeneous domains": draw_heteroscedastic_null,
    "250 contexts, one pair per item": draw_many_contexts_null,
}


def measure_rejection_rates(make, replicates, permutations=999, seed=0):
    """Measure how often the permutation test and the plain chi-square test reject a true null hypothesis."""
    rng = np.random.default_rng(seed)
    permuted, plain = [], []
    while len(permuted) < replicates:
        made, labels = make(rng)
        pairs, (contexts,) = sort_pairs_by_item(made, [labels])
        totals = count_correct_pairs(pairs, split_contexts_by_perturbation(pairs, contexts)).totals
        found = run_accuracy_tests_between_contexts(
            pairs, contexts, totals, ties="strict", rng=rng, permutations=permutations
        )
        permuted += found.p_permutation.tolist()
        plain += found.p.tolist()
    return np.mean(np.array(permuted) <= LEVEL), np.mean(np.array(plain) <= LEVEL)


def measure_coverage(truth, items, replicates, correlation=0.1, pairs=4, resamples=1000, seed=0):
    """Measure how often 95 % intervals contain the true accuracy, with items of different difficulty."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), pairs)
    held = []
    while len(held) < replicates:
        scale = 1 / correlation - 1
        share = rng.beta(truth * scale, (1 - truth) * scale, (METRICS * 10, items))
        made = build_outcomes(rng.random((METRICS * 10, len(item))) < share[:, item], item, item, item)
        held += _interval_contains(made, truth, rng, resamples)
    return np.mean(held)


def measure_document_coverage(replicates, documents=40, length=10, by_document=True, resamples=1000, seed=0):
    """Measure coverage with documents of ten items, resampling documents or items."""
    rng = np.random.default_rng(seed)
    item = np.arange(documents * length)
    held = []
    while len(held) < replicates:
        share = rng.beta(0.75 * 2, 0.25 * 2, (METRICS * 10, documents))[:, item // length]
        right = rng.random((METRICS * 10, len(item))) < share
        made = build_outcomes(right, item, item, item // length if by_document else item)
        held += _interval_contains(made, 0.75, rng, resamples)
    return np.mean(held)


def _interval_contains(made, truth, rng, resamples):
    found = AccuracyEstimates.estimate_from_pairs(made, put_all_pairs_in_one_context(made))
    sums = found.accuracy_sums
    drawn = ClusterBootstrap(rng, resamples).resample_ratios(
        sums.weighted_accuracy, sums.weight, sums.clusters
    )
    low, high = proportion_interval(found.get_accuracy_estimates_of_context(0), drawn)
    return ((low <= truth) & (truth <= high)).tolist()


def measure_top_group(items, replicates, best=0.82, others=0.80, metrics=8, pairs=4, resamples=1000, seed=0):
    """Measure how often the top group contains the truly best metric, and its mean size."""
    rng = np.random.default_rng(seed)
    truth = np.full(metrics, others)
    truth[0] = best
    cut = np.sqrt(2) * ndtri(truth)
    kept, sizes = [], []
    for _ in range(replicates):
        shared = rng.normal(0, 1, (items, 1, pairs))  # metrics err together on hard pairs
        score = rng.normal(0, 1, (items, metrics, pairs)) + shared
        values = (score < cut[:, None]).mean(axis=2).T
        drawn = ClusterBootstrap(rng, resamples).resample_ratios(
            values, np.ones((1, items)), np.arange(items, dtype=np.int32)
        )
        top, _ = select_candidates_that_may_be_best(values.mean(axis=1), drawn, items)
        kept.append(top[0])
        sizes.append(top.sum())
    return np.mean(kept), np.mean(sizes)


def measure_confounding_flags(replicates, items=100, systems=4, seed=0):
    """Measure how often `length` and noisy but fair metrics are flagged as depending on the perturbation."""
    rng = np.random.default_rng(seed)
    methods, fair = 5, METRICS - 1
    output = np.repeat(np.arange(items * systems), methods)
    method = np.tile(np.arange(methods), items * systems)
    item = output // systems
    contexts = build_contexts("system", output % systems)
    length = np.isin(method, [0, 3])[None]  # the methods that remove words
    flags = []
    for _ in range(replicates):
        hard = rng.normal(0, 1, (fair, items))[:, item]
        right = np.concatenate([length, rng.normal(1.2, 1, (fair, len(output))) + hard > 0])
        made = build_outcomes(right, item, output, item, method)
        bootstrap = ClusterBootstrap(rng, 400)
        p = measure_accuracy_dependence_on_perturbation(
            made, contexts, ties="strict", bootstrap=bootstrap, rng=rng
        ).p
        flags.append([p[0] <= LEVEL, (p[1:] <= LEVEL).mean()])
    return np.mean(flags, axis=0)


def run_simulated_assay(rng, contexts, items, gain=0.0, metrics=4, pairs=2, resamples=400, people=False):
    """Run an assay of equally good metrics; with `gain` the last is ahead in the first context only.

    Two columns: `contexts` buckets and two halves that cross them; two methods. With `people` their side
    too: as many pairs of each item, told right in six of ten by every metric, and a test set of 8 systems.
    """
    item = np.repeat(np.arange(contexts * items), pairs)
    bucket = item % contexts
    truth = np.full((metrics, contexts), 0.75)
    if gain:
        truth[-1] = 0.5  # behind everywhere but there
        truth[-1, 0] = truth[0, 0] + gain
    shared = rng.normal(0, 1, len(item))
    right = rng.normal(0, 1, (metrics, len(item))) + shared < np.sqrt(2) * ndtri(truth)[:, bucket]
    made = build_outcomes(right, item, item, item, np.tile([0, 1], len(item) // 2))
    names = tuple(f"[{n},{n}]" for n in range(contexts))
    columns = [PairContexts("length:9", names, bucket), build_contexts("half", (item // contexts) % 2)]
    side = None
    if people:
        told = rng.normal(0, 1, (metrics, len(item))) + shared < np.sqrt(2) * ndtri(0.6)
        human, scores = draw_human_scores(rng, metrics, contexts * items, gain)
        rated = ScoreArrays(human, scores, np.arange(contexts * items))
        side = HumanPairs("mqm", build_outcomes(told, item, np.arange(len(item)), item), columns, [rated])
    seed = int(rng.integers(2**31))
    analysis = analyze_pairs(
        made, columns, human_pairs=side, resamples=resamples, permutations=199, seed=seed
    )
    return build_context_statistics(analysis).to_dict()


def draw_human_scores(rng, metrics, segments, gain, systems=8):
    """Draw human scores and noisy metrics; with `gain` the last metric is less noisy."""
    human = np.linspace(0, 0.5, systems)[:, None] + rng.normal(0, 1, (systems, segments))
    noise = np.r_[np.ones(metrics - 1), 0.3 if gain else 1.0][:, None, None]
    return human, human + noise * rng.normal(0, 1, (metrics, systems, segments))


def measure_false_claims(contexts, items, replicates, seed=0, people=False):
    """Measure how many reports make a claim although nothing differs, now and with the former rule.

    Before: where the metric that is best over all is not in the top group of some context.
    """
    rng = np.random.default_rng(seed)
    any_claim, uncorrected = [], []
    for _ in range(replicates):
        found = run_simulated_assay(rng, contexts, items, people=people)
        any_claim.append(any(found["claims"].get(kind) for kind in KINDS))
        best = max(found["global"], key=lambda row: row["accuracy"])["metric"]
        groups = [entry["top_group"] for part in found["recommendation"].values() for entry in part.values()]
        uncorrected.append(any(best not in group for group in groups))
    return np.mean(any_claim), np.mean(uncorrected)


def run_simulated_assay_with_people(rng, rule, people, items=150, per_item=8, resamples=400):
    """Run an assay of metrics with these accuracies on perturbed pairs and on human pairs.

    Pairs of an item go together on both sides: half of what decides them is the item's.
    """

    def made(truth, pairs):
        item = np.repeat(np.arange(items), pairs)
        shared = rng.normal(0, 1, items)[item]
        bound = np.sqrt(2) * ndtri(np.array(truth))[:, None]
        return build_outcomes(
            rng.normal(0, 1, (len(truth), len(item))) + shared < bound, item, np.arange(len(item)), item
        )

    side = HumanPairs("mqm", made(people, per_item), [], [])
    seed = int(rng.integers(2**31))
    analysis = analyze_pairs(made(rule, 3), [], human_pairs=side, resamples=resamples, seed=seed)
    return build_context_statistics(analysis).to_dict()


def measure_followed_people(rule, people, replicates, seed=0, items=150):
    """Measure how often human pairs decide, and how often the interval of tau contains the true tau."""
    rng = np.random.default_rng(seed)
    truth = correlate_rows(np.array(rule), np.array(people), "kendall")[0]
    follows, held = [], []
    for _ in range(replicates):
        found = run_simulated_assay_with_people(rng, rule, people, items)["people"]
        tau = found["agreement"]["rule_pairs"]
        follows.append(found["followed"])
        held.append(np.isnan(truth) or tau["low"] - 1e-9 <= truth <= tau["high"] + 1e-9)
    return np.mean(follows), np.mean(held)


def measure_corrected_coverage(error, replicates, read=100, items=200, pairs=4, truth=0.8, seed=0):
    """Measure how often the intervals of the corrected and of the raw accuracy contain the truth."""
    rng = np.random.default_rng(seed)
    held = []
    for _ in range(replicates):
        item = np.repeat(np.arange(items), pairs)
        right = rng.normal(0, 1, (METRICS, len(item))) + rng.normal(0, 1, items)[item] < np.sqrt(2) * ndtri(
            truth
        )
        wrong = rng.random(len(item)) < error
        made = build_outcomes(right ^ wrong, item, np.arange(len(item)), item)
        counts = [PerturbationLabelCheck(read, 0, int(rng.binomial(read, error)))]
        rows = correct_accuracy_for_label_errors(
            made,
            np.zeros(len(item), dtype=np.int32),
            counts,
            ties="strict",
            resamples=400,
            seed=int(rng.integers(2**31)),
        )
        estimates = AccuracyEstimates.estimate_from_pairs(*_sorted(made))
        raw = ClusterBootstrap(rng, 400)
        part = estimates.accuracy_sums
        low, high = proportion_interval(
            estimates.get_accuracy_estimates_of_context(0),
            raw.resample_ratios(part.weighted_accuracy, part.weight, part.clusters),
        )
        ends = rows[0].corrected_low, rows[0].corrected_high
        held.append((ends[0] <= truth <= ends[1], low[0] <= truth <= high[0]))
    return np.mean(held, axis=0)


def _sorted(made):
    pairs, _ = sort_pairs_by_item(made, [])
    return pairs, put_all_pairs_in_one_context(pairs)


def measure_trend_size(contexts, items, replicates, seed=0):
    """Measure how often a trend is found along buckets that do not differ (p ≤ .05, one test)."""
    rng = np.random.default_rng(seed)
    item = np.arange(contexts * items)
    names = tuple(f"[{n},{n}]" for n in range(contexts))
    found = []
    while len(found) < replicates:
        made = build_outcomes(rng.random((METRICS, len(item))) < 0.75, item, item, item)
        sums = count_correct_pairs(made, PairContexts("length:9", names, item % contexts))
        found += (
            compute_p_values_of_accuracy_trends("length:9", sums, np.ones(contexts, dtype=bool)) <= LEVEL
        ).tolist()
    return np.mean(found)


def measure_power(contexts, items, gain, replicates, seed=0):
    """Measure how often the one context in which another metric is ahead by `gain` is found."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(replicates):
        claims = run_simulated_assay(rng, contexts, items, gain)["claims"]
        found.append(any(row["context"] == "[0,0]" and row["better"] == "m3" for row in claims["lead"]))
    return np.mean(found)


def measure_false_alarms(columns, replicates, items=300, seed=0):
    """Measure how often two runs with the same truth are reported as changed."""
    rng = np.random.default_rng(seed)
    item = np.arange(items)

    def run():
        made = build_outcomes(rng.random((4, items)) < 0.7, item, item, item)
        labels = [build_contexts(f"c{n}", rng.integers(0, 3, items)) for n in range(columns)]
        return build_context_statistics(analyze_pairs(made, labels, resamples=200, permutations=9))

    return np.mean([compare_runs(run(), run()).changed for _ in range(replicates)])


def measure_ceiling_error(metrics, items, replicates, seed=0):
    """Measure the error of the noise ceiling from half samples, as it is and extrapolated."""
    rng = np.random.default_rng(seed)
    true, halves, full = [], [], []
    for _ in range(replicates):
        cut = np.sqrt(2) * ndtri(rng.uniform(0.6, 0.9, metrics))
        right = rng.normal(0, 1, (2, items, metrics, 4)) + rng.normal(0, 1, (2, items, 1, 4)) < cut[:, None]
        first, second = right.mean(axis=3)
        true.append(_tau(first.mean(axis=0), second.mean(axis=0)))
        coins = rng.random((20, items)) < 0.5
        half = np.mean([_tau(first[coin].mean(axis=0), first[~coin].mean(axis=0)) for coin in coins])
        halves.append(half)
        full.append(extrapolate_agreement_to_full_sample(half))
    return np.mean(true) - np.mean(halves), np.mean(true) - np.mean(full)


def _tau(first, second):
    return correlate_rows(np.round(first, 12)[None], np.round(second, 12)[None], "tau_ap_b")[0]


def measure_sysdep_coverage(systems, segments, replicates, noisy=1.0, seed=0):
    """Measure how often 95 % intervals of SysDep contain its value on unlimited segments."""
    rng = np.random.default_rng(seed)
    held = []
    while len(held) < replicates:
        bias, sizes = rng.normal(0, 0.8, systems), np.r_[noisy, np.ones(systems - 1)]
        outputs = build_scored_outputs(*_draw_metric_scores(rng, bias, sizes, 30_000))
        truth = float(compute_range_over_groups(measure_how_much_groups_are_overrated(outputs)))
        for _ in range(20):
            found = system_dependence(*_draw_metric_scores(rng, bias, sizes, segments), seed=len(held))
            held.append(found.low <= truth <= found.high)
    return np.mean(held)


def _draw_metric_scores(rng, bias, sizes, segments):
    systems = len(bias)
    quality = np.linspace(0, 1.6, systems)[:, None]
    human = quality + rng.normal(0, 1, segments) + rng.normal(0, 1, (systems, segments))
    noise = rng.normal(0, 1, (systems, segments)) * np.asarray(sizes)[:, None]
    return human, human + bias[:, None] + noise


def measure_dependence_sizes(systems, replicates, kind="even", segments=80, draws=99, seed=0):
    """Measure rejection rates of both p-values where their hypothesis or a condition holds or not.

    `even`: E[h | m] the same for all (for p_equal), the human score plus noise (for p_fair). `noisy`:
    residuals of one system three times as large. `counts`: human scores are counts of errors. `large`: the
    metric sees large errors only, in all systems alike.
    """
    rng = np.random.default_rng(seed)
    equal, fair = [], []
    for _ in range(replicates):
        sizes = np.r_[3.0 if kind == "noisy" else 1.0, np.ones(systems - 1)][:, None]
        metric = rng.normal(0, 1, segments) + rng.normal(0, 1, (systems, segments))
        human = metric + rng.normal(0, 1, metric.shape) * sizes
        if kind == "counts":
            human = -rng.poisson(np.exp(-metric)).astype(float)
        (equal_p,) = compute_p_values_of_equal_treatment([build_scored_outputs(human, metric)], rng, draws)
        equal.append(equal_p <= LEVEL)
        better = np.linspace(0, 1, systems)[:, None]
        people = better + rng.normal(0, 1, segments) + rng.normal(0, 1, (systems, segments))
        seen, noise = (np.minimum(people, -1), 0.2) if kind == "large" else (people, 0.7)
        outputs = build_scored_outputs(people, seen + rng.normal(0, noise, people.shape))
        (fair_p,) = compute_p_values_of_metric_fairness([outputs], rng, draws)
        fair.append(fair_p is not None and fair_p <= LEVEL)
    return np.mean(equal), np.mean(fair)


def measure_significance_sizes(replicates, bias=0.3, systems=12, segments=100, draws=199, seed=0):
    """Measure rejection rates (two-sided) of two metrics with equal biases towards systems, by test."""
    rng = np.random.default_rng(seed)
    tests = ("perm-inputs", "perm-systems", "perm-both", "bootstrap")
    rejected = {test: [] for test in tests}
    for n in range(replicates):
        human = np.linspace(0, 1, systems)[:, None] + rng.normal(0, 1, (systems, segments))
        noise = rng.normal(0, 1, (2, systems, segments)) + rng.normal(0, bias, (2, systems, 1))
        judged = ScoreArrays(human, human + noise)
        procedure = ComparisonSettings(draws=draws, seed=n)
        for test in tests:
            found = compute_metric_differences(
                parse_meta_metric("pearson"), judged, replace(procedure, test=test)
            )
            rejected[test].append(found.compute_p_values()[1][0] <= LEVEL)
    return {test: np.mean(shares) for test, shares in rejected.items()}


PEOPLE_DESIGNS = (
    ("two metrics, equally good everywhere", (0.75,) * 2, (0.6,) * 2, FAMILY),
    ("six metrics, equally good everywhere", (0.75,) * 6, (0.6,) * 6, FAMILY),
    (
        "six metrics, equally good for people, not on perturbed pairs",
        (0.9, 0.8, 0.75, 0.7, 0.65, 0.6),
        (0.6,) * 6,
        FAMILY,
    ),
    ("25 metrics, equally good everywhere", (0.75,) * 25, (0.6,) * 25, FAMILY),
    (
        "six metrics, another order",
        (0.9, 0.85, 0.8, 0.75, 0.7, 0.65),
        (0.58, 0.62, 0.6, 0.56, 0.64, 0.54),
        None,
    ),
    ("power: .05 better for people, .10 worse on perturbed pairs", (0.9, 0.8, 0.7), (0.6, 0.65, 0.55), None),
    ("power: .10 better for people, .10 worse on perturbed pairs", (0.9, 0.8, 0.7), (0.6, 0.7, 0.55), None),
)


def draw_labelled_scores(rng, skill, systems=5, items=100, metrics=7, cluster_size=1):
    """Draw skewed human scores of documents, and metrics that follow them equally well."""
    clusters = np.arange(items) // cluster_size
    difficulty = rng.normal(size=items) + rng.normal(size=items)[clusters]
    human = -np.round(np.exp(1.2 * (rng.normal(size=(systems, items)) + difficulty)))
    noise = rng.normal(size=(metrics, systems, items)) + rng.normal(size=(metrics, 1, items))
    standard = (human - human.mean(axis=1, keepdims=True)) / human.std(axis=1, keepdims=True)
    return ScoreArrays(human, noise + skill * standard, clusters)


def measure_saving_claims(skill, replicates, seed=0, **design):
    """Return how often one of seven equally good metrics is said to save labels, or to save fewer."""
    rng = np.random.default_rng(seed)
    saves = 0
    left_out = 0
    for _ in range(replicates):
        scores = draw_labelled_scores(rng, skill, **design)
        metrics = [f"metric {number}" for number in range(len(scores.metrics))]
        shares = estimate_share_of_human_labels_saved([scores], np.arange(len(metrics)))
        choice = shares.choose_metric_saving_most_human_labels(metrics, metrics)
        saves += choice.p is not None and choice.p <= LEVEL
        left_out += len(choice.top_group) < len(metrics)
    return saves / replicates, left_out / replicates


def list_saving_rates(replicates):
    trials = max(replicates // 2, 20)
    designs = {
        "5 systems, 100 items": {},
        "2 systems, 50 items": {"systems": 2, "items": 50},
        "5 systems, 15 documents": {"items": 150, "cluster_size": 10},
    }
    for what, design in designs.items():
        saves, _ = measure_saving_claims(0.0, trials, **design)
        yield Rate(f"labels saved, seven useless metrics, {what}: one saves labels", saves, trials, FAMILY)
        _, left_out = measure_saving_claims(0.5, trials, **design)
        yield Rate(f"… seven equal metrics, {what}: one saves fewer", left_out, trials, FAMILY)


def list_h1_rates(replicates):
    for name, make in H1_DESIGNS.items():
        permuted, plain = measure_rejection_rates(make, replicates)
        yield Rate(f"H1 rejects, {name}", permuted, replicates, SIZE)
        yield Rate(f"    chi-square, {name}", plain, replicates, None)
    for clusters in (8, 12):
        sizes = (60, 40, clusters, clusters)
        found = measure_rejection_rates(
            lambda rng, sizes=sizes: draw_heteroscedastic_null(rng, sizes, 20), replicates
        )[0]
        yield Rate(f"H1 rejects, heterogeneous domains of {clusters} clusters", found, replicates, SIZE)


def list_interval_rates(replicates):
    for truth in (0.02, 0.3, 0.7, 0.98):
        for items in (50, 500):
            bounds = COVERS if 0.1 < truth < 0.9 else (0.92, 1)
            held = measure_coverage(truth, items, replicates)
            yield Rate(f"accuracy {truth:.2f}, {items} items: interval covers", held, replicates, bounds)
    held = measure_document_coverage(replicates)
    yield Rate("documents of ten items, unit document: covers", held, replicates, COVERS)
    held = measure_document_coverage(replicates, by_document=False)
    yield Rate("documents of ten items, unit item: covers", held, replicates, None)
    trials = max(replicates // 4, 50)
    for items in (30, 300, 1000):
        kept, size = measure_top_group(items, trials)
        yield Rate(f"top group ({size:.1f} of 8), {items} items: contains the best", kept, trials, (0.95, 1))


def list_claim_rates(replicates):
    few = max(replicates // 10, 20)
    trials = max(replicates // 40, 5)
    length, fair = measure_confounding_flags(trials)
    yield Rate("depends on the method: length", length, trials, (1, 1))
    yield Rate("depends on the method: noisy but fair", fair, 19 * trials, SIZE)
    for contexts, items in ((5, 40), (250, 20)):
        found = measure_trend_size(contexts, items, replicates)
        yield Rate(f"a trend along {contexts} equal contexts", found, replicates, SIZE)
    for contexts, items, share in ((2, 60, 1), (20, 30, 2), (250, 20, 4)):
        trials = max(2 * few // share, 5)
        made, before = measure_false_claims(contexts, items, trials)
        yield Rate(f"{contexts} contexts: a report with any false statement", made, trials, FAMILY)
        yield Rate("    with each context tested alone: a wrong winner", before, trials, None)
    for contexts, items, share in ((2, 60, 1), (20, 30, 2)):
        trials = max(2 * few // share, 5)
        made, _ = measure_false_claims(contexts, items, trials, people=True)
        yield Rate(f"{contexts} contexts and people: a report with any false statement", made, trials, FAMILY)
    for contexts, items in ((2, 60), (20, 30), (20, 100), (250, 40)):
        trials = max(few // (1 + contexts // 50), 5)
        found = measure_power(contexts, items, 0.2, trials)
        yield Rate(f"    power: better by .20 in one of {contexts}, {items} items", found, trials, None)
    for name, rule, people, bounds in PEOPLE_DESIGNS:
        trials = 3 * few
        follows, held = measure_followed_people(rule, people, trials)
        yield Rate(f"recommendation follows people: {name}", follows, trials, bounds)
        if len(set(people)) > 1:
            yield Rate("    tau with human pairs: covers", held, trials, (0.92, 1))
    for error in (0.02, 0.15):
        trials = 3 * few
        found, raw = measure_corrected_coverage(error, trials)
        yield Rate(f"corrected, {error:.0%} of labels wrong, 100 pairs read: covers", found, trials, COVERS)
        yield Rate("    the raw accuracy: covers", raw, trials, None)
    for columns in (1, 2, 6):
        found = measure_false_alarms(columns, 2 * few)
        yield Rate(f"compare, {columns} columns: false alarm", found, 2 * few, FAMILY)


def list_dependence_rates(replicates):
    trials = max(replicates // 5, 20)
    for systems in (3, 4, 6, 12):
        for segments in (40, 100):
            held = measure_sysdep_coverage(systems, segments, trials)
            yield Rate(f"SysDep, {systems} systems, {segments} segments: covers", held, trials, (0.93, 0.99))
    held = measure_sysdep_coverage(6, 40, trials, noisy=4.0)
    yield Rate("SysDep, one of 6 systems four times as noisy: covers", held, trials, None)
    for systems in (3, 6, 12, 20):
        equal, fair = measure_dependence_sizes(systems, trials)
        yield Rate(f"p equal rejects, {systems} systems", equal, trials, SIZE)
        yield Rate(f"p fair rejects, {systems} systems", fair, trials, SIZE)
    for kind, which in (("noisy", 0), ("counts", 0), ("large", 1)):
        found = measure_dependence_sizes(6, trials, kind)[which]
        yield Rate(f"p {('equal', 'fair')[which]} rejects, condition broken: {kind}", found, trials, None)


def list_people_rates(replicates):
    trials = max(replicates // 5, 20)
    for bias, what in ((0.3, "biases of equal size towards systems"), (0.0, "equally good, no bias")):
        for test, found in measure_significance_sizes(trials, bias).items():
            bounds = SIZE if test == "perm-systems" or not bias else None
            yield Rate(f"{test} rejects, {what}", found, trials, bounds)


def draw_bleu_statistics(rng, systems=4, segments=100, gain=0.0, document_size=1):
    """Draw statistics of BLEU, `[systems, segments, 10]`; the first system is better by `gain` (logits).

    Segments differ in length and difficulty. Systems behave alike within a document.
    """
    reference_length = np.maximum(rng.lognormal(3, 0.5, segments).astype(int), 6)
    length = np.maximum(reference_length + rng.integers(-2, 3, (systems, segments)), 5)
    documents = np.arange(segments) // document_size
    quality = rng.normal(0.5, 0.8, segments) + rng.normal(0, 0.6, (systems, segments))
    if document_size > 1:
        quality += rng.normal(0, 0.6, (systems, segments))[:, documents]
    quality[0] += gain
    statistics = np.empty((systems, segments, 10))
    statistics[..., 0] = length
    statistics[..., 1] = reference_length
    for order in range(1, 5):
        total = length - order + 1
        statistics[..., 1 + order] = rng.binomial(total, expit(quality) ** (1 + 0.7 * (order - 1)))
        statistics[..., 5 + order] = total
    return statistics


def measure_system_tests(test, replicates, means=False, draws=999, seed=0, **design):
    """Measure how often tests of `score` reject: any two systems, after Holm's correction and single pairs.

    Also returns how often the first two systems differ after Holm's correction. `means` compares means of
    segment scores instead of corpus BLEU.
    """
    rng = np.random.default_rng(seed)
    bleu = Bleu()
    any_rejected = 0
    single_rejected = 0
    first_rejected = 0
    for _ in range(replicates):
        statistics = draw_bleu_statistics(rng, **design)
        from_statistics = bleu.from_statistics
        if means:
            statistics = convert_scores_to_sums_and_counts(bleu.compute_segment_scores(statistics))
            from_statistics = compute_means_from_sums_and_counts
        p = TESTS[test](statistics, from_statistics, rng, draws=draws).p
        p_values = p[np.triu_indices(len(p), 1)]
        adjusted = adjust_p_values_by_holm(p_values)
        any_rejected += adjusted.min() <= LEVEL
        single_rejected += np.mean(p_values <= LEVEL)
        first_rejected += adjusted[0] <= LEVEL
    return any_rejected / replicates, single_rejected / replicates, first_rejected / replicates


def list_system_test_rates(replicates):
    for test in TESTS:
        # The bootstrap is known to reject too often with few segments; docs/assumptions.md says how often.
        family, size = (FAMILY, SIZE) if test == "randomization" else (None, None)
        for what, design in (
            ("BLEU, 100 segments", {}),
            ("BLEU, 500 segments", {"segments": 500}),
            ("mean sentence BLEU, 100 segments", {"means": True}),
        ):
            any_rejected, single_rejected, _ = measure_system_tests(test, replicates, **design)
            yield Rate(
                f"score, {test}, 4 equal systems, {what}: any differ", any_rejected, replicates, family
            )
            yield Rate("… a single pair of systems", single_rejected, replicates, size)
        any_rejected, _, _ = measure_system_tests(test, replicates, document_size=10)
        yield Rate(
            f"score, {test}, 4 systems that behave alike in documents: any differ",
            any_rejected,
            replicates,
            None,
        )
        _, _, power = measure_system_tests(test, replicates, gain=0.15)
        yield Rate(f"score, {test}, power: 100 segments, 3 BLEU better", power, replicates, None)


PARTS = (
    list_h1_rates,
    list_interval_rates,
    list_claim_rates,
    list_dependence_rates,
    list_people_rates,
    list_saving_rates,
    list_system_test_rates,
)


def main(replicates=2000):
    start = time.perf_counter()
    out = 0
    for part in PARTS:
        for rate in part(replicates):
            out += not rate.holds
            print(rate, flush=True)
    for metrics in (6, 12, 25):
        half, full = measure_ceiling_error(metrics, 100, max(replicates // 10, 40))
        print(
            f"noise ceiling, {metrics} metrics: true minus halves {half:+.3f}, minus extrapolated {full:+.3f}"
        )
    print(f"{time.perf_counter() - start:.0f} s, {out} out")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
