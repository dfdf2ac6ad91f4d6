"""chrF (Popović, 2015) and chrF++ (Popović, 2017) with sacrebleu's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.errors import InputError
from metassay.metrics.base import Batch, Scores, StatisticsMetric, check_parameter_range
from metassay.metrics.batch_tokens import split_batch_into_characters, split_batch_into_words
from metassay.metrics.kernels.text_arrays import TokenSequences
from metassay.metrics.ngram_statistics import count_ngrams_shared_with_reference
from metassay.metrics.sacrebleu_signature import build_sacrebleu_signature
from metassay.metrics.scoring_inputs import SingleReferenceInputs, find_distinct_inputs
from metassay.results.official_score import OfficialScore
from metassay.specs import format_title_with_parameters
from metassay.text.tokenizers import SPLIT_AS_CHRF

_MAX_ORDER = 100
# chrF++ has word_order=2; higher orders have no name of their own.
_MAX_PLUS_SIGNS = 2
# What sacrebleu takes for a precision or recall without n-grams, with `eps_smoothing`.
_EPSILON = 1e-16


@dataclass(frozen=True)
class Chrf(StatisticsMetric):
    """chrF: F-score of character n-grams, in per cent. With `word_order=2` it also uses word n-grams and is
    called chrF++.

    F_β = (1 + β²)·P·R / (β²·P + R), where P and R are means over the orders for which both output and
    reference have n-grams. Statistics, for each order: n-grams of the output, of the reference, in common.
    Of several references the one with the highest score counts. Equals `sacrebleu.CHRF`.
    """

    char_order: int = 6
    word_order: int = 0
    beta: float = 2.0
    lowercase: bool = False
    whitespace: bool = False
    eps_smoothing: bool = False

    name: ClassVar[str] = "chrf"
    title: ClassVar[str] = "chrF"
    task: ClassVar[str] = "mt"
    oracle: ClassVar[str] = "sacrebleu 2.6.0"
    summary: ClassVar[str] = "F-score of character n-grams; chrf++ adds words (sacrebleu)"

    def __post_init__(self) -> None:
        check_parameter_range(self.name, "char_order", self.char_order, 0, _MAX_ORDER)
        check_parameter_range(self.name, "word_order", self.word_order, 0, _MAX_ORDER)
        check_parameter_range(self.name, "beta", self.beta, 0)
        if self.char_order + self.word_order == 0:
            raise InputError("chrF needs a positive char_order or word_order.")

    @property
    def label(self) -> str:
        """The name in reports: `chrF`, `chrF+` or `chrF++`, followed by other parameters that differ from
        their defaults.
        """
        if self.word_order > _MAX_PLUS_SIGNS:
            return super().label
        other_parameters = {
            key: value for key, value in self.non_default_parameters.items() if key != "word_order"
        }
        return format_title_with_parameters(self.title + "+" * self.word_order, other_parameters)

    def statistics(self, batch: Batch) -> Scores:
        """Count the n-grams of each output, of its best reference, and of both in common."""
        inputs = find_distinct_inputs(batch)
        single_inputs = inputs.pair_outputs_with_each_reference()
        characters = split_batch_into_characters(batch, lowercase=self.lowercase, keep_spaces=self.whitespace)
        counts = [_count_ngrams(characters, single_inputs, self.char_order)]
        if self.word_order > 0:
            words = split_batch_into_words(batch, SPLIT_AS_CHRF, lowercase=self.lowercase)
            counts.append(_count_ngrams(words, single_inputs, self.word_order))
        width = 3 * (self.char_order + self.word_order)
        statistics = np.concatenate(counts, axis=1).reshape(-1, width)
        if single_inputs.has_choice_of_references:
            statistics = single_inputs.select_best_reference(statistics, self.from_statistics(statistics))
        return statistics[inputs.input_of_row]

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute the F-score from numbers of n-grams."""
        orders = self.char_order + self.word_order
        counts = np.asarray(statistics, dtype=np.float64).reshape(-1, orders, 3)
        output, reference, common = np.moveaxis(counts, 2, 0)
        if self.eps_smoothing:
            scores = _compute_mean_f_score(output, reference, common, self.beta)
        else:
            scores = _compute_f_score_of_means(output, reference, common, self.beta)
        return scores.reshape(np.shape(statistics)[:-1])

    def describe_score_like_sacrebleu(self, statistics: Scores, reference_count: int) -> OfficialScore | None:
        """Return the name and the signature that sacrebleu prints with the score. None if sacrebleu has no
        such score.
        """
        from sacrebleu.metrics.chrf import CHRF

        del statistics
        signature = build_sacrebleu_signature(self, CHRF, reference_count)
        if signature is None:
            return None
        return OfficialScore(name=f"chrF{self.beta:g}" + "+" * self.word_order, signature=signature)


def _count_ngrams(tokens: TokenSequences, inputs: SingleReferenceInputs, max_order: int) -> Scores:
    """Count the n-grams of each output, of its reference and of both in common, for each n up to
    `max_order`.
    """
    common = count_ngrams_shared_with_reference(tokens, inputs, max_order)
    ngrams = np.maximum(np.diff(tokens.offsets)[:, None] - np.arange(max_order), 0)
    output = ngrams[inputs.outputs]
    reference = ngrams[inputs.references]
    # Where the reference is too short for an order, sacrebleu does not count the output's n-grams either.
    output = np.where(reference > 0, output, 0)
    return np.stack([output, reference, common], axis=2).astype(np.float64)


def _compute_f_score_of_means(
    output_counts: Scores, reference_counts: Scores, shared_counts: Scores, beta: float
) -> Scores:
    """Compute the F-score of the mean precision and the mean recall. The means are over the n-gram lengths
    that both texts have.

    Orders are added one by one, as in sacrebleu: another order of additions would round differently and
    break ties.
    """
    has_ngrams = (output_counts > 0) & (reference_counts > 0)
    precisions = np.divide(shared_counts, output_counts, out=np.zeros_like(shared_counts), where=has_ngrams)
    recalls = np.divide(shared_counts, reference_counts, out=np.zeros_like(shared_counts), where=has_ngrams)
    precision = np.zeros(len(shared_counts))
    recall = np.zeros(len(shared_counts))
    for n in range(shared_counts.shape[1]):
        precision += precisions[:, n]
        recall += recalls[:, n]
    orders = np.maximum(has_ngrams.sum(axis=1), 1)
    precision /= orders
    recall /= orders
    factor = beta * beta
    score = (1 + factor) * precision * recall
    denominator = (factor * precision) + recall
    score = np.divide(score, denominator, out=np.zeros_like(score), where=denominator > 0)
    return 100 * score


def _compute_mean_f_score(
    output_counts: Scores, reference_counts: Scores, shared_counts: Scores, beta: float
) -> Scores:
    """Compute the F-score for each n-gram length, and return the mean of these F-scores."""
    factor = beta * beta
    total = np.zeros(len(shared_counts))
    for n in range(shared_counts.shape[1]):
        precision = np.full(len(shared_counts), _EPSILON)
        np.divide(shared_counts[:, n], output_counts[:, n], out=precision, where=output_counts[:, n] > 0)
        recall = np.full(len(shared_counts), _EPSILON)
        np.divide(shared_counts[:, n], reference_counts[:, n], out=recall, where=reference_counts[:, n] > 0)
        denominator = factor * precision + recall
        f_score = np.full(len(shared_counts), _EPSILON)
        numerator = (1 + factor) * precision * recall
        total += np.divide(numerator, denominator, out=f_score, where=denominator > 0)
    mean: Scores = 100 * total / shared_counts.shape[1]
    return mean
