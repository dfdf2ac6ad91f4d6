"""Are the error rates what they are said to be? Simulations with a known truth, fixed seeds.

    python benchmarks/calibration.py [replicates]

(a) H1, contexts crossed with items that differ in difficulty; (b) H1, contexts that hold whole documents;
both without any difference between contexts. (c) 95 % intervals of the accuracy. (d) The top group when one
metric is best by .02. (e) The flag for confounding. In (a) to (c) independent metrics serve as replicates.
"""

import sys
import time

import numpy as np
from scipy.special import ndtri

from metassay.meta.contexts.accuracy import tally, whole
from metassay.meta.contexts.column import Estimates
from metassay.meta.contexts.confounding import confounding
from metassay.meta.contexts.h1 import accuracy_change, cross_methods
from metassay.meta.contexts.judgements import Contexts, Judgements
from metassay.stats.bootstrap import ClusterBootstrap, cluster_interval
from metassay.stats.multiplicity import may_be_best

METRICS = 20
LEVEL = 0.05


def expit(x):
    return 1 / (1 + np.exp(-x))


def judgements(right, item, output, cluster, method=None):
    """Pairs whose outcomes are right or wrong, `right` being [metrics, pairs]."""
    method = np.zeros(len(item), dtype=np.int32) if method is None else method
    return Judgements(
        metrics=tuple(f"m{m}" for m in range(len(right))),
        methods=tuple(f"method{k}" for k in range(int(method.max()) + 1)),
        outcome=np.where(right, 1, -1),
        item=item,
        output=output,
        cluster=cluster,
        method=method,
    )


def crossed_null(rng, items=60, systems=8, pairs=4):
    """Items differ in difficulty, outputs too; systems do not."""
    output = np.repeat(np.arange(items * systems), pairs)
    item = output // systems
    difficulty = rng.normal(0.8, 1.5, (METRICS, items))[:, item]
    noise = rng.normal(0, 1.5, (METRICS, items * systems))[:, output]  # the pairs of an output go together
    right = rng.random((METRICS, len(output))) < expit(difficulty + noise)
    labels = Contexts("system", tuple(map(str, range(systems))), output % systems)
    return judgements(right, item, output, item), labels


def nested_null(rng, documents=48, domains=4, systems=5, pairs=4):
    """Documents differ in difficulty and in length; domains, which hold whole documents, do not."""
    lengths = rng.integers(2, 9, documents)
    document_of_item = np.repeat(np.arange(documents), lengths)
    output = np.repeat(np.arange(len(document_of_item) * systems), pairs)
    item = output // systems
    document = document_of_item[item]
    difficulty = rng.normal(0.8, 1.0, (METRICS, documents))[:, document]
    difficulty += rng.normal(0, 0.7, (METRICS, len(document_of_item)))[:, item]
    right = rng.random((METRICS, len(output))) < expit(difficulty)
    domain_of = rng.permutation(np.arange(documents) % domains)
    labels = Contexts("domain", tuple(map(str, range(domains))), domain_of[document])
    return judgements(right, item, output, document), labels


def rejection_rates(make, replicates, permutations=999, seed=0):
    """Share of true null hypotheses rejected by the permutation test and by the plain chi-square."""
    rng = np.random.default_rng(seed)
    permuted, plain = [], []
    while len(permuted) < replicates:
        pairs, contexts = make(rng)
        totals = tally(pairs, cross_methods(pairs, contexts)).totals
        found = accuracy_change(pairs, contexts, totals, ties="strict", rng=rng, permutations=permutations)
        permuted += found.p_permutation.tolist()
        plain += found.p.tolist()
    return np.mean(np.array(permuted) <= LEVEL), np.mean(np.array(plain) <= LEVEL)


def coverage(truth, items, replicates, correlation=0.1, pairs=4, resamples=1000, seed=0):
    """Share of 95 % intervals that hold the true accuracy, with items that differ in difficulty."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), pairs)
    held = []
    while len(held) < replicates:
        scale = 1 / correlation - 1
        share = rng.beta(truth * scale, (1 - truth) * scale, (METRICS * 10, items))
        made = judgements(rng.random((METRICS * 10, len(item))) < share[:, item], item, item, item)
        found = Estimates.of(tally(made, whole(made)))
        sums = found.tally
        drawn = ClusterBootstrap(rng, resamples).ratios(sums.credit, sums.size, sums.cluster)
        low, high = cluster_interval(found.of_context(0), drawn)
        held += ((low <= truth) & (truth <= high)).tolist()
    return np.mean(held)


def best_kept(items, replicates, best=0.82, others=0.80, metrics=8, pairs=4, resamples=1000, seed=0):
    """How often the top group holds the truly best metric, and how many metrics it holds on average."""
    rng = np.random.default_rng(seed)
    truth = np.full(metrics, others)
    truth[0] = best
    cut = np.sqrt(2) * ndtri(truth)
    kept, sizes = [], []
    for _ in range(replicates):
        shared = rng.normal(0, 1, (items, 1, pairs))  # metrics err together on hard pairs
        score = rng.normal(0, 1, (items, metrics, pairs)) + shared
        values = (score < cut[:, None]).mean(axis=2).T
        drawn = ClusterBootstrap(rng, resamples).ratios(
            values, np.ones((1, items)), np.arange(items, dtype=np.int32)
        )
        top, _ = may_be_best(values.mean(axis=1), drawn, items)
        kept.append(top[0])
        sizes.append(top.sum())
    return np.mean(kept), np.mean(sizes)


def flag_rates(replicates, items=100, systems=4, seed=0):
    """How often `length` and a noisy but fair metric are flagged as confounded."""
    rng = np.random.default_rng(seed)
    methods = 5
    flags = []
    output = np.repeat(np.arange(items * systems), methods)
    method = np.tile(np.arange(methods), items * systems)
    item = output // systems
    contexts = Contexts("system", tuple(map(str, range(systems))), output % systems)
    for _ in range(replicates):
        loss = np.abs(rng.normal(1.5, 0.5, len(output)))  # people see every method as about as harmful
        fair = loss + rng.normal(0, 1.5, len(output)) > 0
        length = np.isin(method, [0, 3])  # the methods that remove words
        made = judgements(np.stack([length, fair]), item, output, item, method)
        bootstrap = ClusterBootstrap(rng, 200)
        found = confounding(made, contexts, ties="strict", bootstrap=bootstrap, rng=rng)
        flags.append([row["flag"] for row in found.rows()])
    return np.mean(flags, axis=0)


def main(replicates=2000):
    start = time.perf_counter()
    for name, make in (("crossed", crossed_null), ("nested", nested_null)):
        permuted, plain = rejection_rates(make, replicates)
        print(
            f"H1 {name:8} rejects {permuted:.3f} by permutation (want .035–.065), {plain:.3f} by chi-square"
        )
    for truth in (0.02, 0.3, 0.7, 0.98):
        for items in (50, 500):
            held = coverage(truth, items, replicates)
            want = ".93–.97" if 0.1 < truth < 0.9 else "≥ .92"
            print(f"95 % interval, accuracy {truth:.2f}, {items:3} items: covers {held:.3f} (want {want})")
    for items in (30, 100, 300, 1000):
        kept, size = best_kept(items, max(replicates // 4, 200))
        print(
            f"top group, {items:4} items: holds the best in {kept:.3f} (want ≥ .95), {size:.1f} of 8 metrics"
        )
    length, fair = flag_rates(max(replicates // 20, 20))
    print(f"flagged as confounded: length {length:.2f} (want 1), noisy but fair {fair:.2f} (want 0)")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
