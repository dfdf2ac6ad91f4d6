"""Accuracy, consistency and biases of one judge, from its verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metassay.meta.judges.agreement import (
    combine_verdicts_of_both_orders,
    compare_order_of_outputs_with_humans,
    compare_verdicts_with_gold_labels,
    compute_accuracy_expected_by_chance,
    compute_repeat_agreement,
    find_preferences_for_output_shown_first,
)
from metassay.meta.judges.estimates import (
    UNDEFINED,
    ItemEstimate,
    estimate_difference_of_means,
    estimate_mean_over_items,
)
from metassay.meta.judges.item_order import JudgeAndHumanItemScores
from metassay.meta.judges.label_correction import ShareCorrection, estimate_corrected_share_of_good_outputs
from metassay.stats.arrays import BoolArray, FloatArray, IntArray
from metassay.stats.bootstrap import ClusterBootstrap


@dataclass(frozen=True)
class JudgeVerdicts:
    """The verdicts of one judge as arrays with one entry per verdict. Missing numbers are NaN.

    All groupings are codes that count from 0.
    """

    values: FloatArray
    gold: FloatArray
    items: IntArray
    questions: IntArray
    """The same for all verdicts on one question, in both orders of the outputs and in all repetitions."""
    pair_questions: IntArray
    """The same for verdicts on one pair that differ in the order of the outputs only."""
    repeat_questions: IntArray
    """The same for verdicts that differ in the number of the repetition only."""
    swapped: BoolArray
    longer: FloatArray
    """1 where the first output is longer, 0 where the second is."""

    @property
    def unreadable_verdict_count(self) -> int:
        """Number of answers of the judge from which no verdict could be read."""
        return int(np.isnan(self.values).sum())

    @cached_property
    def first_verdict_positions(self) -> NDArray[np.int64]:
        """Position of the first verdict on each question about a pair of outputs."""
        return np.unique(self.pair_questions, return_index=True)[1]

    def estimate_repeat_agreement(self, bootstrap: ClusterBootstrap) -> ItemEstimate:
        """Estimate how often a judge gives the same answer when it is asked the same question again."""
        _, first_positions = np.unique(self.repeat_questions, return_index=True)
        shares = compute_repeat_agreement(self.values, self.repeat_questions)
        return estimate_mean_over_items(shares, self.items[first_positions], bootstrap)


@dataclass(frozen=True)
class VerdictAccuracies:
    """Accuracy of each verdict of a judge, from 0 (wrong) to 1 (right), with the item of the verdict.

    `label_positions` says where the context label of each verdict is: the position of a verdict, or of an
    item.
    """

    values: FloatArray
    items: IntArray
    questions: IntArray
    """The same for repeated verdicts on one question."""
    label_positions: NDArray[np.int64]

    def estimate_judge_accuracy(
        self, bootstrap: ClusterBootstrap, is_selected: BoolArray | None = None
    ) -> ItemEstimate:
        """Estimate the accuracy of a judge from all of its verdicts, or from the selected ones only."""
        if is_selected is None:
            is_selected = np.ones(len(self.values), dtype=bool)
        values = self.values[is_selected]
        estimate = estimate_mean_over_items(values, self.items[is_selected], bootstrap)
        # Repeated verdicts are on the same pair.
        pairs = len(np.unique(self.questions[is_selected][~np.isnan(values)]))
        return replace(estimate, pairs=pairs)


@dataclass(frozen=True)
class JudgeMeasures:
    """Accuracy, consistency and biases of a judge, with the accuracy that random verdicts would have.

    Measures that a kind of verdict does not have are undefined.
    """

    judge_accuracies: VerdictAccuracies | JudgeAndHumanItemScores
    accuracy: ItemEstimate
    base_rate: float
    both_orders_same: ItemEstimate = UNDEFINED
    position_bias: ItemEstimate = UNDEFINED
    length_bias: ItemEstimate = UNDEFINED
    repeats_same: ItemEstimate = UNDEFINED
    corrected: ShareCorrection | None = None
    unreadable_verdict_count: int = 0


def evaluate_pairwise_judge(
    verdicts: JudgeVerdicts, bootstrap: ClusterBootstrap, *, ties: str = "half"
) -> JudgeMeasures:
    """Measure accuracy, consistency and biases of a judge that says which of two outputs is better.

    The judge may be asked in one order or in both.
    """
    combined = combine_verdicts_of_both_orders(
        verdicts.values, verdicts.pair_questions, verdicts.swapped, ties=ties
    )
    first = verdicts.first_verdict_positions
    gold = verdicts.gold[first]
    items = verdicts.items[first]
    judge_accuracies = VerdictAccuracies(
        compare_verdicts_with_gold_labels(combined.verdicts, gold, ties=ties),
        items,
        verdicts.questions[first],
        first,
    )
    prefers_first = find_preferences_for_output_shown_first(
        verdicts.values, verdicts.swapped, verdicts.pair_questions
    )
    return JudgeMeasures(
        judge_accuracies=judge_accuracies,
        accuracy=judge_accuracies.estimate_judge_accuracy(bootstrap),
        base_rate=compute_accuracy_expected_by_chance(combined.verdicts, gold, ties=ties),
        both_orders_same=estimate_mean_over_items(combined.is_consistent, items, bootstrap),
        position_bias=estimate_mean_over_items(prefers_first, verdicts.items, bootstrap).shift(-0.5),
        length_bias=_estimate_length_bias(judge_accuracies, gold, verdicts.longer[first], bootstrap),
        repeats_same=verdicts.estimate_repeat_agreement(bootstrap),
        corrected=estimate_corrected_share_of_good_outputs(combined.verdicts, gold, items, bootstrap),
        unreadable_verdict_count=verdicts.unreadable_verdict_count,
    )


def _estimate_length_bias(
    judge_accuracies: VerdictAccuracies,
    gold_labels: FloatArray,
    longer_outputs: FloatArray,
    bootstrap: ClusterBootstrap,
) -> ItemEstimate:
    """Estimate whether a judge favours long outputs.

    It is the accuracy where the better output is longer minus the accuracy where it is shorter.
    """
    is_known = ~np.isnan(longer_outputs) & np.isin(gold_labels, (0.0, 1.0))
    better_is_longer = is_known & (gold_labels == longer_outputs)
    better_is_shorter = is_known & (gold_labels != longer_outputs)
    return estimate_difference_of_means(
        np.where(better_is_longer, judge_accuracies.values, np.nan),
        np.where(better_is_shorter, judge_accuracies.values, np.nan),
        judge_accuracies.items,
        bootstrap,
    )


def evaluate_label_judge(verdicts: JudgeVerdicts, bootstrap: ClusterBootstrap) -> JudgeMeasures:
    """Measure accuracy and consistency of a judge that labels single outputs as good or bad.

    The share of good outputs is corrected for the errors of the judge.
    """
    are_good_or_bad = bool(np.isin(verdicts.values[~np.isnan(verdicts.values)], (0.0, 1.0)).all())
    are_good_or_bad &= bool(np.isin(verdicts.gold[~np.isnan(verdicts.gold)], (0.0, 1.0)).all())
    corrected = None
    if are_good_or_bad:
        corrected = estimate_corrected_share_of_good_outputs(
            verdicts.values, verdicts.gold, verdicts.items, bootstrap
        )
    judge_accuracies = VerdictAccuracies(
        compare_verdicts_with_gold_labels(verdicts.values, verdicts.gold, ties="strict"),
        verdicts.items,
        verdicts.questions,
        np.arange(len(verdicts.values)),
    )
    return JudgeMeasures(
        judge_accuracies=judge_accuracies,
        accuracy=judge_accuracies.estimate_judge_accuracy(bootstrap),
        base_rate=compute_accuracy_expected_by_chance(verdicts.values, verdicts.gold, ties="strict"),
        repeats_same=verdicts.estimate_repeat_agreement(bootstrap),
        corrected=corrected,
        unreadable_verdict_count=verdicts.unreadable_verdict_count,
    )


def evaluate_scoring_judge(
    judge_scores: FloatArray, human_scores: FloatArray, verdicts: JudgeVerdicts, bootstrap: ClusterBootstrap
) -> JudgeMeasures:
    """Measure accuracy and consistency of a judge that gives scores to outputs.

    Outputs of different systems for the same item are compared. Accuracy is over all pairs of outputs of an
    item with different human scores. The accuracy expected from base rates is ½, because without information
    both orders are equally likely.
    """
    pair_accuracies, items = compare_order_of_outputs_with_humans(judge_scores, human_scores)
    judge_accuracies = VerdictAccuracies(
        pair_accuracies, items, np.arange(len(items), dtype=np.int32), items.astype(np.int64)
    )
    return JudgeMeasures(
        judge_accuracies=judge_accuracies,
        accuracy=judge_accuracies.estimate_judge_accuracy(bootstrap),
        base_rate=0.5 if len(pair_accuracies) else np.nan,
        repeats_same=verdicts.estimate_repeat_agreement(bootstrap),
        unreadable_verdict_count=verdicts.unreadable_verdict_count,
    )


def evaluate_scoring_judge_across_items(
    judge_scores: FloatArray, human_scores: FloatArray, verdicts: JudgeVerdicts, bootstrap: ClusterBootstrap
) -> JudgeMeasures:
    """Measure accuracy and consistency of a judge that gives scores, with one output per item.

    Outputs of different items are compared. Accuracy is over all pairs of outputs with different human
    scores.
    """
    items = np.flatnonzero(~np.isnan(judge_scores) & ~np.isnan(human_scores))
    judge_accuracies = JudgeAndHumanItemScores(judge_scores[items], human_scores[items], items)
    accuracy = judge_accuracies.estimate_judge_accuracy(bootstrap)
    return JudgeMeasures(
        judge_accuracies=judge_accuracies,
        accuracy=accuracy,
        base_rate=0.5 if accuracy.pairs else np.nan,
        repeats_same=verdicts.estimate_repeat_agreement(bootstrap),
        unreadable_verdict_count=verdicts.unreadable_verdict_count,
    )


def estimate_accuracy_change(
    accuracies_before: VerdictAccuracies, accuracies_after: VerdictAccuracies, bootstrap: ClusterBootstrap
) -> ItemEstimate:
    """Estimate how much the accuracy of a judge changed between two dates."""
    undefined_before = np.full(len(accuracies_before.values), np.nan)
    undefined_after = np.full(len(accuracies_after.values), np.nan)
    return estimate_difference_of_means(
        np.concatenate([undefined_before, accuracies_after.values]),
        np.concatenate([accuracies_before.values, undefined_after]),
        np.concatenate([accuracies_before.items, accuracies_after.items]),
        bootstrap,
    )


def estimate_accuracy_by_context(
    judge_accuracies: VerdictAccuracies | JudgeAndHumanItemScores,
    context_labels: Sequence[str | None],
    bootstrap: ClusterBootstrap,
) -> dict[str, ItemEstimate]:
    """Estimate the accuracy of a judge in each context, such as each domain.

    `context_labels` are per verdict or item, as `label_positions` are.
    """
    labels = np.array(
        [context_labels[position] for position in judge_accuracies.label_positions], dtype=object
    )
    contexts = sorted({label for label in labels.tolist() if label is not None})
    return {
        context: judge_accuracies.estimate_judge_accuracy(bootstrap, labels == context)
        for context in contexts
    }
