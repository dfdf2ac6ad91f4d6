"""Measures of ranked lists with the names and the semantics of trec_eval 10 (Buckley, Voorhees, NIST).

A document is relevant from grade `rel` on (`-l` of trec_eval, 1 by default); `depth` cuts every list first
(`-M`). R is the number of relevant documents of a topic, retrieved or not. A judged topic that a system did
not answer has an empty list, hence 0 (`-c`). Rank-biased precision, ERR and the share of judged documents
follow ir_measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from metassay.errors import InputError
from metassay.metrics.base import check_parameter_range
from metassay.metrics.kernels import ranking as kernels
from metassay.metrics.ranking_metric import BinaryMetric, CutBinaryMetric, CutMetric, RankingMetric


class AveragePrecision(BinaryMetric):
    """Average precision: the precision at the rank of each relevant document, averaged over all relevant
    documents.

    Relevant documents that were not retrieved count 0.
    """

    name = "map"
    title = "MAP"
    measure = kernels.AVERAGE_PRECISION
    summary = "average precision"


class CutAveragePrecision(CutBinaryMetric):
    """Average precision of the first k documents, averaged over all relevant documents."""

    name = "map_cut"
    measure = kernels.AVERAGE_PRECISION
    summary = "average precision of the first k"


class RPrecision(BinaryMetric):
    """Precision of the first R documents, where R is the number of relevant documents."""

    name = "rprec"
    title = "Rprec"
    measure = kernels.R_PRECISION
    summary = "precision at the number of relevant documents"


class ReciprocalRank(BinaryMetric):
    """Reciprocal rank: 1 / rank of the first relevant document, or 0 if none was retrieved."""

    name = "recip_rank"
    measure = kernels.RECIPROCAL_RANK
    summary = "reciprocal rank of the first relevant document"


@dataclass(frozen=True)
class InterpolatedPrecision(BinaryMetric):
    """Interpolated precision: the highest precision at any rank by which a share `level` of the relevant
    documents has been found.

    The share is rounded to whole documents, halves up; trec_eval before version 10 rounded otherwise.
    """

    name = "iprec_at_recall"
    measure = kernels.INTERPOLATED_PRECISION
    summary = "interpolated precision at a recall level"
    suffix: ClassVar[str] = "level"
    level: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "level", float(self.level))
        if not 0 <= self.level <= 1:
            raise InputError(f"{self.name}_{self.level}: a recall level must be between 0 and 1.")

    @property
    def metric_formula_parameter(self) -> float:
        """The share of the relevant documents (recall level) that must have been found."""
        return self.level

    @property
    def metric_name_suffix(self) -> str:
        """The recall level at the end of the metric's name, with two digits as in trec_eval, or with more if
        necessary.
        """
        two_digits = f"{self.level:.2f}"
        return two_digits if float(two_digits) == self.level else str(self.level)


class Precision(CutBinaryMetric):
    """Precision at k: number of relevant documents among the first k, divided by k, even if fewer than k were
    retrieved.
    """

    name = "p"
    title = "P"
    measure = kernels.PRECISION
    summary = "precision of the first k"


class RelativePrecision(CutBinaryMetric):
    """Number of relevant documents among the first k, divided by the highest possible number: k, or the
    number of all relevant documents if that is lower.
    """

    name = "relative_p"
    title = "relative_P"
    measure = kernels.RELATIVE_PRECISION
    summary = "precision of the first k over the best possible one"


class Recall(CutBinaryMetric):
    """Recall at k: share of all relevant documents that are among the first k."""

    name = "recall"
    measure = kernels.RECALL
    summary = "recall of the first k"


class Success(CutBinaryMetric):
    """Success at k: 1 if at least one of the first k documents is relevant, else 0."""

    name = "success"
    measure = kernels.SUCCESS
    summary = "whether the first k hold a relevant document"


class NDCG(RankingMetric):
    """nDCG: discounted cumulative gain divided by the highest possible one (Järvelin and Kekäläinen, 2002).

    The gain of a document is its grade, the discount log2(rank + 1).
    """

    name = "ndcg"
    title = "nDCG"
    measure = kernels.NDCG
    summary = "normalised discounted cumulative gain"


class CutNDCG(CutMetric):
    """nDCG at k: discounted cumulative gain of the first k documents, divided by the highest possible one."""

    name = "ndcg_cut"
    measure = kernels.NDCG
    summary = "normalised discounted cumulative gain of the first k"


class BinaryPreference(BinaryMetric):
    """bpref (Buckley and Voorhees, 2004): high if few documents that were judged nonrelevant are ranked above
    relevant ones.
    """

    name = "bpref"
    measure = kernels.BPREF
    summary = "preference of relevant over judged nonrelevant documents"


class SetPrecision(BinaryMetric):
    """Share of relevant documents among all retrieved documents, whatever their order."""

    name = "set_p"
    title = "set_P"
    measure = kernels.SET_PRECISION
    summary = "precision of the whole list"


class SetRelativePrecision(BinaryMetric):
    """Number of relevant documents among those retrieved, divided by the highest possible number: the length
    of the list, or the number of all relevant documents if that is lower.
    """

    name = "set_relative_p"
    title = "set_relative_P"
    measure = kernels.SET_RELATIVE_PRECISION
    summary = "precision of the whole list over the best possible one"


class SetRecall(BinaryMetric):
    """Share of all relevant documents that were retrieved at any rank."""

    name = "set_recall"
    measure = kernels.SET_RECALL
    summary = "recall of the whole list"


class SetAveragePrecision(BinaryMetric):
    """Precision of all retrieved documents multiplied by their recall, whatever their order."""

    name = "set_map"
    measure = kernels.SET_AVERAGE_PRECISION
    summary = "precision times recall of the whole list"


@dataclass(frozen=True)
class SetF(BinaryMetric):
    """F-measure of precision P and recall R of all retrieved documents: (β + 1) P R / (R + β P)."""

    name = "set_f"
    title = "set_F"
    measure = kernels.SET_F
    summary = "F measure of the whole list"
    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parameter_range(self.name, "beta", self.beta, 0)

    @property
    def metric_formula_parameter(self) -> float:
        """The weight β in the F-measure."""
        return float(self.beta)


@dataclass(frozen=True)
class RankBiasedPrecision(BinaryMetric):
    """Rank-biased precision (Moffat and Zobel, 2008): (1 − p) Σ p^(i − 1), summed over the ranks i of the
    relevant documents.

    `p` is the probability that a reader goes on to the next document. trec_eval 10 gives graded judgements a
    share of the gain; here a document is relevant from grade `rel` on, or not, as in RBP(p, rel) of
    ir_measures.
    """

    name = "rbp"
    title = "RBP"
    oracle = ""  # ir_measures computes it with cwl-eval, whose numbers the tests contain
    measure = kernels.RANK_BIASED_PRECISION
    summary = "rank-biased precision with persistence p"
    p: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parameter_range(self.name, "p", self.p, 0, 1)

    @property
    def metric_formula_parameter(self) -> float:
        """The probability that a reader goes on to the next document."""
        return float(self.p)


@dataclass(frozen=True)
class ExpectedReciprocalRank(CutMetric):
    """Expected reciprocal rank (Chapelle et al., 2009): a reader stops at some rank among the first k, and
    the metric is the expected value of 1 / rank.

    A document of grade g stops the reader with probability (2^g − 1) / 2^highest. Equals gdeval.pl, whose
    highest grade is 4 whatever grades there are.
    """

    name = "err"
    title = "ERR"
    oracle = "gdeval.pl 1.2a"
    measure = kernels.EXPECTED_RECIPROCAL_RANK
    summary = "expected reciprocal rank of the first k"
    k: int = 20
    highest: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parameter_range(self.name, "highest", self.highest, 1, 30)

    @property
    def min_relevant_grade(self) -> int:
        """The highest possible grade. This metric has no lowest relevant grade, so the compiled function
        expects the highest one in its place.
        """
        return self.highest


class Judged(CutMetric):
    """Share of the first k documents that have a relevance judgement. A shorter list is taken as a whole."""

    name = "judged"
    title = "Judged"
    oracle = "ir_measures 0.4.3"
    measure = kernels.JUDGED
    summary = "share of the first k that is judged"


PAPER_CUTOFFS = (5, 10, 15, 20, 30)
# The 23 measures of Deviyani and Diaz (2025): the default set for rankings.
PAPER_MEASURES = (
    AveragePrecision(),
    RPrecision(),
    ReciprocalRank(),
    *(InterpolatedPrecision(level=level) for level in (0.0, 0.1, 0.2, 0.3, 0.4)),
    *(Precision(k=k) for k in PAPER_CUTOFFS),
    *(Recall(k=k) for k in PAPER_CUTOFFS),
    *(CutNDCG(k=k) for k in PAPER_CUTOFFS),
)
