"""Labels of metrics: how pages, tables and the terminal write the metrics of a result.

Results, JSON and input use specs (`chrf(word_order=2)`); people read labels in the spelling of the field
(`chrF++`). Labels are looked up where a text or a table is written, never stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Self

from metassay.metrics.labels import get_metric_labels

# Stands between the labels of metrics that decided every pair alike.
EQUALITY_SIGN = " = "
_LONGEST_GROUP = 3  # labels of metrics that decided alike; of longer groups the rest are counted


class MetricLabel(str):
    """The label of a metric as people read it, such as `chrF++`. It is a string that also stores the spec,
    such as `chrf(word_order=2)`.
    """

    spec: str
    __slots__ = ("spec",)

    def __new__(cls, label: str, spec: str) -> Self:
        """Create a label that stores the spec of its metric."""
        instance = super().__new__(cls, label)
        instance.spec = spec
        return instance

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return the arguments with which `copy` and `pickle` create the label again."""
        return super().__str__(), self.spec

    def __str__(self) -> str:
        """Return the label itself instead of a plain string, so that it keeps the spec."""
        return self


class MetricLabels:
    """The labels of all metrics on a page or in a table. No two metrics have the same label.

    `same_decisions` are groups of metrics that decided every pair alike, such as `wil` and `wip`. The
    first of a group stands for all of it, and its label names all (`WIL = WIP`).
    """

    def __init__(self, specs: Iterable[str], same_decisions: Sequence[Sequence[str]] = ()) -> None:
        labels = get_metric_labels(sorted(set(specs)))
        self.single_labels = {spec: MetricLabel(label, spec) for spec, label in labels.items()}
        """The label of each metric by itself, also of metrics in a group."""
        self._labels = dict(self.single_labels)
        self._representatives: dict[str, str] = {}
        for group in same_decisions:
            for spec in group:
                self._representatives[spec] = group[0]
            labels_in_group = [self.single_labels.get(spec, spec) for spec in group]
            self._labels[group[0]] = MetricLabel(
                _join_labels_of_equal_metrics(labels_in_group), EQUALITY_SIGN.join(group)
            )

    def __getitem__(self, spec: str) -> str:
        """Return the label of a metric. A name that is not a metric of this page is returned unchanged."""
        return self._labels.get(self.get_representative_metric(spec), spec)

    def list_labels_of_metrics(self, metric_specs: Iterable[str]) -> list[str]:
        """Return the labels of several metrics, each once. Metrics that make the same decision on every pair
        of outputs share one label.
        """
        return list(dict.fromkeys(self[spec] for spec in metric_specs))

    def get_representative_metric(self, metric_spec: str) -> str:
        """Return the metric that stands for a group of metrics with the same decision on every pair of
        outputs. A metric without such a group stands for itself.
        """
        return self._representatives.get(metric_spec, metric_spec)

    def replace_specs_by_labels(self, text: str) -> str:
        """Replace metric specs such as `chrf(word_order=2)` in a sentence by labels such as `chrF++`.

        A word after `on`, `under` or `its` is a context, a perturbation or a criterion, not a metric.
        """
        if not self._labels:
            return text
        # Longer specs first, because the first alternative that matches is taken: `chrf(word_order=2)` before
        # `chrf`.
        specs = "|".join(re.escape(spec) for spec in sorted(self._labels, key=len, reverse=True))
        pattern = rf"(?<!on )(?<!under )(?<!its )(?<![\w(=.])(?:{specs})(?![\w(=])"
        return re.sub(pattern, lambda match: self[match[0]], text)

    def has_own_table_row(self, metric_spec: str) -> bool:
        """Return whether tables have a row for a metric. They do not if a metric that makes the same
        decisions stands for it.
        """
        return self.get_representative_metric(metric_spec) == metric_spec


def _join_labels_of_equal_metrics(labels: Sequence[str]) -> str:
    """Join the labels of metrics that make the same decision on every pair of outputs, as in `WIL = WIP`. Of
    many labels, the last are counted.
    """
    if len(labels) <= _LONGEST_GROUP:
        return EQUALITY_SIGN.join(labels)
    shown = labels[: _LONGEST_GROUP - 1]
    return EQUALITY_SIGN.join([*shown, f"{len(labels) - len(shown)} more"])
