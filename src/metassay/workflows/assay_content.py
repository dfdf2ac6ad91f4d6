"""Compute the content of an assay's result from its scored pairs: statistics, facts about the data, and
warnings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from metassay.data.clusters import find_sort_order_of_items
from metassay.data.dataset import Dataset
from metassay.data.reference_systems import REFERENCE_SYSTEM_REASON
from metassay.data.summary import summarize_dataset
from metassay.meta.contexts.context_statistics import build_context_statistics
from metassay.meta.contexts.difficulty import (
    compute_edit_distance_quartiles,
    group_pairs_by_share_of_edited_characters,
    measure_accuracy_by_difficulty,
)
from metassay.meta.contexts.label_error_correction import (
    PerturbationLabelCheck,
    correct_accuracy_for_label_errors,
)
from metassay.meta.contexts.pair_outcomes import RIGHT, PairOutcomes
from metassay.meta.contexts.perturbation_validity import (
    EditDistances,
    average_edits_by_perturbation,
    compute_human_score_differences,
    measure_edit_distances,
    summarize_perturbations,
)
from metassay.reporting.assay_report import prepare_assay_report
from metassay.reporting.assay_sentences import (
    add_sentences_that_explain_recommendations,
    list_context_warnings,
    warn_of_similar_neighbouring_items,
    warn_of_simulated_human_scores,
    warn_of_too_few_permutations,
    warn_that_human_scores_may_count_errors,
)
from metassay.reporting.assay_verdict import list_main_findings_of_assay
from metassay.results.assay import (
    AssayContent,
    AssayedMetric,
    ClusterChoice,
    ContextStatistics,
    CorrectedAccuracy,
    Difficulty,
    PerturbationStatistics,
)
from metassay.stats.arrays import count_occurrences
from metassay.stats.correlation import lag_one_autocorrelation
from metassay.workflows.assay_outcome import AssayOutcome
from metassay.workflows.assay_plan import AssayPlan
from metassay.workflows.human_pairs import find_pairs_with_different_human_scores

_PAIRS_PER_BATCH = 2**22
_AUTOCORRELATION_LEVEL = 0.01  # chance of a warning where neighbouring items are unrelated
_HUMAN_KIND = "human_kind"
# Value of the column `human_kind` in data whose human scores were not given by people.
_SIMULATED = "simulated"


def compute_statistics_of_scored_pairs(
    dataset: Dataset, assay_plan: AssayPlan, assay_outcome: AssayOutcome, workers: int
) -> AssayContent:
    """Compute the result of an assay from its scored pairs of outputs: accuracies, tests, recommendations and
    warnings.
    """
    scored = assay_outcome.scored_pairs
    competing = assay_outcome.analysis.settings.competing
    sampled_outcomes = scored.outcomes.select_pairs(scored.is_sampled).select_metrics(competing)
    edits = _count_edits_between_paired_outputs(assay_outcome, workers)
    perturbation_statistics = _summarize_perturbations(dataset, assay_outcome, edits, sampled_outcomes)
    difficulty = _measure_accuracy_by_share_of_edits(dataset, assay_plan, edits, sampled_outcomes, workers)
    corrected = _correct_accuracies_for_mislabelled_pairs(
        dataset, assay_plan, assay_outcome, sampled_outcomes
    )
    statistics = _insert_corrected_accuracies(build_context_statistics(assay_outcome.analysis), corrected)
    counts = sorted(assay_outcome.pairs.counts.items())
    warnings = [
        *list_context_warnings(assay_outcome.analysis),
        *warn_of_too_few_permutations(assay_outcome.analysis, statistics.claims),
        *_warn_if_neighbouring_items_are_similar(dataset, assay_plan, assay_outcome),
        *_warn_if_human_scores_are_simulated(dataset, assay_plan),
    ]
    if assay_plan.may_count_errors and assay_plan.human is not None:
        warnings.append(warn_that_human_scores_may_count_errors(assay_plan.human))
    content = AssayContent(
        **{name: getattr(statistics, name) for name in ContextStatistics.__struct_fields__},
        task=dataset.task,
        items=dataset.outputs["item"].n_unique(),
        outputs=len(dataset),
        pairs=assay_outcome.pairs.frame.height,
        left_out=dict(dataset.left_out),
        named_left_out={REFERENCE_SYSTEM_REASON: list(dataset.reference_systems)}
        if dataset.reference_systems
        else {},
        perturbations={name: count.pairs for name, count in counts if count.pairs},
        metrics=[
            AssayedMetric(
                metric=metric.spec, signature=metric.signature, higher_is_better=metric.higher_is_better
            )
            for metric in assay_plan.metrics
        ],
        price={metric: list(price) for metric, price in assay_outcome.prices.items()},
        perturbation_statistics=perturbation_statistics,
        label_errors=assay_outcome.list_perturbation_label_error_rates(),
        difficulty=difficulty,
        valid_pairs_only=assay_plan.valid_pairs,
        notes=[*dataset.notes, *scored.notes, *assay_outcome.pairs.notes, *assay_plan.notes],
        data=summarize_dataset(
            dataset, {metric.spec: metric.higher_is_better for metric in assay_plan.metrics}
        ),
        cluster=ClusterChoice(column=scored.clusters.column, why=scored.clusters.why),
        warnings=warnings,
    )
    content = add_sentences_that_explain_recommendations(content)
    return msgspec.structs.replace(
        content, verdict=list_main_findings_of_assay(prepare_assay_report(content))
    )


def _count_edits_between_paired_outputs(assay_outcome: AssayOutcome, workers: int) -> EditDistances:
    """Count how many edits turn one output of each pair into the other."""
    spilled = assay_outcome.scored_pairs.spilled
    if spilled is not None:
        return spilled.read_edit_distances()
    frame = assay_outcome.pairs.frame
    return measure_edit_distances(frame["output"], frame["worse"], workers)


def _summarize_perturbations(
    dataset: Dataset,
    assay_outcome: AssayOutcome,
    edit_distances: EditDistances,
    sampled_outcomes: PairOutcomes,
) -> list[PerturbationStatistics]:
    """Summarise the pairs that each perturbation (a rule that makes outputs worse) made: how many there are,
    how large the edits are, and what they change in human scores.
    """
    spilled = assay_outcome.scored_pairs.spilled
    human_differences: Mapping[str, Sequence[float]]
    if spilled is None:
        human_differences = compute_human_score_differences(assay_outcome.pairs.frame, dataset)
    else:
        human_differences = spilled.human_differences
    mean_edits = average_edits_by_perturbation(
        edit_distances, sampled_outcomes.perturbation_names, sampled_outcomes.perturbations
    )
    return summarize_perturbations(
        assay_outcome.pairs.counts, mean_edits, human_differences, assay_outcome.pairs.validity
    )


def _measure_accuracy_by_share_of_edits(
    dataset: Dataset,
    assay_plan: AssayPlan,
    edit_distances: EditDistances,
    sampled_outcomes: PairOutcomes,
    workers: int,
) -> Difficulty | None:
    """Measure how the accuracy of each metric depends on the share of characters in which the two outputs of
    a pair differ. The share is also measured for pairs with different human scores.
    """
    human_distances = None
    if assay_plan.compared_human is not None:
        texts = dataset.outputs["output"]
        rows = find_pairs_with_different_human_scores(dataset, assay_plan.compared_human)
        distances = measure_edit_distances(texts[rows.better], texts[rows.worse], workers)
        human_distances = compute_edit_distance_quartiles(assay_plan.compared_human, distances.shares)
    return measure_accuracy_by_difficulty(
        sampled_outcomes,
        group_pairs_by_share_of_edited_characters(edit_distances.shares),
        human_distances,
        ties=assay_plan.settings.ties,
        resamples=assay_plan.settings.resamples,
        seed=assay_plan.seed,
    )


def _correct_accuracies_for_mislabelled_pairs(
    dataset: Dataset, assay_plan: AssayPlan, assay_outcome: AssayOutcome, sampled_outcomes: PairOutcomes
) -> list[CorrectedAccuracy] | None:
    """Correct the accuracy of each metric for pairs in which the perturbed output is not worse than the
    original. Returns None if the share of such pairs is unknown.
    """
    languages = sorted(set(dataset.languages), key=str)
    language_codes = {language: code for code, language in enumerate(languages)}
    language_of_output = np.fromiter((language_codes[language] for language in dataset.languages), np.int32)
    language_of_pair = language_of_output[sampled_outcomes.outputs]
    # One code for each combination of perturbation and language, the strata in which label errors were read.
    codes = sampled_outcomes.perturbations * np.int32(len(languages)) + language_of_pair
    has_pairs = count_occurrences(codes, len(languages) * len(sampled_outcomes.perturbation_names)) > 0
    readings = []
    for code in np.flatnonzero(has_pairs):
        perturbation = sampled_outcomes.perturbation_names[code // len(languages)]
        error = assay_outcome.label_errors.get((perturbation, languages[code % len(languages)]))
        if error is None:
            return None
        readings.append(
            PerturbationLabelCheck(error.pairs_read, error.not_worse - error.better, error.better)
        )
    # Numbers the strata that have pairs from 0, in the order of `readings`.
    strata = (np.cumsum(has_pairs) - 1).astype(np.int32)[codes]
    return correct_accuracy_for_label_errors(
        sampled_outcomes,
        strata,
        readings,
        ties=assay_plan.settings.ties,
        resamples=assay_plan.settings.resamples,
        seed=assay_plan.seed,
    )


def _insert_corrected_accuracies(
    context_statistics: ContextStatistics, corrected_accuracies: Sequence[CorrectedAccuracy] | None
) -> ContextStatistics:
    """Add the accuracy of each metric that is corrected for pairs with a wrong label to the results over all
    outputs. Without corrections, the results are returned unchanged.
    """
    if corrected_accuracies is None:
        return context_statistics
    rows = [
        msgspec.structs.replace(row, **msgspec.structs.asdict(correction))
        for row, correction in zip(context_statistics.overall, corrected_accuracies)
    ]
    return msgspec.structs.replace(context_statistics, overall=rows)


def _warn_if_human_scores_are_simulated(dataset: Dataset, assay_plan: AssayPlan) -> list[str]:
    """Return a warning if the data says that its human scores were not given by people."""
    outputs = dataset.outputs
    if assay_plan.compared_human is None or _HUMAN_KIND not in outputs.columns:
        return []
    if set(outputs[_HUMAN_KIND]) != {_SIMULATED}:
        return []
    return [warn_of_simulated_human_scores(assay_plan.compared_human)]


def _warn_if_neighbouring_items_are_similar(
    dataset: Dataset, assay_plan: AssayPlan, assay_outcome: AssayOutcome
) -> list[str]:
    """Return a warning if metrics are about equally accurate on neighbouring items, as in a document,
    although the data does not name documents.
    """
    scored = assay_outcome.scored_pairs
    # If clusters are resampled, neighbours within them may be alike.
    if assay_plan.settings.cluster is not None or scored.clusters.column != "item":
        return []
    outcomes = scored.outcomes.outcomes[: len(assay_plan.metrics)]
    items = scored.outcomes.items
    order = find_sort_order_of_items(dataset)
    pair_counts = count_occurrences(items, len(order))
    right_shares = np.zeros(len(order))
    # In batches, to bound the memory of temporary arrays.
    for start in range(0, len(items), _PAIRS_PER_BATCH):
        batch = slice(start, start + _PAIRS_PER_BATCH)
        right = (outcomes[:, batch] == RIGHT).mean(axis=0)
        right_shares += np.bincount(items[batch], right, minlength=len(order))
    order = order[pair_counts[order] > 0]
    correlation, p = lag_one_autocorrelation(right_shares[order] / pair_counts[order])
    # Written so that NaN, for too few items, gives no warning.
    if not p <= _AUTOCORRELATION_LEVEL:
        return []
    return [warn_of_similar_neighbouring_items(correlation)]
