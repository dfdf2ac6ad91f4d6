"""Results as people read them: metrics by their labels, and those that decide alike as one opinion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

from metassay.metrics.registry import labels_of

Labels = Mapping[str, "Label"]
Content = TypeVar("Content")
_NAMES = frozenset({"metric", "metrics", "choice", "robust_choice", "top_group", "behind", "pareto", "by"})
"""Keys under which results name a metric, a list of them, or one for each column."""
_LISTS = ("metrics", "top_group", "behind", "pareto")
_COMPARED = frozenset({"a", "b"})
"""Keys of two metrics that are compared; where the row is about one metric they are systems."""
_CLAIMED = frozenset({"better", "worse"})
"""Keys of two metrics in a claim about a context; elsewhere they are systems."""
_KEYED = frozenset({"trend", "trend_p", "cost", "cost_class", "price"})
"""Keys of mappings from metrics."""
_SENTENCES = frozenset({"why", "sentence", "sentences", "x", "y"})
_AS_ASKED = frozenset({"manifest", "notes", "warnings"})
"""Keys of what people may want to type again, where specs stay."""

EQUAL = " = "
"""Between the names of metrics that decided every pair alike."""


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


def in_labels(result: Content) -> Content:
    """A result (its JSON object, or a list of rows) with every metric under its label, in sentences too.

    Two metrics of one result never share a label: those that would keep their specs. Metrics that decided
    every pair alike (`same_decisions`) stand on one line, under all their labels.
    """
    found = {spec: Label(label, spec) for spec, label in labels_of(sorted(set(_specs(result)))).items()}
    groups = result.get("same_decisions") if isinstance(result, Mapping) else None
    if not groups:
        shown: Content = _shown(result, found)
        return shown
    first = {metric: group[0] for group in groups for metric in group}
    together = {
        group[0]: Label(_together([found.get(metric, metric) for metric in group]), EQUAL.join(group))
        for group in groups
    }
    one: Content = _one_opinion(result, first)
    shown = _shown(one, {**found, **together})
    if isinstance(result, Mapping) and isinstance(shown, dict) and isinstance(result.get("metrics"), list):
        shown["metrics"] = _shown(result["metrics"], found)  # each has a signature of its own
    return shown


def _together(names: Sequence[str], at_most: int = 3) -> str:
    """`WIL = WIP`; of many names the first, and how many more."""
    more = [f"{len(names) - at_most + 1} more"] if len(names) > at_most else []
    return EQUAL.join([*names[: at_most - 1], *more] if more else names)


def _one_opinion(value: Any, first: Mapping[str, str], key: str = "") -> Any:
    """A result in which the first of each group stands for all of it."""
    if isinstance(value, Mapping):
        if key in _KEYED:
            return {name: inner for name, inner in value.items() if first.get(name, name) == name}
        inside = {k: v if k in _AS_ASKED else _one_opinion(v, first, k) for k, v in value.items()}
        if isinstance(value.get("matrix"), list) and isinstance(value.get("metrics"), list):
            kept = [n for n, name in enumerate(value["metrics"]) if first.get(name, name) == name]
            inside["matrix"] = [[value["matrix"][i][j] for j in kept] for i in kept]
        return inside
    if isinstance(value, list | tuple):
        if key in _LISTS and all(isinstance(name, str) for name in value):
            return list(dict.fromkeys(first.get(name, name) for name in value))
        choices = key == "exceptions"  # one row for each context, not for each metric
        return [_one_opinion(each, first, key) for each in value if choices or not _repeated(each, first)]
    return first.get(value, value) if key in _NAMES and isinstance(value, str) else value


def _repeated(row: Any, first: Mapping[str, str]) -> bool:
    """Whether a row is about a metric for which another stands."""
    if not isinstance(row, Mapping):
        return False
    names = [row.get("metric"), *((row.get("better"), row.get("worse")) if "context" in row else ())]
    return any(isinstance(name, str) and first.get(name, name) != name for name in names)


def _specs(value: Any) -> Iterator[str]:
    """Every metric that rows are about."""
    if isinstance(value, Mapping):
        lists = [value[key] for key in _LISTS if isinstance(value.get(key), list | tuple)]
        for name in (value.get("metric"), *(name for names in lists for name in names)):
            if isinstance(name, str):
                yield name
        value = [inner for key, inner in value.items() if key not in _AS_ASKED]
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _specs(inner)


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
    if key in _AS_ASKED:
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
