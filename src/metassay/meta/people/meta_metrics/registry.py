"""Find meta-metrics by name: those of metassay and those of other packages.

Modules are imported when a meta-metric is used, so that listing names is fast.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from metassay import plugins
from metassay.errors import InputError, UnknownName

if TYPE_CHECKING:
    from metassay.meta.people.meta_metrics.base import MetaMetric

ENTRY_POINT_GROUP = "meta_metrics"
BUILT_IN = {
    "spa": "soft_pairwise_accuracy:SoftPairwiseAccuracy",
    "pa": "pairwise_accuracy:PairwiseAccuracy",
    "acc_eq": "acc_eq:AccuracyWithTies",
    "labels_saved": "labels_saved:LabelsSavedShare",
    "pearson": "pearson:Pearson",
    "spearman": "spearman:Spearman",
    "kendall": "kendall:Kendall",
    "kendall_c": "kendall_c:KendallC",
}
"""Meta-metrics of metassay, as `module:class` in this package."""
SPANS = "spans"
"""Named among meta-metrics although it compares marked errors, not scores (`meta.people.span_ranking`)."""
SPANS_LABEL = "span F1"
SPANS_SUMMARY = "F1 of the characters that metric and people mark as errors"


def list_meta_metric_names() -> list[str]:
    """List the names of all meta-metrics, those of other packages and `spans` included."""
    return [*BUILT_IN, *plugins.list_entry_points(ENTRY_POINT_GROUP), SPANS]


def load_meta_metric_classes() -> dict[str, type[MetaMetric]]:
    """Load the classes of all meta-metrics by name."""
    classes = {name: _load_built_in(name) for name in BUILT_IN}
    for name in plugins.list_entry_points(ENTRY_POINT_GROUP):
        classes.setdefault(name, _load_plugin(name))
    return classes


def parse_meta_metrics(names: str | Iterable[str]) -> tuple[MetaMetric, ...]:
    """Parse `spa,pa,kendall:segment`, or a list of such names.

    >>> [str(meta_metric) for meta_metric in parse_meta_metrics("spa,pearson:item")]
    ['spa', 'pearson:item']
    """
    texts = [names] if isinstance(names, str) else list(names)
    parts = [part for text in texts for part in text.split(",") if part.strip()]
    meta_metrics = tuple(dict.fromkeys(parse_meta_metric(part) for part in parts))
    if not meta_metrics:
        raise InputError("no meta-metric was named.", remedy="Try --meta spa.")
    return meta_metrics


def parse_meta_metric(text: str) -> MetaMetric:
    """Parse the name of a meta-metric, which may name the level: `pearson:item`."""
    name, _, level = text.strip().lower().partition(":")
    if name in BUILT_IN:
        meta_metric_class = _load_built_in(name)
    elif name in plugins.list_entry_points(ENTRY_POINT_GROUP):
        meta_metric_class = _load_plugin(name)
    else:
        raise UnknownName("meta-metric", text.strip(), list_meta_metric_names())
    return meta_metric_class(level)


def label_meta_metric(text: str) -> str:
    """Return the name of a meta-metric as reports write it: `Pearson (item level)` for `pearson:item`.

    A meta-metric that is not installed here keeps its name.
    """
    if text == SPANS:
        return SPANS_LABEL
    try:
        meta_metric = parse_meta_metric(text)
    except InputError:
        return text
    label = meta_metric.label or meta_metric.name
    return label if meta_metric.level == meta_metric.levels[0] else f"{label} ({meta_metric.level} level)"


def _load_built_in(name: str) -> type[MetaMetric]:
    module, _, class_name = BUILT_IN[name].partition(":")
    package = importlib.import_module(f"metassay.meta.people.meta_metrics.{module}")
    meta_metric_class: type[MetaMetric] = getattr(package, class_name)
    return meta_metric_class


def _load_plugin(name: str) -> type[MetaMetric]:
    """Load the meta-metric that another package announces; refuse what is none."""
    from metassay.meta.people.meta_metrics.base import MetaMetric

    meta_metric_class = plugins.load_entry_point(ENTRY_POINT_GROUP, name)
    if not isinstance(meta_metric_class, type) or not issubclass(meta_metric_class, MetaMetric):
        raise InputError(
            f"the plug-in {name} (metassay.{ENTRY_POINT_GROUP}) is not a MetaMetric.",
            remedy="Derive its class from metassay.MetaMetric.",
        )
    return meta_metric_class
