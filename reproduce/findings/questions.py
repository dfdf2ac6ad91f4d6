"""Finding 2: whether different questions about metrics have the same answer.

Each question gives a value to every metric: accuracy on perturbed pairs or on human pairs, acc_eq, SPA,
labels saved, small residual dependence. The agreement of two questions is Kendall's tau-b over metrics.
Variants of one metric are not independent, so it is also computed with one metric of each family, drawn at
random, and corrected for the reliability of both questions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from reproduce.findings.contexts import count_by_system
from reproduce.findings.score_sets import ScoreSet
from scipy.stats import t

from metassay.meta.contexts.accuracy import count_correct_pairs, sort_pairs_by_item
from metassay.meta.contexts.h1 import split_contexts_by_perturbation
from metassay.meta.contexts.h2 import extrapolate_agreement_to_full_sample
from metassay.meta.contexts.human_pairs import correct_tau_for_reliability
from metassay.meta.contexts.pair_outcomes import (
    PairOutcomes,
    compare_scores_of_pairs,
    put_all_pairs_in_one_context,
)
from metassay.meta.dependence import system_dependence
from metassay.meta.dependence.shrinkage import separate_regression_to_mean
from metassay.meta.people.meta_metrics.acc_eq import tie_calibrated_accuracy
from metassay.stats.arrays import BoolArray, FloatArray, LongArray
from metassay.stats.labels_saved import compute_system_differences, jackknife_labels_saved
from metassay.stats.rank_correlation import correlate_rows
from metassay.stats.soft_accuracy import estimate_soft_pairwise_accuracies

LEXICAL_SETS = (
    *("wmt21 en-de", "wmt21 zh-en", "wmt22 en-de", "wmt22 en-ru", "wmt22 zh-en"),
    *("wmt23 en-de", "wmt23 he-en", "wmt23 zh-en", "realsumm"),
)
SHARED_PERTURBATIONS = (
    *("clause_removal", "entity", "insertion", "negation", "negation_removal", "number"),
    *("pronoun", "quantifier", "removal", "swapping", "synonym"),
)
"""Perturbations that all nine data sets have; each has the same weight."""
REPRESENTATIVES: tuple[str, ...] = ("bleu", "chrf", "ter", "rouge1", "rougel", "meteor")
"""The default variant of each lexical family."""
OFFICIAL_FAMILIES = {
    "COMET": ("COMET", "Calibri-COMET22", "docWMT22CometDA"),
    "CometKiwi": (
        *("CometKiwi", "CometKiwi-XL", "CometKiwi-XXL", "Calibri-COMET22-QE", "docWMT22CometKiwiDA"),
        "MS-COMET-QE-22",
    ),
    "cometoid": ("cometoid22-wmt21", "cometoid22-wmt22", "cometoid22-wmt23"),
    "XCOMET": ("XCOMET-Ensemble", "XCOMET-QE-Ensemble", "XCOMET-XL", "XCOMET-XXL"),
    "MetricX": (
        *("MetricX-23", "MetricX-23-b", "MetricX-23-c", "MetricX-23-QE", "MetricX-23-QE-b"),
        *("MetricX-23-QE-c", "mbr-metricx-qe"),
    ),
    "BLEURT": ("BLEURT-20",),
    "embeddings": (
        *("BERTscore", "KG-BERTScore", "MEE4", "XLsim", "YiSi-1", "embed_llama"),
        "mre-score-labse-regular",
    ),
    "prism": ("prismRef", "prismSrc"),
    "BLEU": ("BLEU", "f200spBLEU", "eBLEU"),
    "chrF": ("chrF", "tokengram_F"),
    "GEMBA": ("GEMBA-MQM",),
    "MaTESe": ("MaTESe",),
    "SEScore": ("sescoreX", "instructscore"),
}
QUESTIONS = {
    "perturbed": "perturbed pairs",
    "perturbed_half": "perturbed pairs, ties half",
    "human": "human pairs",
    "human_half": "human pairs, ties half",
    "acc_eq": "acc_eq",
    "spa": "SPA",
    "labels_saved": "labels saved",
    "residual": "small residual",
}
DRAWS = 200
LEXICAL_SPLITS = 3
OFFICIAL_SPLITS = 2
_DECIMALS = 12

Values = dict[str, FloatArray]


@dataclass(frozen=True)
class MeasuredSet:
    """Values of all metrics for each question [metrics], and on random halves of the documents."""

    name: str
    metric_names: tuple[str, ...]
    values: Values
    halves: Sequence[tuple[Values, Values]]


@dataclass(frozen=True)
class LexicalArrays:
    """What `benchmarks/people_scores.py` stored of one data set."""

    arrays: Mapping[str, Any]
    scores: ScoreSet

    def measure(self, is_used: BoolArray) -> Values:
        """Answer all questions on some documents."""
        values = measure_human_questions(self.scores.restrict_to_documents(is_used))
        codes = np.unique(self.arrays["units"][self.arrays["grid"][0]])
        used_units = codes[is_used]
        perturbed = self._select_perturbed(used_units)
        human = self._select_human(used_units)
        for suffix, ties in (("", "strict"), ("_half", "half")):
            values[f"perturbed{suffix}"] = _average_over_perturbations(perturbed, ties)
            values[f"human{suffix}"] = _compute_accuracy(human, ties)
        return values

    def _select_perturbed(self, units: LongArray) -> PairOutcomes:
        fields = ("outcome", "item", "output", "cluster", "method")
        names = [tuple(map(str, self.arrays[name])) for name in ("metrics", "methods")]
        outcomes = PairOutcomes(*names, *(self.arrays[field] for field in fields))
        shared = [names[1].index(name) for name in SHARED_PERTURBATIONS]
        is_selected = np.isin(outcomes.perturbations, shared) & np.isin(outcomes.clusters, units)
        return outcomes.select_pairs(is_selected)

    def _select_human(self, units: LongArray) -> PairOutcomes:
        better, worse = self.arrays["better"], self.arrays["worse"]
        scores = self.arrays["scores"]
        outcomes = PairOutcomes(
            self.scores.metric_names,
            ("human",),
            compare_scores_of_pairs(scores[:, better], scores[:, worse], self.arrays["tolerance"]),
            self.arrays["items"][better],
            better,
            self.arrays["units"][better],
            np.zeros(len(better), dtype=np.int32),
        )
        return outcomes.select_pairs(np.isin(outcomes.clusters, units))


def _average_over_perturbations(outcomes: PairOutcomes, ties: str) -> FloatArray:
    """Compute the accuracy for each perturbation, and average with equal weights."""
    pairs, (everything,) = sort_pairs_by_item(outcomes, [put_all_pairs_in_one_context(outcomes)])
    accuracy = count_correct_pairs(
        pairs, split_contexts_by_perturbation(pairs, everything), ties=ties
    ).compute_accuracies()
    return np.asarray(np.nanmean(accuracy, axis=1))


def _compute_accuracy(outcomes: PairOutcomes, ties: str) -> FloatArray:
    pairs, (everything,) = sort_pairs_by_item(outcomes, [put_all_pairs_in_one_context(outcomes)])
    return np.asarray(count_correct_pairs(pairs, everything, ties=ties).compute_accuracies()[:, 0])


def measure_human_questions(scores: ScoreSet) -> Values:
    """Answer the questions that need human scores and no perturbed outputs."""
    human_differences = compute_system_differences(scores.human)
    human_means = scores.human.mean(axis=1)
    acc_eq = []
    labels_saved = []
    residual = []
    for metric in scores.metrics:
        acc_eq.append(tie_calibrated_accuracy(scores.human, metric).accuracy)
        labels_saved.append(
            jackknife_labels_saved(
                human_differences, compute_system_differences(metric), scores.documents
            ).value
        )
        deviations = system_dependence(scores.human, metric, bootstraps=0).deviations
        residual.append(-separate_regression_to_mean(deviations, human_means).residual_range)
    return {
        "acc_eq": np.array(acc_eq),
        "spa": estimate_soft_pairwise_accuracies(scores.human, scores.metrics),
        "labels_saved": np.array(labels_saved),
        "residual": np.array(residual),
    }


def measure_official_questions(scores: ScoreSet) -> Values:
    """Answer the questions for official metrics, with the share of right human pairs."""
    counts = count_by_system(scores)
    values = measure_human_questions(scores)
    values["human"] = counts.compute_total_accuracies(np.ones((1, len(counts.total_pairs))))[0]
    return values


def measure_lexical_set(folder: Path, scores: ScoreSet, seed: int) -> MeasuredSet:
    """Answer all questions for the lexical metrics of one data set."""
    lexical = LexicalArrays(dict(np.load(folder / f"{scores.name}.npz")), scores)
    return _measure_set(scores, lexical.measure, LEXICAL_SPLITS, seed)


def measure_official_set(scores: ScoreSet, seed: int) -> MeasuredSet:
    """Answer the questions for the official metrics of one data set."""

    def measure(is_used: BoolArray) -> Values:
        return measure_official_questions(scores.restrict_to_documents(is_used))

    return _measure_set(scores, measure, OFFICIAL_SPLITS, seed)


def _measure_set(
    scores: ScoreSet, measure: Callable[[BoolArray], Values], splits: int, seed: int
) -> MeasuredSet:
    rng = np.random.default_rng(seed)
    documents = scores.document_count
    halves = []
    for _ in range(splits):
        is_first = rng.permutation(documents) < documents // 2
        halves.append((measure(is_first), measure(~is_first)))
    return MeasuredSet(scores.name, scores.metric_names, measure(np.ones(documents, dtype=bool)), halves)


def keep_representatives(measured: MeasuredSet) -> MeasuredSet:
    """Keep the default variant of each lexical family."""
    positions = [measured.metric_names.index(name) for name in REPRESENTATIVES]

    def select(values: Values) -> Values:
        return {question: of_metrics[positions] for question, of_metrics in values.items()}

    halves = [(select(first), select(second)) for first, second in measured.halves]
    return MeasuredSet(measured.name, REPRESENTATIVES, select(measured.values), halves)


def find_lexical_family(metric: str) -> str:
    """Return the family of a lexical metric: the name without its parameters; ROUGE-1 and ROUGE-2 are one."""
    name = metric.partition("(")[0]
    return "rouge-n" if name in {"rouge1", "rouge2"} else name


def find_official_family(metric: str) -> str:
    """Return the family of an official metric of WMT23."""
    return next(family for family, metrics in OFFICIAL_FAMILIES.items() if metric in metrics)


def draw_one_per_family(families: Sequence[str], rng: np.random.Generator, draws: int = DRAWS) -> LongArray:
    """Draw one metric of each family; return positions [draws, families]."""
    columns = []
    for family in sorted(set(families)):
        members = np.flatnonzero(np.array(families) == family)
        columns.append(members[rng.integers(len(members), size=draws)])
    return np.stack(columns, axis=1)


def compare_questions(
    sets: Sequence[MeasuredSet], families: Sequence[str], questions: Sequence[str], seed: int
) -> list[dict[str, Any]]:
    """Compare every two questions over all metrics, and with one metric per family."""
    drawn = draw_one_per_family(families, np.random.default_rng(seed))
    everything = np.arange(len(families))[None, :]
    reliabilities = {
        question: float(np.mean([_measure_reliability(measured, question, drawn) for measured in sets]))
        for question in questions
    }
    rows = []
    for position, first in enumerate(questions):
        for second in questions[position + 1 :]:
            plain = [float(_measure_taus(m, first, second, everything)[0]) for m in sets]
            taus = np.stack([_measure_taus(m, first, second, drawn) for m in sets])
            blocked = np.nanmean(taus, axis=1).tolist()
            low, high = np.quantile(np.nanmean(taus, axis=0), [0.025, 0.975])
            interval = estimate_mean(blocked)
            rows.append(
                {
                    "first": first,
                    "second": second,
                    "all": estimate_mean(plain),
                    "blocked": interval,
                    "choices": {"low": float(low), "high": float(high)},
                    "corrected": correct_interval(interval, reliabilities[first], reliabilities[second]),
                    "reliabilities": [reliabilities[first], reliabilities[second]],
                    "by_set": {m.name: [one, other] for m, one, other in zip(sets, plain, blocked)},
                }
            )
    return rows


def compare_within_and_between_families(
    sets: Sequence[MeasuredSet], families: Sequence[str], pairs_of_questions: Sequence[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Compare two questions on pairs of metrics of the same family, and of different families.

    The agreement is Kendall's tau-a: the share of pairs of metrics that both questions put in the same order,
    less the share in opposite order.
    """
    first_metric, second_metric = np.triu_indices(len(families), 1)
    names = np.array(families)
    is_within = names[first_metric] == names[second_metric]
    rows = []
    for first, second in pairs_of_questions:
        agreements = []
        for measured in sets:
            orders = [
                np.sign(np.round(values[first_metric] - values[second_metric], _DECIMALS))
                for values in (measured.values[first], measured.values[second])
            ]
            agreements.append(orders[0] * orders[1])
        rows.append(
            {
                "first": first,
                "second": second,
                "within": estimate_mean([float(agreement[is_within].mean()) for agreement in agreements]),
                "between": estimate_mean([float(agreement[~is_within].mean()) for agreement in agreements]),
            }
        )
    return rows


