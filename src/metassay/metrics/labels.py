"""Labels: metrics as people write them, such as `chrF++` for `chrf(word_order=2)`."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from metassay.errors import InputError
from metassay.metrics.registry import find_metric

# Keys of a result under which metrics are listed.
_METRIC_LISTS = ("metrics", "top_group", "behind", "pareto")
_KEYS_WITHOUT_METRICS = frozenset({"manifest", "notes", "warnings"})


@functools.lru_cache(maxsize=4096)
def get_metric_label(metric_spec: str) -> str:
    """Return the name of a metric in reports, such as `chrF++` for `chrf(word_order=2)`.

    Any other name, such as the name of precomputed scores, is returned as it is.
    """
    try:
        metric = find_metric(metric_spec)
    except InputError:
        return metric_spec
    if metric is None or metric.spec != metric_spec:
        return metric_spec
    return metric.label


def get_metric_labels(metric_specs: Iterable[str]) -> dict[str, str]:
    """Return the name of each metric in reports. Metrics that would share a name keep the text that users
    type, such as `chrf(word_order=2)`.
    """
    labels = {spec: get_metric_label(spec) for spec in metric_specs}
    uses = Counter(labels.values())
    distinct = {spec: label if uses[label] == 1 else spec for spec, label in labels.items()}
    # A spec that replaced a shared label may itself be the label of another metric.
    is_unambiguous = len(set(distinct.values())) == len(distinct)
    return distinct if is_unambiguous else {spec: spec for spec in labels}


def find_metric_specs(json_result: Any) -> set[str]:
    """Find the metrics that a result in parsed JSON mentions. Each is returned as users type it, such as
    `chrf(word_order=2)`.
    """
    specs: set[str] = set()
    unread = [json_result]
    while unread:
        value = unread.pop()
        if isinstance(value, list | tuple):
            unread += value
        elif isinstance(value, Mapping):
            unread += [inner for key, inner in value.items() if key not in _KEYS_WITHOUT_METRICS]
            lists = [value[key] for key in _METRIC_LISTS if isinstance(value.get(key), list | tuple)]
            names = (value.get("metric"), *chain.from_iterable(lists))
            specs.update(name for name in names if isinstance(name, str))
    return specs
