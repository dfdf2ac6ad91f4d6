"""Choosing a metric: one for all contexts, another only where it is shown to be more accurate.

Without the choice of a run (a table of accuracies, or a user's own criteria) each context has a choice of its
own: among the most accurate metrics there the most stable, then the cheapest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from metassay.meta.contexts.robustness import net_spread, robust_accuracy
from metassay.metrics.base import COST_CLASSES
from metassay.results.assay import GLOBAL, ContextStatistics, Recommendation
from metassay.stats.arrays import BoolArray, FloatArray

Criteria = Mapping[str, Mapping[str, float]]
"""A user's own criteria, the most important first: by name, a number per metric, higher is better."""
STABILITY_STEP = 0.01
"""Standard deviations between contexts that differ by less are equally stable."""
_TIE_DECIMALS = 12  # accuracies that differ only in later decimals are equal


@dataclass(frozen=True)
class ChoiceTable:
    """Accuracies [metrics, contexts], "global" first, and what decides between equally accurate metrics.

    `may_be_best` marks the metrics that may be the best in a context, `is_behind` those that are clearly less
    accurate there than another of them. `spread` is how much a metric's true accuracy varies between
    contexts; `robust_accuracy` and `worst_case` are its accuracy under the least favourable mix of contexts
    and in the least favourable context. `cost_classes` has the class of each metric (`COST_CLASSES`).
    `uninformed` metrics know nothing of quality: they come last, and are chosen only if there is no other.
    """

    metrics: tuple[str, ...]
    contexts: tuple[str, ...]
    accuracy: FloatArray
    may_be_best: BoolArray
    is_behind: BoolArray
    spread: FloatArray
    robust_accuracy: FloatArray
    worst_case: FloatArray
    cost_classes: Mapping[str, str] = field(default_factory=dict)
    criteria: Criteria = field(default_factory=dict)
    uninformed: frozenset[str] = frozenset()

    def select_informed(self, positions: Sequence[int]) -> list[int]:
        """Select the positions of metrics that are not uninformed; all of them if every one is."""
        informed = [m for m in positions if self.metrics[m] not in self.uninformed]
        return informed or list(positions)


@dataclass(frozen=True)
class RunChoice:
    """The choice of a run: `metric` everywhere, except where others are shown to be ahead of it.

    `ahead` has these others by context. `human_top_group` is given where the choice follows human pairs: the
    metrics that these do not put behind it.
    """

    metric: str
    ahead: Mapping[str, Sequence[str]] = field(default_factory=dict)
    human_top_group: Sequence[str] | None = None


def cost_rank(cost_class: str | None) -> float:
    """Return the rank of a cost class, 0 the cheapest; infinity where it is not known."""
    return COST_CLASSES.index(cost_class) if cost_class in COST_CLASSES else np.inf


def round_spread(spread: FloatArray) -> FloatArray:
    """Round spreads between contexts to whole steps, so that nearly equal ones are equal."""
    return np.asarray(np.round(spread / STABILITY_STEP))


def build_exact_table(
    metrics: Sequence[str],
    contexts: Sequence[str],
    accuracy: FloatArray,
    shares: FloatArray | None = None,
    *,
    cost_classes: Mapping[str, str] | None = None,
    criteria: Criteria | None = None,
) -> ChoiceTable:
    """Build a table from accuracies that are known exactly, [metrics, contexts]; "global" is their mean.

    `shares` weighs the contexts.
    """
    accuracy = np.asarray(accuracy, dtype=np.float64)
    weights = np.full(len(contexts), 1.0) if shares is None else np.asarray(shares, dtype=np.float64)
    overall = np.round(accuracy @ (weights / weights.sum()), _TIE_DECIMALS)
    with_global = np.column_stack([overall, accuracy])
    return ChoiceTable(
        metrics=tuple(metrics),
        contexts=(GLOBAL, *contexts),
        accuracy=with_global,
        may_be_best=with_global >= with_global.max(axis=0),
        is_behind=np.zeros(with_global.shape, dtype=np.bool_),
        spread=net_spread(accuracy, np.zeros_like(accuracy)),
        robust_accuracy=robust_accuracy(accuracy, weights),
        worst_case=accuracy.min(axis=1),
        cost_classes=cost_classes or {},
        criteria=criteria or {},
    )