def correct_interval(interval: Mapping[str, float], *reliabilities: float) -> dict[str, float]:
    """Correct a mean tau and both ends of its interval for the reliability of two questions."""
    return {
        name: correct_tau_for_reliability(float(np.clip(tau, -1, 1)), 0.0, *reliabilities).value
        for name, tau in interval.items()
    }


def _measure_taus(measured: MeasuredSet, first: str, second: str, drawn: LongArray) -> FloatArray:
    """Compute Kendall's tau-b of two questions for sets of metrics [draws, metrics]."""
    return _correlate_drawn(measured.values[first], measured.values[second], drawn)


def _correlate_drawn(first: FloatArray, second: FloatArray, drawn: LongArray) -> FloatArray:
    left = np.round(first, _DECIMALS)[drawn]
    right = np.round(second, _DECIMALS)[drawn]
    return correlate_rows(left, right, "kendall")


def _measure_reliability(measured: MeasuredSet, question: str, drawn: LongArray) -> float:
    """Estimate the tau of a question with itself on a second sample as large, from halves.

    Halves in which all metrics tie are left out; 0 if there is no other.
    """
    taus = np.concatenate(
        [_correlate_drawn(first[question], second[question], drawn) for first, second in measured.halves]
    )
    taus = taus[~np.isnan(taus)]
    return extrapolate_agreement_to_full_sample(float(taus.mean())) if len(taus) else 0.0


