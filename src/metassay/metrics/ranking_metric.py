"""What measures of ranked lists share: parameters, names, and one pass over all lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.data.ranked_lists import RankedLists, build_ranked_lists_from_mappings
from metassay.errors import InputError
from metassay.metrics.base import Batch, Metric, Parameters, Scores
from metassay.metrics.kernels import ranking as kernels
from metassay.specs import format_label, format_spec


def score_rankings(metrics: Sequence[RankingMetric], lists: RankedLists) -> Scores:
    """Compute several ranking metrics of all lists in one pass: [lists, metrics]."""
    most_retrieved = np.diff(lists.offsets).max(initial=0)
    most_judged = np.diff(lists.judgements.offsets).max(initial=0)
    longest = max(most_retrieved, most_judged)
    return kernels.compute_ranking_measures(
        lists.offsets,
        lists.grades,
        lists.topics,
        lists.judgements.offsets,
        lists.judgements.grades,
        np.array([metric.measure for metric in metrics], dtype=np.int64),
        np.array([metric.measure_argument for metric in metrics], dtype=np.float64),
        np.array([metric.min_relevant_grade for metric in metrics], dtype=np.int64),
        np.array([metric.depth or kernels.NO_CUTOFF for metric in metrics], dtype=np.int64),
        np.log2(np.arange(2, longest + 2, dtype=np.float64)),
    )


@dataclass(frozen=True)
class RankingMetric(Metric):
    """A metric of ranked lists; with `depth`, only the first documents of each list are used."""

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
    def measure_argument(self) -> float:
        """The number that the measure needs: a cut-off, recall level, weight or persistence."""
        return float(kernels.NO_CUTOFF)

    @property
    def min_relevant_grade(self) -> int:
        """The lowest grade that counts as relevant."""
        return 1

    @property
    def name_suffix(self) -> str:
        """The number at the end of the metric's name; empty if it has none."""
        return str(getattr(self, self.suffix)) if self.suffix else ""

    @property
    def spec(self) -> str:
        """The canonical text form, such as `ndcg_cut_10` or `p_5(rel=2)`."""
        return format_spec(self._append_cutoff_to_name(self.name), self._list_non_default_parameters)

    @property
    def label(self) -> str:
        """The name as trec_eval writes it: `P_5`, `ndcg_cut_10`."""
        return format_label(
            self._append_cutoff_to_name(self.title or self.name), self._list_non_default_parameters
        )

    @property
    def _list_non_default_parameters(self) -> Parameters:
        """The parameters that differ from their defaults and are not part of the name."""
        return {key: value for key, value in self.parameters.items() if key != self.suffix}

    def _append_cutoff_to_name(self, name: str) -> str:
        """Return a name with the number at its end."""
        return f"{name}_{self.name_suffix}" if self.name_suffix else name

    def score(self, batch: Batch) -> Scores:
        """Compute the metric of each list; a batch has `RankedLists`, or document ids with grades."""
        lists = batch["output"]
        if not isinstance(lists, RankedLists):
            lists = build_ranked_lists_from_mappings(lists, batch["qrels"])
        return np.ascontiguousarray(score_rankings([self], lists)[:, 0])


@dataclass(frozen=True)
class BinaryMetric(RankingMetric):
    """A ranking metric that counts documents with grade `rel` or higher as relevant."""

    rel: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _is_positive_integer(self.rel):
            raise InputError(f"{self.name}: rel is {self.rel}; it must be a whole number above 0.")

    @property
    def min_relevant_grade(self) -> int:
        """The lowest grade that counts as relevant."""
        return self.rel


@dataclass(frozen=True)
class CutMetric(RankingMetric):
    """A ranking metric of the first k documents; k is part of the name, as in `ndcg_cut_10`."""

    suffix: ClassVar[str] = "k"
    k: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _is_positive_integer(self.k):
            raise InputError(f"{self.name}_{self.k} must end in a whole number above 0.")

    @property
    def measure_argument(self) -> float:
        """The cut-off."""
        return float(self.k)


@dataclass(frozen=True)
class CutBinaryMetric(CutMetric, BinaryMetric):
    """A ranking metric that counts relevant documents among the first k, such as `p_5`."""


def _is_positive_integer(value: object) -> bool:
    """Return whether a parameter is a positive integer that kernels can store."""
    return isinstance(value, int) and 0 < value < int(kernels.NO_CUTOFF)