def read_choice_table(result: ContextStatistics, column: str, criteria: Criteria) -> ChoiceTable:
    """Read the table of one column from a result, to choose anew by the user's own criteria."""
    metrics = tuple(row.metric for row in result.overall)
    rows = {(row.context, row.metric): row for row in result.contexts[column].local_accuracy}
    rows |= {(GLOBAL, row.metric): row for row in result.overall}
    recommendations = result.recommendation[column]
    contexts = (GLOBAL, *dict.fromkeys(row.context for row in result.contexts[column].local_accuracy))
    robustness = {row.metric: row for row in result.contexts[column].robustness}
    accuracy = [[rows[context, metric].accuracy for context in contexts] for metric in metrics]
    return ChoiceTable(
        metrics=metrics,
        contexts=contexts,
        accuracy=np.array(accuracy, dtype=np.float64),  # None becomes NaN
        may_be_best=np.array(
            [[metric in recommendations[context].top_group for context in contexts] for metric in metrics]
        ),
        is_behind=np.array(
            [[metric in recommendations[context].behind for context in contexts] for metric in metrics]
        ),
        spread=np.array([robustness[metric].stability for metric in metrics], dtype=np.float64),
        robust_accuracy=np.array(
            [robustness[metric].robust_accuracy for metric in metrics], dtype=np.float64
        ),
        worst_case=np.array([robustness[metric].worst_case for metric in metrics], dtype=np.float64),
        cost_classes=result.cost_class,
        criteria=criteria,
    )


def choose_first_metric(
    accuracy: FloatArray,
    may_be_best: BoolArray,
    is_behind: BoolArray,
    cost_ranks: FloatArray,
    is_uninformed: BoolArray | None = None,
) -> int:
    """Choose the metric to use over all contexts: of those that may be best the cheapest, then most accurate.

    Metrics behind another of them come later, uninformed ones last. `cost_ranks` are ranks of cost classes,
    so that only classes break ties.
    """
    rounded = np.nan_to_num(np.round(accuracy, _TIE_DECIMALS), nan=-1).tolist()
    if is_uninformed is None:
        is_uninformed = np.zeros(len(rounded), dtype=np.bool_)
    uninformed = is_uninformed

    def preference(m: int) -> tuple[bool, bool, bool, float, float, int]:
        cost = float(cost_ranks[m]) if may_be_best[m] else 0.0
        return bool(uninformed[m]), not may_be_best[m], bool(is_behind[m]), cost, -rounded[m], m

    return min(range(len(rounded)), key=preference)


def recommend_metrics(table: ChoiceTable, run_choice: RunChoice | None = None) -> dict[str, Recommendation]:
    """Recommend a metric for every context.

    `metrics` are ordered by accuracy, equal ones by preference: stability (standard deviation between
    contexts, to the nearest hundredth), cost class, the user's criteria, robust accuracy. In `top_group`
    accuracy decides where it is clear (those behind come last), preference where it is not. The choice is
    that of the run, which then comes first in its top groups; else the first of the top group.
    """
    preferences = _preferences(table)
    recommendations = {}
    for c, context in enumerate(table.contexts):
        recommendations[context] = _recommend_for_context(table, c, preferences, run_choice)
    robust_choice = choose_robust_metric(table)
    recommendations[GLOBAL] = msgspec.structs.replace(recommendations[GLOBAL], robust_choice=robust_choice)
    return recommendations


def choose_robust_metric(table: ChoiceTable) -> str | None:
    """Choose the metric to use when the context is not known: highest robust accuracy, then worst case."""
    robust = np.round(table.robust_accuracy, _TIE_DECIMALS).tolist()
    worst_case = table.worst_case.tolist()
    known = table.select_informed([m for m in range(len(table.metrics)) if not np.isnan(robust[m])])
    if not known:
        return None
    best = max(known, key=lambda m: (robust[m], _nan_to_infinity(worst_case[m]), -m))
    return table.metrics[best]


