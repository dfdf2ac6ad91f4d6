"""A contextual assay as a person would do it: pairs noted down one by one, definitions in plain loops."""

from collections import defaultdict
from math import log

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.stats import chi2 as chi2_distribution
from scipy.stats import f as f_distribution

from metassay.meta.contexts.context_statistics import build_context_statistics
from metassay.meta.contexts.pair_analysis import analyze_pairs
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes

METRICS, METHODS, SYSTEMS = (
    ("bleu", "chrf", "ter", "length"),
    ("insertion", "removal", "swapping"),
    ("A", "B", "C"),
)


class Pair:
    """One pair as a person would note it down."""

    def __init__(self, document, item, system, method, weight, outcomes):
        self.document, self.item, self.system, self.method = document, item, system, method
        self.weight, self.outcomes = weight, outcomes
        self.domain = ("news", "talk")[document % 2]


def assay_pairs(outcomes, contexts, **options):
    return build_context_statistics(analyze_pairs(outcomes, contexts, **options))


def random_pairs(seed, *, weighted, items=24):
    rng = np.random.default_rng(seed)
    pairs = []
    for item in range(items):
        for system in SYSTEMS:
            weight = rng.uniform(0.5, 2) if weighted else 1.0
            for method in METHODS:
                if rng.random() < 0.8:
                    outcomes = rng.choice([1, 0, -1, None], size=4, p=[0.6, 0.1, 0.25, 0.05]).tolist()
                    outcomes[3] = {"removal": 1, "insertion": -1, "swapping": 0}[method]
                    pairs.append(Pair(item // 3, item, system, method, weight, dict(zip(METRICS, outcomes))))
    return pairs


def as_outcomes(pairs, *, weighted):
    return PairOutcomes(
        metrics=METRICS,
        perturbation_names=METHODS,
        outcomes=np.array([[-2 if p.outcomes[m] is None else p.outcomes[m] for p in pairs] for m in METRICS]),
        items=np.array([p.item for p in pairs]),
        outputs=np.array([p.item * len(SYSTEMS) + SYSTEMS.index(p.system) for p in pairs]),
        clusters=np.array([p.document for p in pairs]),
        perturbations=np.array([METHODS.index(p.method) for p in pairs]),
        weights=np.array([p.weight for p in pairs]) if weighted else None,
    )


def columns_of(pairs):
    system = PairContexts("system", SYSTEMS, np.array([SYSTEMS.index(p.system) for p in pairs]))
    domain = PairContexts(
        "domain", ("news", "talk"), np.array([("news", "talk").index(p.domain) for p in pairs])
    )
    return [system, domain]


def assay(pairs, *, weighted=False, **options):
    options = {"resamples": 200, "permutations": 99, "sentinels": ("length",), "minimum_items": 1} | options
    return assay_pairs(as_outcomes(pairs, weighted=weighted), columns_of(pairs), **options).to_dict()


def contexts_of(pairs, column):
    values = SYSTEMS if column == "system" else ("news", "talk")
    return {value: [p for p in pairs if getattr(p, column) == value] for value in values}


def credit(outcome, tie):
    return {1: 1.0, 0: tie, -1: 0.0}[outcome]


def scored(pairs, metric):
    return [p for p in pairs if p.outcomes[metric] is not None]


def accuracy(pairs, metric, tie):
    """Macro average over items, straight from the definition."""
    by_item = defaultdict(list)
    for pair in scored(pairs, metric):
        by_item[pair.item].append(pair)
    top = bottom = 0.0
    for members in by_item.values():
        weight = sum(p.weight for p in members)
        inside = sum(p.weight * credit(p.outcomes[metric], tie) for p in members) / weight
        item_weight = weight / len(members)
        top += item_weight * inside
        bottom += item_weight
    return top / bottom if bottom else None


def standardised(pairs, everything, metric, tie):
    top = bottom = 0.0
    for method in METHODS:
        value = accuracy([p for p in pairs if p.method == method], metric, tie)
        if value is not None:
            share = sum(p.method == method for p in everything) / len(everything)
            top, bottom = top + share * value, bottom + share
    return top / bottom


def expected_row(context, pairs, everything, metric, tie):
    known = scored(pairs, metric)
    return {
        "context": context,
        "metric": metric,
        "accuracy": accuracy(pairs, metric, tie),
        "micro": sum(p.weight * credit(p.outcomes[metric], tie) for p in known)
        / sum(p.weight for p in known),
        "standardised": standardised(pairs, everything, metric, tie),
        "ties": sum(p.outcomes[metric] == 0 for p in known) / len(known),
        "items": len({p.item for p in known}),
        "outputs": len({(p.item, p.system) for p in known}),
        "pairs": len(known),
        "clusters": len({p.document for p in known}),
    }


def same(found, expected):
    for key, value in expected.items():
        assert found[key] == (pytest.approx(value, abs=1e-12) if isinstance(value, float) else value), key


def table(members, metric, tie):
    known = scored(members, metric)
    right = sum(credit(p.outcomes[metric], tie) for p in known)
    return right, len(known)


def cmh(groups, metric, tie):
    """Generalised Cochran–Mantel–Haenszel with the whole covariance matrix, last context dropped."""
    gap, covariance = np.zeros(len(groups)), np.zeros((len(groups), len(groups)))
    for method in METHODS:
        cells = [table([p for p in g if p.method == method], metric, tie) for g in groups.values()]
        right, sizes = np.array([c[0] for c in cells]), np.array([c[1] for c in cells], dtype=float)
        n, hits = sizes.sum(), right.sum()
        gap += right - sizes * hits / n
        covariance += hits * (n - hits) / (n**2 * (n - 1)) * (n * np.diag(sizes) - np.outer(sizes, sizes))
    statistic = gap[:-1] @ np.linalg.solve(covariance[:-1, :-1], gap[:-1])
    return chi2_distribution.sf(statistic, len(groups) - 1)


def step_down(p_values):
    adjusted, running = {}, 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda entry: entry[1])):
        running = max(running, p * (len(p_values) - rank))
        adjusted[name] = min(running, 1.0)
    return adjusted


