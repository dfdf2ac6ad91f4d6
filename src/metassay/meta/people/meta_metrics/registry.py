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
# Meta-metrics of metassay, as `module:class` in this package.
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
# Named among meta-metrics although it compares marked errors, not scores (`meta.people.span_ranking`).
SPANS = "spans"
SPANS_LABEL = "span F1"
SPANS_SUMMARY = "F1 of the characters that metric and people mark as errors"


def list_meta_metric_names() -> list[str]:
    """List the names of all meta-metrics (measures of agreement with human scores), including those of
    plug-ins.
    """
    return [*BUILT_IN, *plugins.list_entry_points(ENTRY_POINT_GROUP), SPANS]


def load_meta_metric_classes() -> dict[str, type[MetaMetric]]:
    """Return a dictionary from the name of each meta-metric to its class."""
    classes = {name: _load_built_in_meta_metric(name) for name in BUILT_IN}
    for name in plugins.list_entry_points(ENTRY_POINT_GROUP):
        classes.setdefault(name, _load_plugin_meta_metric(name))
    return classes


def parse_meta_metrics(specifications: str | Iterable[str]) -> tuple[MetaMetric, ...]:
    """Create meta-metrics from a list of names, or from a string such as `spa,pa,kendall:segment`.

    >>> [str(meta_metric) for meta_metric in parse_meta_metrics("spa,pearson:item")]
    ['spa', 'pearson:item']
    """
    texts = [specifications] if isinstance(specifications, str) else list(specifications)
    parts = [part for text in texts for part in text.split(",") if part.strip()]
    meta_metrics = tuple(dict.fromkeys(parse_meta_metric(part) for part in parts))
    if not meta_metrics:
        raise InputError("no meta-metric was named.", remedy="Try --meta spa.")
    return meta_metrics


def parse_meta_metric(specification: str) -> MetaMetric:
    """Create a meta-metric from its name, with an optional level as in `pearson:item`."""
    name, _, level = specification.strip().lower().partition(":")
    if name in BUILT_IN:
        meta_metric_class = _load_built_in_meta_metric(name)
    elif name in plugins.list_entry_points(ENTRY_POINT_GROUP):
        meta_metric_class = _load_plugin_meta_metric(name)
    else:
        raise UnknownName("meta-metric", specification.strip(), list_meta_metric_names())
    return meta_metric_class(level)


def get_meta_metric_label(specification: str) -> str:
    """Return the label of a meta-metric in reports: `Pearson (item level)` for `pearson:item`.

    A meta-metric that is not installed here keeps its name.
    """
    if specification == SPANS:
        return SPANS_LABEL
    try:
        meta_metric = parse_meta_metric(specification)
    except InputError:
        return specification
    label = meta_metric.label or meta_metric.name
    return label if meta_metric.level == meta_metric.levels[0] else f"{label} ({meta_metric.level} level)"


def _load_built_in_meta_metric(name: str) -> type[MetaMetric]:
    """Import the class of a meta-metric that is part of metassay."""
    module, _, class_name = BUILT_IN[name].partition(":")
    package = importlib.import_module(f"metassay.meta.people.meta_metrics.{module}")
    meta_metric_class: type[MetaMetric] = getattr(package, class_name)
    return meta_metric_class


def _load_plugin_meta_metric(name: str) -> type[MetaMetric]:
    """Load the class of a meta-metric from a plug-in; raise an error if it is not a `MetaMetric`."""
    from metassay.meta.people.meta_metrics.base import MetaMetric

    meta_metric_class = plugins.load_entry_point(ENTRY_POINT_GROUP, name)
    if not isinstance(meta_metric_class, type) or not issubclass(meta_metric_class, MetaMetric):
        raise InputError(
            f"the plug-in {name} (metassay.{ENTRY_POINT_GROUP}) is not a MetaMetric.",
            remedy="Derive its class from metassay.MetaMetric.",
        )
    return meta_metric_class
