"""What "agrees with people" can mean: the meta-metrics, by name and level.

| name | level | agreement of |
|---|---|---|
| `spa`, `pa` | system | the orders of systems |
| `pearson`, `spearman`, `kendall` (b), `kendall_c` | system | mean scores of systems |
| `pearson:segment` and the like | segment | all cells of systems x segments at once |
| `pearson:item` and the like | item | the systems' scores within one segment, averaged over segments |
| `pearson:per_system` and the like | per_system | the segments of one system, averaged over systems |
| `acc_eq` | item | better, worse or tied within one segment |

`spans`, the agreement of marked errors, is no function of scores: see `metassay.meta.people.span_ranking`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from metassay.errors import InputError, UnknownName
from metassay.meta.people.meta_metrics.acc_eq import CalibratedAccuracy
from metassay.meta.people.meta_metrics.base import Differences, MetaMetric, Procedure
from metassay.meta.people.meta_metrics.correlation_levels import (
    CORRELATIONS,
    LEVELS,
    ItemCorrelation,
    PerSystemCorrelation,
    SegmentCorrelation,
    SystemCorrelation,
)
from metassay.meta.people.meta_metrics.soft_pairwise_accuracy import PairwiseAccuracy, SoftPairwiseAccuracy

__all__ = ["META_METRICS", "Differences", "MetaMetric", "Procedure", "meta_metric", "parse_meta"]

_KINDS = (SystemCorrelation, SegmentCorrelation, ItemCorrelation, PerSystemCorrelation)
META_METRICS: Mapping[str, MetaMetric] = {
    str(meta): meta
    for meta in (
        SoftPairwiseAccuracy(),
        PairwiseAccuracy(),
        CalibratedAccuracy(),
        *(kind(name) for name in CORRELATIONS for kind in _KINDS),
    )
}
"""Every meta-metric by its name, `NAME` or `NAME:LEVEL`."""


def parse_meta(texts: str | Iterable[str]) -> tuple[MetaMetric, ...]:
    """Meta-metrics from `spa,pa,kendall:segment` or a list of such names.

    >>> [str(meta) for meta in parse_meta("spa,pearson:item")]
    ['spa', 'pearson:item']
    """
    parts = texts.split(",") if isinstance(texts, str) else [p for text in texts for p in text.split(",")]
    found = tuple(dict.fromkeys(meta_metric(part) for part in parts if part.strip()))
    if not found:
        raise InputError("no meta-metric was named.", remedy="Try --meta spa.")
    return found


def meta_metric(text: str) -> MetaMetric:
    """The meta-metric of a name, which may say the level: `pearson:item`."""
    name, _, level = text.strip().lower().partition(":")
    family = {meta.level: meta for meta in META_METRICS.values() if meta.name == name}
    if not family:
        raise UnknownName(
            "meta-metric", text.strip(), [*dict.fromkeys(m.name for m in META_METRICS.values()), "spans"]
        )
    usual = next(iter(family))
    if level and level not in LEVELS:
        raise UnknownName("level", level, LEVELS)
    if level and level not in family:
        raise InputError(f"{name} is defined at {usual} level only.", remedy=f"Write it as {name}.")
    return family[level or usual]