def shuffled_p_value(pairs, column, metric, tie, rng, draws=600):
    """Systems change places within their document, whole documents their domain; the larger of two p."""
    crossed = column == "system"
    units, blocks = defaultdict(list), defaultdict(list)
    for pair in scored(pairs, metric):
        unit = (pair.document, pair.system) if crossed else pair.document
        units[unit].append(credit(pair.outcomes[metric], tie))
        blocks[pair.document if crossed else "all"].append(credit(pair.outcomes[metric], tie))
    share = {unit: np.mean(blocks[unit[0] if crossed else "all"]) for unit in units}
    residual = {unit: sum(values) - len(values) * share[unit] for unit, values in units.items()}
    most = np.mean([share[u] * (1 - share[u]) * len(units[u]) ** 2 for u in units])

    def statistics(label):
        groups = defaultdict(list)
        for unit in units:
            groups[label(unit)].append(unit)
        sizes = np.array([sum(len(units[u]) for u in g) for g in groups.values()])
        means = np.array([sum(residual[u] for u in g) for g in groups.values()]) / sizes
        spreads = [np.array([residual[u] for u in g]) for g in groups.values()]
        welch = [n**2 / (((r - r.mean()) ** 2).sum() + most) for n, r in zip(sizes, spreads)]
        parts = sizes / sizes.sum()
        units_of = np.array([len(r) for r in spreads])
        between = np.sum(sizes * (means - np.average(means, weights=sizes)) ** 2)
        each = np.array([len(r) * r.var(ddof=1) / n for n, r in zip(sizes, spreads)])
        expected = np.sum((1 - parts) * each)
        above = expected**2 / (np.sum(each**2) + np.sum(parts * each) ** 2 - 2 * np.sum(parts * each**2))
        below = expected**2 / np.sum(((1 - parts) * each) ** 2 / (units_of - 1))
        return np.array(
            [
                np.sum(welch * (means - np.average(means, weights=welch)) ** 2),
                1 - f_distribution.sf(between / expected, above, below),
            ]
        )

    def shuffle():
        if not crossed:
            labels = dict(zip(units, rng.permutation([d % 2 for d in units])))
            return labels.get
        systems_of_document = defaultdict(list)
        for document, system in sorted({(p.document, p.system) for p in pairs}):
            systems_of_document[document].append(system)
        labels = {}
        for document, systems in systems_of_document.items():
            for old, new in zip(systems, rng.permutation(systems)):
                labels[document, old] = new
        return labels.get

    observed = statistics(lambda unit: unit[1] if crossed else unit % 2)
    return np.mean([statistics(shuffle()) >= observed * (1 - 1e-9) for _ in range(draws)], axis=0).max()