def estimate_mean(values: Sequence[float]) -> dict[str, float]:
    """Return the mean over data sets with a 95 % interval by Student's t."""
    array = np.array(values)
    margin = float(t.ppf(0.975, len(array) - 1) * array.std(ddof=1) / np.sqrt(len(array)))
    mean = float(array.mean())
    return {"mean": mean, "low": mean - margin, "high": mean + margin}


def compute_regrets(
    sets: Sequence[MeasuredSet], families: Sequence[str], questions: Sequence[str], seed: int
) -> list[dict[str, Any]]:
    """Compute what is lost in one question by the metric that is best in another, with one metric per family.

    The loss is a share of the loss of a random choice: 0 is the best choice, 1 is no better than chance.
    """
    drawn = draw_one_per_family(families, np.random.default_rng(seed))
    rows = []
    for chooser in questions:
        for target in questions:
            if chooser == target:
                continue
            losses = [_measure_loss(m.values[chooser], m.values[target], drawn) for m in sets]
            shares = [loss / random_loss for loss, random_loss in losses]
            rows.append(
                {
                    "chooser": chooser,
                    "target": target,
                    "loss": estimate_mean([loss for loss, _ in losses]),
                    "random": estimate_mean([random_loss for _, random_loss in losses]),
                    "share": estimate_mean(shares),
                }
            )
    return rows


