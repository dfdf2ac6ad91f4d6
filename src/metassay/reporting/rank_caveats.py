"""Notes on a ranking of metrics against people, such as which metrics were left out."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.meta.people.caveats import (
    MissingSpans,
    PermutedMetrics,
    RankingCaveat,
    ReplacedMetaMetrics,
    SmallContexts,
    SparseMetrics,
    TooLittleData,
)
from metassay.reporting.insufficient_data import describe_insufficient_data
from metassay.reporting.wording import join_first_names

MOST_NAMED_CONTEXTS = 5


def list_caveats_as_notes(dataset: str, caveats: Sequence[RankingCaveat], human: str) -> list[str]:
    """Write a note for each caveat of a ranking of metrics on a data set."""
    return [f"{dataset}: {_describe_caveat(caveat, human)}." for caveat in caveats]


def _describe_caveat(caveat: RankingCaveat, human: str) -> str:
    match caveat:
        case SparseMetrics(item_counts=counts, largest_item_count=most):
            metrics = ", ".join(f"{metric} ({count})" for metric, count in counts.items())
            return f"metrics with scores for less than half of the {most} segments were left out: {metrics}"
        case SmallContexts(column=column, contexts=contexts, fewest_items=fewest):
            names = join_first_names(contexts, MOST_NAMED_CONTEXTS)
            return f"contexts with fewer than {fewest} segments were left out: {column} {names}"
        case ReplacedMetaMetrics(replaced=replaced, substitute=substitute):
            return (
                f"there is only one system, so metrics are ranked by {substitute} over items instead of "
                f"{', '.join(replaced)}"
            )
        case PermutedMetrics():
            metrics = "all metrics" if caveat.metrics is None else ", ".join(caveat.metrics)
            return (
                f"the p-values of {caveat.meta_metric.upper()} for {metrics} come from {caveat.permutations} "
                f"permutations. The closed form would be off by up to {caveat.largest_error:.3f} per pair of "
                "systems, because a few items account for most differences"
            )
        case TooLittleData(meta_metric=meta_metric, reason=reason):
            too_few = describe_insufficient_data(reason, human)
            return f"{too_few} to compute intervals of {meta_metric} or to name a best metric"
        case MissingSpans(metric=metric, ratings_with_spans=scored, ratings=ratings):
            return f"{metric} has spans for the outputs of {scored} of {ratings} ratings"
