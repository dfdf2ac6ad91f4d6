"""What ranking measures have in common: their parameters, their names, and one pass over all lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metassay.data.ranked_lists import RankedLists, build_ranked_lists_from_mappings
from metassay.errors import InputError
from metassay.metrics.base import Batch, Metric, Scores
from metassay.metrics.kernels import ranking as kernels
from metassay.specs import format_label, format_spec

ORACLE = "trec_eval 10.0"


def score_rankings(metrics: Sequence[RankingMetric], lists: RankedLists) -> Scores:
    """Every measure of every list, in one pass: float64[lists, metrics]."""
    longest = max(np.diff(lists.offsets).max(initial=0), np.diff(lists.judgements.offsets).max(initial=0))
    return kernels.measure_lists(
        lists.offsets,
        lists.grades,
        lists.topics,
        lists.judgements.offsets,
        lists.judgements.grades,
        np.array([metric.measure for metric in metrics], dtype=np.int64),
        np.array([metric.argument for metric in metrics], dtype=np.float64),
        np.array([metric.relevant_from for metric in metrics], dtype=np.int64),
        np.array([metric.depth or kernels.NO_CUTOFF for metric in metrics], dtype=np.int64),
        np.log2(np.arange(2, longest + 2, dtype=np.float64)),
    )


def _positive(value: object) -> bool:
    """Whether a parameter, which may come from text, is a whole number above 0 that the kernels can hold."""
    return isinstance(value, int) and 0 < value < int(kernels.NO_CUTOFF)


@dataclass(frozen=True)
class RankingMetric(Metric):
    """A measure of ranked lists."""

    task: ClassVar[str] = "ranking"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "qrels"})
    oracle: ClassVar[str] = ORACLE
    measure: ClassVar[int]
    """Which function of the kernels computes it."""

    suffix: ClassVar[str] = ""
    """The parameter that is written at the end of the name, as the 10 of `ndcg_cut_10`."""

    depth: int | None = None

    def __post_init__(self) -> None:
        if self.depth is not None and not _positive(self.depth):
            raise InputError(f"the depth of {self.name} is {self.depth}; it must be a whole number above 0.")

    @property
    def argument(self) -> float:
        """The cut-off, recall level or weight; without one, no cut."""
        return float(kernels.NO_CUTOFF)

    @property
    def relevant_from(self) -> int:
        """The lowest grade that counts as relevant."""
        return 1

    @property
    def suffix_text(self) -> str:
        """The end of the name; empty where there is none."""
        return str(getattr(self, self.suffix)) if self.suffix else ""

    @property
    def spec(self) -> str:
        """The canonical text form, such as `ndcg_cut_10` or `p_5(rel=2)`."""
        return format_spec(self._suffixed(self.name), self._beside)

    @property
    def label(self) -> str:
        """As trec_eval writes it: `P_5`, `ndcg_cut_10`."""
        return format_label(self._suffixed(self.title or self.name), self._beside)

    @property
    def _beside(self) -> dict[str, Any]:
        """The parameters that differ from their defaults and are no part of the name."""
        return {key: value for key, value in self.parameters.items() if key != self.suffix}

    def _suffixed(self, name: str) -> str:
        return "_".join(filter(None, (name, self.suffix_text)))

    def score(self, batch: Batch) -> Scores:
        """The measure of each list, from `RankedLists` or from document ids and a mapping of grades each."""
        lists = batch["output"]
        if not isinstance(lists, RankedLists):
            lists = build_ranked_lists_from_mappings(lists, batch["qrels"])
        return np.ascontiguousarray(score_rankings([self], lists)[:, 0])


@dataclass(frozen=True)
class BinaryMetric(RankingMetric):
    """A measure that knows relevant documents and others."""

    rel: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _positive(self.rel):
            raise InputError(f"{self.name}: rel is {self.rel}; it must be a whole number above 0.")

    @property
    def relevant_from(self) -> int:
        """The lowest grade that counts as relevant."""
        return self.rel


@dataclass(frozen=True)
class CutMetric(RankingMetric):
    """A measure of the first k documents; k is part of the name, as in `p_5`."""

    suffix: ClassVar[str] = "k"
    k: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _positive(self.k):
            raise InputError(f"{self.name}_{self.k} must end in a whole number above 0.")

    @property
    def argument(self) -> float:
        """The cut-off."""
        return float(self.k)


@dataclass(frozen=True)
class CutBinaryMetric(CutMetric, BinaryMetric):
    """A measure of relevant documents among the first k."""
