"""Which metrics exist, and from text to metric and back."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Iterable
from typing import Any

from metassay import plugins
from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Metric
from metassay.metrics.spec import parse_spec, split_list

MODULES = ("bleu", "chrf", "error_rates", "sentinels")
"""The modules of this package that define metrics; each lists its classes in `METRICS`."""

ALIASES = {"chrf++": ("chrf", {"word_order": 2})}
"""Other spellings of a metric with parameters."""


@functools.cache
def known_metrics() -> dict[str, type[Metric]]:
    """Every metric class by lower-case name: ours, then those of installed packages."""
    found: dict[str, type[Metric]] = {}
    for module in MODULES:
        for metric in importlib.import_module(f"metassay.metrics.{module}").METRICS:
            found[metric.name.lower()] = metric
    for name, metric in plugins.installed("metrics").items():
        found.setdefault(name.lower(), metric)
    return found


def parse_metric(text: str | Metric) -> Metric:
    """The metric that a spec names: `parse_metric(str(metric)) == metric`."""
    if isinstance(text, Metric):
        return text
    name, parameters = parse_spec(text)
    if name in ALIASES:
        name, implied = ALIASES[name]
        parameters = implied | parameters
    family = known_metrics().get(name)
    if family is None:
        raise UnknownName("metric", text, known_metrics())
    return _with_parameters(family, parameters)


def parse_metrics(texts: str | Metric | Iterable[str | Metric]) -> tuple[Metric, ...]:
    """Several metrics, from a comma-separated text or any mixture of texts and metrics; none twice."""
    parts: list[str | Metric] = []
    for text in [texts] if isinstance(texts, str | Metric) else texts:
        parts.extend(split_list(text) if isinstance(text, str) else [text])
    metrics = tuple(parse_metric(part) for part in parts)
    if not metrics:
        raise InputError("no metric was named.", remedy="See: metassay list metrics")
    names = [metric.spec for metric in metrics]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(f"{', '.join(sorted(twice))} is asked for twice.")
    return metrics


def _with_parameters(family: type[Metric], parameters: dict[str, Any]) -> Metric:
    fields = {f.name: f for f in dataclasses.fields(family)}
    for key in parameters:
        if key not in fields:
            raise UnknownName(f"parameter of {family.name}", key, fields)
    return family(**parameters)