def resampled(pairs, rng, draws):
    """Pairs of every cluster repeated as often as a cluster bootstrap draws it."""
    documents = sorted({p.document for p in pairs})
    inside = {d: [p for p in pairs if p.document == d] for d in documents}
    for _ in range(draws):
        drawn = []
        for copy, document in enumerate(rng.choice(documents, size=len(documents))):
            drawn += [
                Pair(document, (copy, p.item), p.system, p.method, p.weight, p.outcomes)
                for p in inside[document]
            ]
        yield drawn


def order_p_value(pairs, members, draws):
    """The order-restricted test by hand: distance to the nearest accuracies in the whole's order."""
    overall = [accuracy(pairs, m, 0.0) for m in METRICS[:3]]
    ascending = np.argsort(overall)
    own = np.array([accuracy(members, m, 0.0) for m in METRICS[:3]])[ascending]
    deviations = np.array(draws)[:, ascending] - own
    weights = 1 / deviations.var(axis=0)

    def distance(values):
        fitted = isotonic_regression(values, weights=weights).x
        return fitted, (weights * (values - fitted) ** 2).sum()

    nearest, observed = distance(own)
    return np.mean([distance(nearest + deviation)[1] >= observed - 1e-9 for deviation in deviations])


def compute_p_values_of_accuracy_differences(values, draws):
    """For each metric the chance of a largest standardised lead over it at least as large as the observed."""
    deviations = np.array(draws) - values
    found = []
    for m in range(3):
        leads = deviations - deviations[:, [m]]
        others = [j for j in range(3) if j != m]
        spread = leads[:, others].std(axis=0)
        observed = max(((values[others] - values[m]) / spread).max(), 0)
        found.append(np.mean((leads[:, others] / spread).max(axis=1).clip(0) >= observed))
    return np.array(found)


def mean_over_systems(pairs, metric, tie, methods):
    values = [
        accuracy([p for p in group if p.method in methods], metric, tie)
        for group in contexts_of(pairs, "system").values()
    ]
    return np.mean([v for v in values if v is not None])


def worst_mix(values, shares, radius):
    """Least mean under mixes of two contexts within the ball, by a fine search."""
    best = 1.0
    for q in np.linspace(1e-6, 1 - 1e-6, 40_001):
        divergence = q * log(q / shares[0]) + (1 - q) * log((1 - q) / shares[1])
        if divergence <= radius:
            best = min(best, q * values[0] + (1 - q) * values[1])
    return best


def cluster_variance(pairs, metric, tie):
    """Linearised variance of a ratio of sums over documents."""
    centre = accuracy(pairs, metric, tie)
    tops, bottoms = defaultdict(float), defaultdict(float)
    for item in {p.item for p in scored(pairs, metric)}:
        members = [p for p in scored(pairs, metric) if p.item == item]
        weight = sum(p.weight for p in members) / len(members)
        tops[members[0].document] += weight * accuracy(members, metric, tie)
        bottoms[members[0].document] += weight
    n = len(tops)
    squares = sum((tops[d] - centre * bottoms[d]) ** 2 for d in tops)
    return n / (n - 1) * squares / sum(bottoms.values()) ** 2
