"""The lines of the ledger that are computed from translations and transcripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from reproduce.entry import Entry, Reason, format_range
from reproduce.ledger import load_published

Measurements = dict[str, Any]
LOW_AGREEMENT = 0.5
"""Below this agreement, the rankings of metrics in two contexts differ considerably."""
PUBLISHED_OUTPUTS = 150_000
"""Outputs of translation systems in the paper, at least."""
PAIRS_PER_OUTPUT = 4
"""Pairs that we make from each output; the paper does not give its number."""


def build_entries(by_seed: Sequence[Measurements]) -> dict[str, Entry]:
    """Build the lines of the ledger: figures of the first seed, claims checked with all seeds."""
    entries = {
        "000 table 5": _build_table_5(by_seed),
        "000 table 6": _build_table_6(by_seed),
        "000 figure 5": _build_figure_5(by_seed[0]["paper"]["confounding"]),
        "000 figure 6": _build_figure_6(by_seed),
        "000 figure 1a": _build_accuracy_figure(by_seed, "paper", "system", crossing=True),
        "000 figure 1b": _build_disagreement_figure(by_seed, "paper", "system"),
        "000 figure 2a": _build_accuracy_figure(
            by_seed, "speech", "speaker_id", reasons=[_explain_speakers(by_seed, "speech")]
        ),
        "000 figure 2b": _build_agreement_figure(by_seed, "speech", "speaker_id"),
        "000 figure 7": _build_accuracy_figure(by_seed, "paper", "domain", crossing=True),
        "000 figure 8": _build_accuracy_figure(
            by_seed, "paper", "year", crossing=True, reasons=[_explain_years(by_seed)]
        ),
        "000 figure 9": _build_accuracy_figure(by_seed, "speech", "system"),
        "002 figure 1a": _build_accuracy_figure(
            by_seed, "draft", "system", crossing=True, reasons=[_explain_draft(by_seed)]
        ),
        "002 figure 1b": _build_disagreement_figure(
            by_seed, "draft", "system", reasons=[_explain_order(by_seed, "draft")]
        ),
        "002 figure 2a": _build_accuracy_figure(
            by_seed, "speech draft", "speaker_id", reasons=[_explain_speakers(by_seed, "speech draft")]
        ),
        "002 figure 2b": _build_agreement_figure(by_seed, "speech draft", "speaker_id"),
    }
    for figure, pair in (("4", "en-de"), ("10", "en-ru"), ("11", "zh-en")):
        entries[f"000 figure {figure}"] = _build_quality_figure(by_seed, pair)
    return entries


def _check_each_seed(by_seed: Sequence[Measurements], check: Callable[[Measurements], bool]) -> list[bool]:
    return [bool(check(measurements)) for measurements in by_seed]


def _load_published_values(what: str) -> dict[str, float]:
    values: dict[str, float] = next(
        entry["values"]
        for entry in load_published()["entry"]
        if (entry["paper"], entry["what"]) == ("000", what)
    )
    return values


def _build_table_5(by_seed: Sequence[Measurements]) -> Entry:
    first = by_seed[0]
    values = {
        _name_as_published(row["metric"]): row["chi2"] for row in first["paper"]["contexts"]["system"]["h1"]
    }
    with_references = [row["chi2"] for row in first["with references"]["contexts"]["system"]["h1"]]
    systems = first["paper"]["contexts"]["system"]["h1"][0]["dof"] + 1
    description = (
        f"{len(values)} lexical metrics, {first['paper']['pairs']:,} pairs, {systems} systems: "
        f"{format_range(list(values.values()), 0)}; with systems that are their own reference "
        f"{format_range(with_references, 0)}"
    )
    published = _load_published_values("table 5")
    lexical = [value for name, value in published.items() if name in values]
    per_thousand = {
        "published": [1000 * value / (PUBLISHED_OUTPUTS * PAIRS_PER_OUTPUT) for value in lexical],
        "without": [1000 * value / first["paper"]["pairs"] for value in values.values()],
        "with": [1000 * value / first["with references"]["pairs"] for value in with_references],
    }
    shown = {name: format_range(numbers, 1) for name, numbers in per_thousand.items()}
    reasons = [
        Reason("there are fewer systems", systems < 62, f"{systems} of 62"),
        Reason(
            "χ² grows with the number of pairs, and per pair the published values lie between ours without "
            "and with systems that are their own reference, so that they do not show whether these were kept",
            float(np.median(per_thousand["without"]))
            < float(np.median(per_thousand["published"]))
            < float(np.median(per_thousand["with"])),
            f"per 1,000 pairs {shown['without']} without and {shown['with']} with them; published "
            f"{shown['published']} if {PAIRS_PER_OUTPUT} pairs were made from each of {PUBLISHED_OUTPUTS:,} "
            "outputs",
        ),
    ]
    return Entry(description, values, _check_h1(by_seed, "paper", "system"), reasons)


def _name_as_published(metric: str) -> str:
    """Return the paper's name of a metric: its BLEU is nltk's."""
    return {"nltk_bleu": "bleu", "bleu": "sacrebleu"}.get(metric, metric)


def _build_table_6(by_seed: Sequence[Measurements]) -> Entry:
    rows = by_seed[0]["speech"]["contexts"]["speaker_id"]["h1"]
    values = {row["metric"]: row["chi2"] for row in rows}
    speakers = rows[0]["dof"] + 1
    permutation = [
        row["p_permutation"] for m in by_seed for row in m["speech"]["contexts"]["speaker_id"]["h1"]
    ]
    description = (
        f"{speakers} speakers: {format_range(list(values.values()), 0)}, WIL and WIP {values['wil']:.0f} and "
        f"{values['wip']:.0f}; the permutation test over chapters gives p {format_range(permutation, 3)} "
        "(all seeds)"
    )
    claims = {
        "every metric has p < .05": _check_each_seed(
            by_seed, lambda m: all(row["p"] < 0.05 for row in m["speech"]["contexts"]["speaker_id"]["h1"])
        )
    }
    reasons = [Reason("there are fewer speakers, of other recognisers", speakers < 73, f"{speakers} of 73")]
    return Entry(description, values, claims, reasons)


def _check_h1(by_seed: Sequence[Measurements], part: str, column: str) -> dict[str, list[bool]]:
    def check(field: str) -> list[bool]:
        return _check_each_seed(
            by_seed, lambda m: all(row[field] < 0.05 for row in m[part]["contexts"][column]["h1"])
        )

    return {
        "every metric has p < .05": check("p"),
        "every metric has p < .05 by a test that respects dependence": check("p_permutation"),
    }


def _build_accuracy_figure(
    by_seed: Sequence[Measurements],
    part: str,
    column: str,
    *,
    crossing: bool = False,
    reasons: Sequence[Reason] = (),
) -> Entry:
    """Build the line of a figure in which accuracies change from context to context."""
    rows = by_seed[0][part]["contexts"][column]["h1"]
    ranges = [measure_ranges(m[part]["contexts"][column]) for m in by_seed]
    crossings = [count_crossings(m[part]["contexts"][column]) for m in by_seed]
    significant = [
        sum(row["p_permutation"] < 0.05 for row in m[part]["contexts"][column]["h1"]) for m in by_seed
    ]
    sizes = [row["cramers_v"] for m in by_seed for row in m[part]["contexts"][column]["h1"]]
    metrics = len(rows)
    description = (
        f"{rows[0]['dof'] + 1} contexts, all seeds: accuracies change by "
        f"{format_range([value for values in ranges for value in values])} (V {format_range(sizes)}); H1 by "
        f"the permutation test for {format_range(significant, 0)} of {metrics} metrics; "
        f"{format_range(crossings, 0)} of {metrics * (metrics - 1) // 2} pairs of lines cross"
    )
    claims = _check_h1(by_seed, part, column)
    if crossing:
        claims["lines cross"] = [count > 0 for count in crossings]
    return Entry(description, claims=claims, reasons=reasons)


def _collect_accuracies(context: Measurements) -> dict[str, dict[str, float]]:
    """Return the accuracy by metric and context."""
    accuracies: dict[str, dict[str, float]] = {}
    for row in context["local_accuracy"]:
        if row["context"] != "global" and row["accuracy"] is not None:
            accuracies.setdefault(row["metric"], {})[row["context"]] = row["accuracy"]
    return accuracies


def measure_ranges(context: Measurements) -> list[float]:
    """Return by how much the accuracy of each metric changes over contexts."""
    return [max(line.values()) - min(line.values()) for line in _collect_accuracies(context).values()]


def count_crossings(context: Measurements) -> int:
    """Count the pairs of metrics whose order changes between contexts."""
    count = 0
    for a, b in combinations(_collect_accuracies(context).values(), 2):
        signs = {np.sign(round(a[name] - b[name], 9)) for name in a if name in b}
        count += {-1.0, 1.0} <= signs
    return count


def _explain_speakers(by_seed: Sequence[Measurements], part: str) -> Reason:
    """Why H1 is not shown for speakers: it is, if utterances of one chapter count as independent."""
    low, high = by_seed[0]["chapters"]
    by_utterance = [
        max(row["p_permutation"] for row in m[f"{part} by utterance"]["contexts"]["speaker_id"]["h1"])
        for m in by_seed
    ]
    by_chapter = [
        max(row["p_permutation"] for row in m[part]["contexts"]["speaker_id"]["h1"]) for m in by_seed
    ]
    return Reason(
        f"every speaker has {low} to {high} chapters, and the permutation test exchanges whole chapters; if "
        "single utterances are exchanged, p is smaller",
        high <= 4 and all(a < b for a, b in zip(by_utterance, by_chapter)),
        f"largest p over metrics {format_range(by_utterance, 3)} by utterance, "
        f"{format_range(by_chapter, 3)} by chapter",
    )


def _explain_years(by_seed: Sequence[Measurements]) -> Reason:
    context = by_seed[0]["paper"]["contexts"]["year"]
    years = context["h1"][0]["dof"] + 1
    gaps = []
    for m in by_seed:
        accuracies = _collect_accuracies(m["paper"]["contexts"]["year"])
        means = sorted(float(np.mean(list(line.values()))) for line in accuracies.values())
        gaps.append(float(np.median(np.diff(means))))
    changes = [float(np.median(measure_ranges(m["paper"]["contexts"]["year"]))) for m in by_seed]
    return Reason(
        "there are two years only, and the accuracy of a metric changes less between them than it differs "
        "from that of the next metric",
        years == 2 and float(np.median(changes)) < float(np.median(gaps)),
        f"medians {np.median(changes):.3f} and {np.median(gaps):.3f}",
    )


def _explain_draft(by_seed: Sequence[Measurements]) -> Reason:
    """Why H1 is not shown for every metric in the draft: its effects are small for some metrics."""
    largest: dict[str, float] = {}
    for m in by_seed:
        for row in m["draft"]["contexts"]["system"]["h1"]:
            largest[row["metric"]] = max(largest.get(row["metric"], 0), row["p_permutation"])
    unclear = [metric for metric, p in largest.items() if p >= 0.05]
    accuracies = {row["metric"]: row["accuracy"] for row in by_seed[0]["draft"]["global"]}
    lowest = min((accuracies[metric] for metric in unclear), default=0.0)
    described = ", ".join(f"{metric} {accuracies[metric]:.3f}" for metric in unclear)
    return Reason(
        "the metrics for which it is not shown are right in nearly all pairs, so that little is left to "
        "change",
        bool(unclear) and lowest > 0.9,
        f"accuracy of {described}" if unclear else "there are none",
    )


def _explain_order(by_seed: Sequence[Measurements], part: str) -> Reason:
    """Why rankings agree: metrics differ more from each other than each does between systems."""
    between = []
    within = []
    for m in by_seed:
        accuracies = _collect_accuracies(m[part]["contexts"]["system"])
        means = [float(np.mean(list(line.values()))) for line in accuracies.values()]
        between.append(float(np.std(means)))
        within.append(float(np.mean([np.std(list(line.values())) for line in accuracies.values()])))
    return Reason(
        "the lexical metrics differ more from each other than each of them does between systems",
        all(a > b for a, b in zip(between, within)),
        f"standard deviation of accuracies {format_range(between, 3)} between metrics, "
        f"{format_range(within, 3)} "
        "between systems",
    )


def list_agreements(context: Measurements) -> tuple[list[float], list[float]]:
    """Return the agreement of each context with all data, and of every two contexts."""
    matrix = context["h2"]["matrix"]
    size = len(matrix)
    with_global = [value for value in matrix[0][1:] if value is not None]
    between = [matrix[i][j] for i in range(1, size) for j in range(i + 1, size) if matrix[i][j] is not None]
    return with_global, between


def _compute_ceiling(context: Measurements) -> float:
    """Return the agreement of a context with itself on resampled data: what noise alone leaves."""
    return float(np.median([value for value in context["h2"]["ceiling"] if value is not None]))


def _describe_agreement(by_seed: Sequence[Measurements], part: str, column: str) -> str:
    contexts = [m[part]["contexts"][column] for m in by_seed]
    agreements = [list_agreements(context) for context in contexts]
    with_global = [float(np.median(values)) for values, _ in agreements]
    between = [float(np.median(values)) for _, values in agreements]
    lowest = [min(values) for _, values in agreements]
    ceilings = [_compute_ceiling(context) for context in contexts]
    return (
        f"{contexts[0]['h2']['statistic']}, all seeds: with global median {format_range(with_global)}, "
        f"between contexts median {format_range(between)} (lowest {format_range(lowest)}); noise alone "
        f"would leave {format_range(ceilings)}"
    )


def _build_disagreement_figure(
    by_seed: Sequence[Measurements], part: str, column: str, *, reasons: Sequence[Reason] = ()
) -> Entry:
    def select(m: Measurements) -> Measurements:
        context: Measurements = m[part]["contexts"][column]
        return context

    claims = {
        "contexts agree less than noise alone would leave": _check_each_seed(
            by_seed, lambda m: float(np.median(list_agreements(select(m))[1])) < _compute_ceiling(select(m))
        ),
        f"some two contexts agree below {LOW_AGREEMENT}": _check_each_seed(
            by_seed, lambda m: min(list_agreements(select(m))[1]) < LOW_AGREEMENT
        ),
    }
    return Entry(_describe_agreement(by_seed, part, column), claims=claims, reasons=reasons)


def _build_agreement_figure(by_seed: Sequence[Measurements], part: str, column: str) -> Entry:
    def select(m: Measurements) -> Measurements:
        context: Measurements = m[part]["contexts"][column]
        return context

    claims = {
        "agreement with global is .8 or more for most": _check_each_seed(
            by_seed, lambda m: float(np.median(list_agreements(select(m))[0])) >= 0.8
        ),
        "contexts agree nearly as well as noise allows (within .02)": _check_each_seed(
            by_seed,
            lambda m: float(np.median(list_agreements(select(m))[1])) >= _compute_ceiling(select(m)) - 0.02,
        ),
    }
    return Entry(_describe_agreement(by_seed, part, column), claims=claims)


def _build_figure_5(rows: Sequence[Measurements]) -> Entry:
    """Compare the variance over all combinations of k perturbations with the formula."""
    exact = {row["metric"]: compute_combination_variances(list(row["by_method"].values())) for row in rows}
    error = max(abs(variance - formula) for steps in exact.values() for variance, formula in steps)
    falls = all(
        later[0] <= earlier[0] + 1e-12 for steps in exact.values() for earlier, later in pairwise(steps)
    )
    variances = ", ".join(f"{variance:.4f}" for variance, _ in exact["rouge1"])
    description = (
        f"ROUGE-1, all combinations: {variances} for k = 1 to {len(exact['rouge1'])}; every figure of every "
        f"metric equals the formula to {error:.0e}"
    )
    claims = {"variance falls with k": [falls], "variances equal the formula": [error < 1e-12]}
    return Entry(description, claims=claims, uses_random_numbers=False)


def compute_combination_variances(values: Sequence[float]) -> list[tuple[float, float]]:
    """Return, for k = 1 to n − 1, the variance of the means of all combinations, and that of the formula."""
    n = len(values)
    variance = float(np.var(values))
    return [
        (float(np.var([np.mean(some) for some in combinations(values, k)])), variance / k * (n - k) / (n - 1))
        for k in range(1, n)
    ]


def _build_figure_6(by_seed: Sequence[Measurements]) -> Entry:
    highest = [
        max(
            row["accuracy"]
            for row in m["by_perturbation"]
            if (row["perturbation"], row["metric"]) == ("swapping", "rouge1")
        )
        for m in by_seed
    ]
    confounded = [row["metric"] for row in by_seed[0]["paper"]["confounding"] if row["flag"]]
    description = (
        f"ROUGE-1 under swapping: at most {max(highest):.3f} over systems and seeds; confounded by "
        "perturbation: "
        f"{', '.join(confounded)}"
    )
    return Entry(description, {"rouge1_swapping_highest": max(highest)})


def _build_quality_figure(by_seed: Sequence[Measurements], language_pair: str) -> Entry:
    """Check that accuracy rises with MQM, over pairs and over buckets."""
    parts = [m["quality"][language_pair] for m in by_seed]
    trends = [value for part in parts for value in part["trend"].values()]
    correlations = [value for part in parts for value in part["pair_correlation"].values()]
    description = (
        f"{parts[0]['buckets']} distinct buckets of MQM (250 requested; many outputs share a score), all "
        f"seeds: Spearman of bucket and accuracy {format_range(trends)}; correlation of MQM and outcome "
        f"over pairs {format_range(correlations)}"
    )
    claims = {
        "accuracy rises with quality over pairs, for every metric": [
            min(part["pair_correlation"].values()) > 0 for part in parts
        ],
        "accuracy rises over buckets, for every metric (Spearman above .3)": [
            min(part["trend"].values()) > 0.3 for part in parts
        ],
    }
    return Entry(description, claims=claims, reasons=_explain_buckets(by_seed, language_pair))


def _explain_buckets(by_seed: Sequence[Measurements], language_pair: str) -> list[Reason]:
    """Why buckets of en-ru show a weaker trend: they are unequal, and Spearman weighs them equally."""
    if language_pair != "en-ru":
        return []
    part = by_seed[0]["quality"][language_pair]
    medians = {
        pair: float(np.median([v for m in by_seed for v in m["quality"][pair]["pair_correlation"].values()]))
        for pair in by_seed[0]["quality"]
    }
    others = [value for pair, value in medians.items() if pair != language_pair]
    shown = ", ".join(f"{pair} {value:.3f}" for pair, value in medians.items())
    return [
        Reason(
            f"Spearman gives the {part['buckets']} buckets equal weight, although the last one holds "
            f"{part['largest_share']:.0%} of the pairs; over pairs the correlation is like that of the "
            "other language pairs",
            part["largest_share"] > 0.4 and min(others) - 0.03 < medians[language_pair] < max(others) + 0.03,
            f"medians over metrics and seeds {shown}",
        )
    ]
