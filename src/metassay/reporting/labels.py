"""Results as people read them: metrics by their labels instead of their specs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from metassay.metrics.registry import AS_ASKED, labels_in

Labels = Mapping[str, "Label"]
Content = TypeVar("Content")
_NAMES = frozenset({"metric", "metrics", "choice", "robust_choice", "top_group", "behind", "pareto", "by"})
"""Keys under which results name a metric, a list of them, or one for each column."""
_COMPARED = frozenset({"a", "b"})
"""Keys of two metrics that are compared; where the row is about one metric they are systems."""
_CLAIMED = frozenset({"better", "worse"})
"""Keys of two metrics in a claim about a context; elsewhere they are systems."""
_KEYED = frozenset({"trend", "cost"})
"""Keys of mappings from metrics."""
_SENTENCES = frozenset({"why", "sentence", "sentences", "x", "y"})


class Label(str):
    """A metric's label that remembers the spec, for tables that other programs read."""

    spec: str
    __slots__ = ("spec",)

    def __new__(cls, label: str, spec: str) -> Self:
        """The label of a spec."""
        made = super().__new__(cls, label)
        made.spec = spec
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """What a copy is made of."""
        return super().__str__(), self.spec

    def __str__(self) -> str:
        """The label itself, so that `str` does not forget the spec."""
        return self


def in_labels(result: Content, labels: Mapping[str, str] | None = None) -> Content:
    """A result (its JSON object, or a list of rows) with every metric under its label, in sentences too.

    Two metrics of one result never share a label: those that would keep their specs. `labels` are those of
    `labels_in`, where they are known.
    """
    labels = labels_in(result) if labels is None else labels
    shown: Content = _shown(result, {spec: Label(label, spec) for spec, label in labels.items()})
    return shown


def _shown(value: Any, labels: Labels) -> Any:
    if isinstance(value, Mapping):
        compared = _COMPARED if "metric" not in value else frozenset()
        claimed = _CLAIMED if "context" in value else frozenset()
        return {key: _entry(key, inner, labels, _NAMES | compared | claimed) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(inner, labels) for inner in value]
    return value


def _entry(key: str, value: Any, labels: Labels, names: frozenset[str]) -> Any:
    """The value of a key in labels."""
    if key in AS_ASKED:
        return value
    if key in _KEYED and isinstance(value, Mapping):
        return {labels.get(name, name): inner for name, inner in value.items()}
    if key in names:
        return _named(value, labels)
    if key in _SENTENCES:
        return [_said(text, labels) for text in value] if isinstance(value, list) else _said(value, labels)
    return _shown(value, labels)


def _named(value: Any, labels: Labels) -> Any:
    """A metric, or several; rows under a key of that name are gone through as any others."""
    if isinstance(value, str):
        return labels.get(value, value)
    if isinstance(value, Mapping):
        return (
            {key: _named(inner, labels) for key, inner in value.items()}
            if _plain(value.values())
            else _shown(value, labels)
        )
    if isinstance(value, list | tuple):
        return [_named(inner, labels) if isinstance(inner, str) else _shown(inner, labels) for inner in value]
    return value


def _plain(values: Any) -> bool:
    return all(isinstance(value, str | None) for value in values)


def _said(text: Any, labels: Labels) -> Any:
    """A sentence with labels; a word after `on`, `under` or `its` is a context or a method, not a metric."""
    if not isinstance(text, str) or not labels:
        return text
    names = "|".join(re.escape(spec) for spec in sorted(labels, key=len, reverse=True))
    pattern = rf"(?<!on )(?<!under )(?<!its )(?<![\w(=.])(?:{names})(?![\w(=])"
    return re.sub(pattern, lambda match: labels[match[0]], text)
