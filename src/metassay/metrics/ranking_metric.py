"""What measures of ranked lists share: parameters, names, and one pass over all lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.data.ranked_lists import RankedLists, build_ranked_lists_from_dicts
from metassay.errors import InputError
from metassay.metrics.base import Batch, Metric, Parameters, Scores
from metassay.metrics.kernels import ranking as kernels
from metassay.specs import format_name_with_parameters, format_title_with_parameters


def score_rankings(metrics: Sequence[RankingMetric], ranked_lists: RankedLists) -> Scores:
    """Score ranked lists with several metrics in one pass. Returns an array with one row per list and one
    column per metric.
    """
    most_retrieved = np.diff(ranked_lists.offsets).max(initial=0)
    most_judged = np.diff(ranked_lists.judgements.offsets).max(initial=0)
    longest = max(most_retrieved, most_judged)
    return kernels.compute_ranking_measures(
        ranked_lists.offsets,
        ranked_lists.grades,
        ranked_lists.topics,
        ranked_lists.judgements.offsets,
        ranked_lists.judgements.grades,
        np.array([metric.measure for metric in metrics], dtype=np.int64),
        np.array([metric.metric_formula_parameter for metric in metrics], dtype=np.float64),
        np.array([metric.min_relevant_grade for metric in metrics], dtype=np.int64),
        np.array([metric.depth or kernels.NO_CUTOFF for metric in metrics], dtype=np.int64),
        np.log2(np.arange(2, longest + 2, dtype=np.float64)),
    )


@dataclass(frozen=True)
class RankingMetric(Metric):
    """Base class of metrics of ranked lists. If `depth` is set, the rest of each list after that many
    documents is ignored.
    """

    task: ClassVar[str] = "ranking"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "qrels"})
    oracle: ClassVar[str] = "trec_eval 10.0"
    measure: ClassVar[int]
    """The code of the measure in `kernels.ranking`."""
    suffix: ClassVar[str] = ""
    """The parameter whose value is the end of the name, as the 10 of `ndcg_cut_10`."""

    depth: int | None = None

    def __post_init__(self) -> None:
        if self.depth is not None and not _is_positive_integer(self.depth):
            raise InputError(f"the depth of {self.name} is {self.depth}; it must be a whole number above 0.")

    @property
    def metric_formula_parameter(self) -> float:
        """The number in the metric's formula, such as a cut-off, a recall level or a weight."""
        return float(kernels.NO_CUTOFF)

    @property
    def min_relevant_grade(self) -> int:
        """The lowest relevance grade of documents that count as relevant."""
        return 1

    @property
    def metric_name_suffix(self) -> str:
        """The number at the end of the metric's name, such as the 10 of `ndcg_cut_10`. Empty if the name ends
        in no number.
        """
        return str(getattr(self, self.suffix)) if self.suffix else ""

    @property
    def spec(self) -> str:
        """The metric as a user would write it in an option, such as `ndcg_cut_10` or `p_5(rel=2)`."""
        return format_name_with_parameters(
            self._append_suffix_to_metric_name(self.name), self._parameters_outside_name
        )

    @property
    def label(self) -> str:
        """The name of the metric as trec_eval prints it, such as `P_5` or `ndcg_cut_10`."""
        return format_title_with_parameters(
            self._append_suffix_to_metric_name(self.title or self.name), self._parameters_outside_name
        )

    @property
    def _parameters_outside_name(self) -> Parameters:
        """The parameters that differ from their defaults and are not part of the name."""
        return {key: value for key, value in self.non_default_parameters.items() if key != self.suffix}

    def _append_suffix_to_metric_name(self, metric_name: str) -> str:
        """Add the number of this metric to a name, such as `P_5` for `P`."""
        return f"{metric_name}_{self.metric_name_suffix}" if self.metric_name_suffix else metric_name

    def score(self, batch: Batch) -> Scores:
        """Return the score of each ranked list of a batch.

        The lists are `RankedLists`, or lists of document ids with relevance grades in the field `qrels`.
        """
        lists = batch["output"]
        if not isinstance(lists, RankedLists):
            lists = build_ranked_lists_from_dicts(lists, batch["qrels"])
        return np.ascontiguousarray(score_rankings([self], lists)[:, 0])


@dataclass(frozen=True)
class BinaryMetric(RankingMetric):
    """Base class of ranking metrics for which a document is relevant if its grade is at least `rel`."""

    rel: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _is_positive_integer(self.rel):
            raise InputError(f"{self.name}: rel is {self.rel}; it must be a whole number above 0.")

    @property
    def min_relevant_grade(self) -> int:
        """The lowest relevance grade of documents that count as relevant."""
        return self.rel


@dataclass(frozen=True)
class CutMetric(RankingMetric):
    """Base class of ranking metrics that read the first k documents. The name ends in k, as in
    `ndcg_cut_10`.
    """

    suffix: ClassVar[str] = "k"
    k: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _is_positive_integer(self.k):
            raise InputError(f"{self.name}_{self.k} must end in a whole number above 0.")

    @property
    def metric_formula_parameter(self) -> float:
        """The number of documents at the top of each list that are scored."""
        return float(self.k)


@dataclass(frozen=True)
class CutBinaryMetric(CutMetric, BinaryMetric):
    """Base class of ranking metrics that count the relevant documents among the first k, such as `p_5`."""


def _is_positive_integer(value: object) -> bool:
    """Return whether a value is a positive integer that is small enough for the compiled functions."""
    return isinstance(value, int) and 0 < value < int(kernels.NO_CUTOFF)
