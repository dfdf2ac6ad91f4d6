"""How often a judge agrees with human labels, with itself in the other order, and with itself asked again.

A verdict on two outputs is 1 if the first is preferred, 0 if the second is, ½ for a tie, and NaN where no
verdict could be read. Its accuracy is 1 minus the distance to the gold label; with strict ties only equal
verdicts count:

    half:    accuracy = 1 − |verdict − gold|        strict, judgebench:  accuracy = 1[verdict = gold]

A tie where humans have a preference is therefore half right, or wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from metassay.errors import UnknownName
from metassay.stats.arrays import BoolArray, FloatArray, IntArray, divide_or_nan

JUDGEBENCH = "judgebench"
# Ways of counting ties. `judgebench` adds up both orders, as JudgeBench does (Tan et al., 2024).
TIES = ("half", "strict", JUDGEBENCH)


def compare_verdicts_with_gold_labels(
    verdicts: FloatArray, gold_labels: FloatArray, *, ties: str = "half"
) -> FloatArray:
    """Compute how right each verdict is, from 0 (wrong) to 1 (right).

    A missing verdict or gold label gives NaN. With ties "half" it is 1 - |verdict - gold label|, otherwise 1
    if the two are equal and 0 if not.
    """
    if ties not in TIES:
        raise UnknownName("treatment of ties", ties, TIES)
    distances = np.abs(verdicts - gold_labels)
    if ties == "half":
        return 1 - distances
    return np.where(np.isnan(distances), np.nan, distances == 0)


def compute_accuracy_expected_by_chance(
    verdicts: FloatArray, gold_labels: FloatArray, *, ties: str = "half"
) -> float:
    """Compute the accuracy that a judge would have if it assigned its verdicts to questions at random.

    This is the expected agreement of Cohen's kappa: the mean accuracy over all pairs of a verdict and a gold
    label, each from any item.
    """
    is_defined = ~(np.isnan(verdicts) | np.isnan(gold_labels))
    distinct_verdicts, verdict_counts = np.unique(verdicts[is_defined], return_counts=True)
    distinct_gold, gold_counts = np.unique(gold_labels[is_defined], return_counts=True)
    if not len(distinct_verdicts):
        return float("nan")
    accuracies_of_pairs = compare_verdicts_with_gold_labels(
        distinct_verdicts[:, None], distinct_gold[None, :], ties=ties
    )
    total = verdict_counts.sum() * gold_counts.sum()
    return float(verdict_counts @ accuracies_of_pairs @ gold_counts / total)


@dataclass(frozen=True)
class CombinedVerdicts:
    """One verdict for each question about two outputs, combined from asking in both orders.

    Also says whether both orders gave the same verdict.
    """

    verdicts: FloatArray
    is_consistent: FloatArray
    """1 or 0; NaN where only one order was asked or could be read."""


def combine_verdicts_of_both_orders(
    verdicts: FloatArray, questions: IntArray, is_swapped: BoolArray, *, ties: str = "half"
) -> CombinedVerdicts:
    """Combine the two verdicts on each question that was asked in both orders of the outputs.

    Two verdicts that prefer the same output count as that verdict, others as a tie; with `judgebench`, a
    preference and a tie count as the preference. A question with an order that could not be read has no
    verdict.
    """
    question_count = int(questions.max(initial=-1)) + 1
    in_order = ~is_swapped
    first = _arrange_by_question(verdicts[in_order], questions[in_order], question_count)
    second = _arrange_by_question(verdicts[is_swapped], questions[is_swapped], question_count)
    has_first = np.bincount(questions[in_order], minlength=question_count) > 0
    has_second = np.bincount(questions[is_swapped], minlength=question_count) > 0
    has_both = has_first & has_second
    is_consistent = np.where(has_both & ~np.isnan(first + second), first == second, np.nan)
    single_verdicts = np.where(has_first, first, second)
    if ties == JUDGEBENCH:
        tie_or_verdict = (1 + np.sign(first + second - 1)) / 2
    else:
        tie_or_verdict = np.where(is_consistent == 1, first, 0.5)
    both_verdicts = np.where(np.isnan(is_consistent), np.nan, tie_or_verdict)
    return CombinedVerdicts(np.where(has_both, both_verdicts, single_verdicts), is_consistent)


def _arrange_by_question(verdicts: FloatArray, question_numbers: IntArray, question_count: int) -> FloatArray:
    """Return an array with the verdict on each question. A question without a verdict gets NaN."""
    arranged = np.full(question_count, np.nan)
    arranged[question_numbers] = verdicts
    return arranged


def find_preferences_for_output_shown_first(
    verdicts: FloatArray, is_order_swapped: BoolArray, question_numbers: IntArray
) -> FloatArray:
    """Find which verdicts prefer the output that was shown first.

    Returns 1 for the first output, 0 for the second, and ½ for a tie. The mean is P(first preferred), and the
    outputs do not influence it, because each is shown first once. NaN for questions with one order only,
    where position and quality cannot be separated.
    """
    is_consistent = combine_verdicts_of_both_orders(
        verdicts, question_numbers, is_order_swapped
    ).is_consistent
    prefers_first = np.where(is_order_swapped, 1 - verdicts, verdicts)
    return np.where(np.isnan(is_consistent[question_numbers]), np.nan, prefers_first)


def compute_repeat_agreement(answers: FloatArray, question_of_answer: IntArray) -> FloatArray:
    """Compute for each repeated question how often two answers to it are equal.

    A question with fewer than two readable answers gets NaN.
    """
    is_defined = ~np.isnan(answers)
    question_count = int(question_of_answer.max(initial=-1)) + 1
    answer_counts = np.bincount(question_of_answer[is_defined], minlength=question_count).astype(np.float64)
    distinct_answers, counts = np.unique(
        np.stack([question_of_answer[is_defined], answers[is_defined]]), axis=1, return_counts=True
    )
    equal_pairs = np.bincount(
        distinct_answers[0].astype(np.int64), weights=counts * (counts - 1.0), minlength=question_count
    )
    return divide_or_nan(equal_pairs, answer_counts * (answer_counts - 1))


def compare_order_of_outputs_with_humans(
    judge_scores: FloatArray, human_scores: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Compare how a judge and humans order two outputs of an item.

    Returns 1 for the same order, ½ if the judge gives equal scores, else 0. Scores are `[systems, items]`.
    All pairs of outputs with different human scores are compared; pairs with a missing score are left out.
    Also returns the item of each pair.
    """
    pair_accuracies = [np.empty(0)]
    pair_items = [np.empty(0, dtype=np.int32)]
    for j, i in combinations(range(len(judge_scores)), 2):
        judge_order = np.sign(judge_scores[i] - judge_scores[j])
        human_order = np.sign(human_scores[i] - human_scores[j])
        items = np.flatnonzero(~np.isnan(judge_order) & (np.abs(human_order) == 1))
        pair_accuracies.append(1 - np.abs(judge_order[items] - human_order[items]) / 2)
        pair_items.append(items.astype(np.int32))
    return np.concatenate(pair_accuracies), np.concatenate(pair_items)
