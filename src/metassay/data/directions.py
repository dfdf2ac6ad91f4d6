"""Directions of scores: for which human scores and metrics lower is better, and their reversal.

All comparisons work on oriented scores, for which higher is better. `decide_if_higher_is_better` decides for
every verb, from the user's request (`--lower-is-better`, `--higher-is-better`), the name of the score and its
sign.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.options import Names, split_comma_separated_names
from metassay.results.data_summary import HIGHER, HUMAN_SCORE, LOWER

if TYPE_CHECKING:
    from metassay.data.dataset import Dataset

ScoresT = TypeVar("ScoresT", float, NDArray[np.float64])
REQUESTED = "requested by the user"
# How names of MetricX begin, of which lower is better. `mbr-metricx-qe` is a similarity.
_METRICX = "metricx"
# First or last words of the names of scores of which lower is better.
_ERROR_WORDS = frozenset(
    {
        *("ter", "hter", "hyter", "terp", "wer", "mer", "wil", "cer", "cder", "eed", "charcut"),
        *("levenshtein", "perplexity", "ppl", "bpc", "loss", "nll", "mse", "rmse", "mae"),
        *("error", "errors", "errs", "errorrate", "mistake", "mistakes", "penalty", "penalties"),
        *("distance", "divergence", "edits", "severity", "toxicity", "hallucination", "hallucinations"),
    }
)
# What follows `error` or `edit` in names such as `word-error-rate`, `error_count_de` or `edit_rate`.
_ERROR_MEASURES = frozenset({"rate", "rates", "count", "counts", "points", "score", "scores"})
_MEASURED_WORDS = frozenset({"error", "edit"})
# Words that turn an error rate around, as in `inverse_wer`, `neg_ter` and `wer_accuracy`.
_TURNING_WORDS = frozenset(
    {
        *("neg", "negated", "negative", "minus", "inv", "inverse", "inverted", "reversed", "complement"),
        *("accuracy", "similarity", "f", "precision", "recall"),
    }
)
# The complement of an error rate, as in `1-TER` and `100 - WER`, and its negation, as in `-TER`.
_COMPLEMENT = re.compile(r"\s*(1|1\.0|100)?\s*[-\N{MINUS SIGN}]\s*[A-Za-z]")
# Whole names of scores of which lower is better: CharacTER, unlike a count of characters, and PER.
_ERROR_NAMES = frozenset({"character", "per"})
# Where a word ends and the next begins in `errorRate`, but not in `TERp` and `BLEUscore`.
_CAPITAL_INSIDE_NAME = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
# First or last words of human scores that are ranks, of which 1 is best.
_RANK_WORDS = frozenset({"rank", "ranks", "ranking"})
# Error rates are taken as reversed already if negative scores weigh more than this times the others.
_REVERSED_RATIO = 5
# What mt-metrics-eval appends to the name of a metric to name its reference.
_REFERENCE_SUFFIX = re.compile(r"-(src|ref\w*)$")


@dataclass(frozen=True)
class ScoreDirection:
    """Whether higher or lower values of a score are better, and how that was decided."""

    score: str
    kind: str
    """`HUMAN_SCORE` or `METRIC_SCORE`."""
    better: str
    """`HIGHER` or `LOWER`, as the score stands in the data."""
    why: str
    """How this is known."""


@dataclass(frozen=True)
class RequestedDirections:
    """The scores for which the user said that lower values, or that higher values, are better."""

    lower_is_better: tuple[str, ...] = ()
    higher_is_better: tuple[str, ...] = ()

    @classmethod
    def parse_direction_options(cls, lower_is_better: Names, higher_is_better: Names) -> Self:
        """Parse the options `--lower-is-better` and `--higher-is-better`. Each is a list of names of scores
        or a text with commas.
        """
        return cls(
            split_comma_separated_names(lower_is_better), split_comma_separated_names(higher_is_better)
        )

    @property
    def named_scores(self) -> tuple[str, ...]:
        """The names of all scores for which the user said whether lower or higher is better."""
        return (*self.lower_is_better, *self.higher_is_better)

    def check_score_names(self, score_names: Collection[str], score_kind: str = "score") -> None:
        """Raise an error if a score that the user named does not exist, or is named in both lists."""
        for name in self.named_scores:
            if name not in score_names:
                raise UnknownName(score_kind, name, score_names)
        contradictory = {*self.lower_is_better} & {*self.higher_is_better}
        if contradictory:
            names = ", ".join(sorted(contradictory))
            raise InputError(f"{names} cannot be both lower and higher is better.")

    def list_scores_where_lower_is_better(self, known_names: Collection[str]) -> frozenset[str]:
        """List the scores for which lower is better: those whose names say so, unless the user says
        otherwise.
        """
        return frozenset(({*known_names} | {*self.lower_is_better}) - {*self.higher_is_better})

    def exclude_scores(self, score_names: Collection[str]) -> RequestedDirections:
        """Return a copy of the request that leaves out the given scores."""
        lower = tuple(name for name in self.lower_is_better if name not in score_names)
        higher = tuple(name for name in self.higher_is_better if name not in score_names)
        return RequestedDirections(lower, higher)


def orient_scores(scores: ScoresT, *, higher_is_better: bool) -> ScoresT:
    """Return the scores, negated if lower is better, so that higher is always better.

    >>> orient_scores(0.25, higher_is_better=False)
    -0.25
    """
    if higher_is_better:
        return scores
    return -scores


def decide_if_higher_is_better(
    score_name: str,
    scores: NDArray[np.float64],
    *,
    score_kind: str,
    requested_directions: RequestedDirections | None = None,
    lower_is_better_metrics: Collection[str] = (),
) -> ScoreDirection:
    """Decide whether higher or lower values of a score are better, from the user's request, the name and the
    values of the score.

    The user's request decides first, then the name of the score together with its sign: scores that are
    named like an error rate (`TER-refA`, `MetricX-24`, `errors`) are lower is better, unless they are
    mostly negative, because then somebody has reversed them already. MQM counts errors if it is never
    negative and most often 0. All other scores are higher is better.

    `score_kind` is `HUMAN_SCORE` or `METRIC_SCORE`; `lower_is_better_metrics` are names of metrics of which
    lower is better.

    >>> decide_if_higher_is_better("TER-refA", np.array([20.0, 35.0]), score_kind="metric").better
    'lower'
    >>> decide_if_higher_is_better("TER-refA", np.array([-20.0, -35.0]), score_kind="metric").better
    'higher'
    """
    requested_directions = requested_directions or RequestedDirections()
    if score_name in requested_directions.lower_is_better:
        return ScoreDirection(score_name, score_kind, LOWER, REQUESTED)
    if score_name in requested_directions.higher_is_better:
        return ScoreDirection(score_name, score_kind, HIGHER, REQUESTED)
    if score_name in lower_is_better_metrics or does_name_suggest_error_count(score_name, score_kind):
        # Some tables hold error metrics with reversed sign, so that higher is better.
        if _is_mostly_negative(scores):
            return ScoreDirection(score_name, score_kind, HIGHER, "an error rate with reversed sign")
        return ScoreDirection(score_name, score_kind, LOWER, "named like an error rate")
    if do_scores_look_like_error_counts(score_name, scores) and _is_zero_most_frequent(scores):
        return ScoreDirection(score_name, score_kind, LOWER, "MQM that is never negative counts errors")
    return ScoreDirection(score_name, score_kind, HIGHER, "default")


def does_name_suggest_error_count(score_name: str, score_kind: str) -> bool:
    """Return whether the name of a score, such as `ter` or `errors`, suggests that it counts errors, so that
    lower is better.

    >>> names = ("TER", "WER_norm", "sacrebleu-ter", "MetricX-24-ref", "mbr-metricx-qe", "recip_rank")
    >>> [does_name_suggest_error_count(name, "metric") for name in names]
    [True, True, True, True, False, False]
    >>> does_name_suggest_error_count("hter", "human"), does_name_suggest_error_count("rank", "human")
    (True, True)
    >>> names = ("errorRate", "word-error-rate", "MetricX24", "google/metricx-24-hybrid-large")
    >>> [does_name_suggest_error_count(name, "metric") for name in names]
    [True, True, True, True]
    """
    if _COMPLEMENT.match(score_name):
        return False
    # In `google/metricx-24`, the name of the metric follows the last slash; in `WER/ref`, it comes first.
    return any(_suggests_error_count(part, score_kind) for part in score_name.split("/"))


def _suggests_error_count(name: str, score_kind: str) -> bool:
    """Return whether a name without slashes suggests that lower scores are better."""
    base_name = _REFERENCE_SUFFIX.sub("", _CAPITAL_INSIDE_NAME.sub("_", name).lower())
    # Digits are versions, as in `metricx24` and `ter2`.
    words = [word for word in re.split(r"[^a-z]+", base_name) if word]
    if not words or not _TURNING_WORDS.isdisjoint(words):
        return False
    for word, next_word in itertools.pairwise(words):
        if word in _MEASURED_WORDS and next_word in _ERROR_MEASURES:
            return True
    if words[0].startswith(_METRICX) or base_name in _ERROR_NAMES:
        return True
    if words[0] in _ERROR_WORDS or words[-1] in _ERROR_WORDS:
        return True
    return score_kind == HUMAN_SCORE and (words[0] in _RANK_WORDS or words[-1] in _RANK_WORDS)


def reverse_human_scores_if_lower_is_better(
    dataset: Dataset, requested_directions: RequestedDirections
) -> tuple[Dataset, RequestedDirections]:
    """Return the data set with human scores negated where lower is better, so that higher is always better.

    The data set then knows the direction that each human score had. Also returns the part of the request
    that concerns other scores.
    """
    directions = []
    reversed_columns = []
    notes = []
    for name in dataset.human:
        scores = dataset.outputs[name].cast(pl.Float64).to_numpy()
        direction = decide_if_higher_is_better(
            name, scores, score_kind=HUMAN_SCORE, requested_directions=requested_directions
        )
        directions.append(direction)
        if direction.better == LOWER:
            reversed_columns.append(-dataset.outputs[name])
            notes.append(_explain_why_score_was_negated(direction))
    outputs = dataset.outputs.with_columns(reversed_columns) if reversed_columns else dataset.outputs
    oriented = replace(dataset, outputs=outputs, directions=tuple(directions))
    return oriented.add_notes(*notes), requested_directions.exclude_scores(dataset.human)


def _explain_why_score_was_negated(score_direction: ScoreDirection) -> str:
    """Return a note that lower values of a human score are better, so that its sign was reversed."""
    note = f"Lower {score_direction.score} is better, so its sign was reversed."
    if score_direction.why == REQUESTED:
        return note
    return f"{note} If higher is better, add --higher-is-better {score_direction.score}."


def warn_of_negated_scores(score_directions: Iterable[ScoreDirection]) -> list[str]:
    """Return a note that names the scores that were negated although the user did not ask for it."""
    reversed_scores = set()
    for direction in score_directions:
        if direction.better == LOWER and direction.why != REQUESTED:
            reversed_scores.add(direction.score)
    if not reversed_scores:
        return []
    note = (
        f"The sign of these scores was reversed because lower is better: "
        f"{', '.join(sorted(reversed_scores))}. If higher is better, add --higher-is-better NAME."
    )
    return [note]


def do_scores_look_like_error_counts(score_name: str, scores: NDArray[np.float64]) -> bool:
    """Return whether MQM scores seem to count errors, because none of them is negative.

    False for a score whose name does not contain MQM.
    """
    present = scores[~np.isnan(scores)]
    if "mqm" not in score_name.lower() or not len(present):
        return False
    return bool((present >= 0).all() and (present > 0).any())


def _is_mostly_negative(scores: NDArray[np.float64]) -> bool:
    """Return whether the sum of all negative scores is much larger, without its sign, than the sum of the
    positive ones.

    Not all need to be negative: MetricX predicts up to a third of its errors on the wrong side of 0.
    """
    negative = -np.nansum(np.minimum(scores, 0))
    positive = np.nansum(np.maximum(scores, 0))
    return bool(negative > _REVERSED_RATIO * positive)


def _is_zero_most_frequent(scores: NDArray[np.float64]) -> bool:
    """Return whether 0 is the most frequent score, as in counts of errors."""
    values, counts = np.unique(scores[~np.isnan(scores)], return_counts=True)
    return bool(values[counts.argmax()] == 0)


def warn_of_scores_that_may_count_errors(score_name: str, scores: NDArray[np.float64]) -> list[str]:
    """Return a note if a human score may count errors, although higher scores are treated as better."""
    if not do_scores_look_like_error_counts(score_name, scores):
        return []
    note = (
        f"{score_name} is never negative, and higher scores are treated as better. If it counts errors, add "
        f"--lower-is-better {score_name}."
    )
    return [note]