def _preferences(table: ChoiceTable) -> list[tuple[float, ...]]:
    """Return a sort key per metric, the preferred one smallest; what is unknown comes last."""
    spread = round_spread(table.spread).tolist()
    robust = np.round(table.robust_accuracy, _TIE_DECIMALS).tolist()
    keys = []
    for m, metric in enumerate(table.metrics):
        by_criteria = [-numbers.get(metric, -np.inf) for numbers in table.criteria.values()]
        cost = cost_rank(table.cost_classes.get(metric))
        keys.append((_nan_to_infinity(spread[m]), cost, *by_criteria, _nan_to_infinity(-robust[m])))
    return keys


def _recommend_for_context(
    table: ChoiceTable, context: int, preferences: list[tuple[float, ...]], run_choice: RunChoice | None
) -> Recommendation:
    accuracy = np.round(table.accuracy[:, context], _TIE_DECIMALS).tolist()
    positions = range(len(table.metrics))
    by_accuracy = sorted(
        positions,
        key=lambda m: (
            table.metrics[m] in table.uninformed,
            _nan_to_infinity(-accuracy[m]),
            preferences[m],
            m,
        ),
    )
    ordered_metrics = [table.metrics[m] for m in by_accuracy]
    if run_choice is not None and run_choice.human_top_group is not None:
        return Recommendation(
            metrics=ordered_metrics,
            top_group=list(run_choice.human_top_group),
            behind=[],
            choice=run_choice.metric,
        )
    chosen = None if run_choice is None else _apply_run_choice(table, context, by_accuracy, run_choice)
    candidates = table.select_informed([m for m in positions if table.may_be_best[m, context]])
    top = sorted(
        candidates,
        key=lambda m: (m != chosen, table.is_behind[m, context], preferences[m], -accuracy[m], m),
    )
    if chosen is None and top:
        chosen = top[0]
    return Recommendation(
        metrics=ordered_metrics,
        top_group=[table.metrics[m] for m in top],
        behind=[table.metrics[m] for m in top if table.is_behind[m, context]],
        choice=None if chosen is None else table.metrics[chosen],
    )


def _apply_run_choice(
    table: ChoiceTable, context: int, by_accuracy: list[int], run_choice: RunChoice
) -> int | None:
    """Return the most accurate metric shown to be ahead of the run's choice here, else the run's choice.

    None where it scored no pair here.
    """
    ahead = run_choice.ahead.get(table.contexts[context], ())
    wanted = [m for m in by_accuracy if table.metrics[m] in ahead]
    wanted += [m for m in by_accuracy if table.metrics[m] == run_choice.metric]
    for m in wanted:
        if not np.isnan(table.accuracy[m, context]):
            return m
    return None


def find_pareto_front(table: ChoiceTable) -> list[str] | None:
    """Find the metrics that no other beats in both accuracy and cost class; None without cost classes."""
    if not table.cost_classes:
        return None
    costs = np.array([cost_rank(table.cost_classes.get(metric)) for metric in table.metrics])
    costs = np.where(np.isinf(costs), np.nan, costs)
    return [table.metrics[m] for m in np.flatnonzero(is_unbeaten(table.accuracy[:, 0], costs))]


def is_unbeaten(accuracy: FloatArray, cost: FloatArray) -> BoolArray:
    """Mark the metrics such that none is at least as accurate and as cheap, and better in one of both."""
    at_least_as_good = (accuracy[:, None] >= accuracy) & (cost[:, None] <= cost)
    better_in_one = (accuracy[:, None] > accuracy) | (cost[:, None] < cost)
    is_beaten = (at_least_as_good & better_in_one).any(axis=0)
    return np.asarray(~is_beaten & ~np.isnan(accuracy) & ~np.isnan(cost))


def _nan_to_infinity(value: float) -> float:
    return float("inf") if np.isnan(value) else float(value)