def _measure_loss(chooser: FloatArray, target: FloatArray, drawn: LongArray) -> tuple[float, float]:
    """Return the mean loss by the best metric of another question, and by a random metric."""
    targets = target[drawn]
    chosen = chooser[drawn].argmax(axis=1)
    best = targets.max(axis=1)
    losses = best - targets[np.arange(len(drawn)), chosen]
    return float(losses.mean()), float((best[:, None] - targets).mean())


def compare_strategies(sets: Sequence[MeasuredSet], targets: Sequence[str]) -> list[dict[str, Any]]:
    """Compare ways to choose one of six lexical metrics without human scores of the data set at hand.

    `prior` takes the metric with the highest mean value of the target on the other data sets.
    """
    positions = [sets[0].metric_names.index(name) for name in REPRESENTATIVES]
    rows = []
    for target in targets:
        values = np.stack([m.values[target][positions] for m in sets])
        chooser = "perturbed_half" if target == "human_half" else "perturbed"
        by_perturbations = np.stack([m.values[chooser][positions] for m in sets]).argmax(axis=1)
        count = len(sets)
        others = (values.sum(axis=0) - values) / (count - 1)
        reached = {
            "best possible": values.max(axis=1),
            "perturbed pairs": values[np.arange(count), by_perturbations],
            "prior from the other sets": values[np.arange(count), others.argmax(axis=1)],
            "random": values.mean(axis=1),
        }
        reached |= {f"always {name}": values[:, k] for k, name in enumerate(REPRESENTATIVES)}
        base = reached["perturbed pairs"]
        for strategy, result in reached.items():
            rows.append(
                {
                    "target": target,
                    "strategy": strategy,
                    "value": float(result.mean()),
                    "gain": estimate_mean((result - base).tolist()),
                    "better": int((result > base).sum()),
                    "equal": int((result == base).sum()),
                }
            )
        rows.append(
            {
                "target": target,
                "strategy": "chosen by perturbed pairs",
                "chosen": [REPRESENTATIVES[k] for k in by_perturbations],
                "best": [REPRESENTATIVES[k] for k in values.argmax(axis=1)],
            }
        )
    return rows
