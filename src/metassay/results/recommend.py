"""Result of `recommend`: which metric to use in each context of a run."""

from __future__ import annotations

import msgspec

from metassay.results.assay import (
    HumanComparison,
    MetricRobustness,
    OverallRecommendation,
    Recommendation,
    SharedErrors,
)
from metassay.results.base import ResultStruct
from metassay.results.verdict import Claim


class RecommendContent(ResultStruct, frozen=True, kw_only=True):
    """The result of the command `metassay recommend`: the metric to use in each context, such as a domain,
    with reasons.

    `answer` is None where the user's own criteria decide, because then each context has a choice of its own.
    `seconds` are seconds per 1,000 outputs, for information: no choice depends on them.
    """

    answer: OverallRecommendation | None
    recommendation: dict[str, dict[str, Recommendation]]
    robust_choice: dict[str, str | None]
    robustness: dict[str, list[MetricRobustness]]
    cost_class: dict[str, str]
    price: dict[str, list[float]]
    seconds: dict[str, float] = msgspec.field(name="cost")
    pareto: list[str] | None
    same_decisions: list[list[str]]
    shared_errors: SharedErrors
    human_comparison: HumanComparison | None = msgspec.field(name="people")
    task: str
    verdict: list[Claim]
    """Empty where the user's own criteria decide."""
