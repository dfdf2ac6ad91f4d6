"""`list`: which metrics, perturbations, readers and resources there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from metassay.errors import UnknownName
from metassay.workflows.run_files import SCHEMA_VERSION, Result


@dataclass(frozen=True)
class Listing(Result):
    """Rows that describe what there is."""

    kind: str
    rows: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay list KIND`."""
        return {"schema_version": SCHEMA_VERSION, self.kind: self.rows}

    def to_frame(self) -> pl.DataFrame:
        """The rows as a table."""
        return pl.DataFrame(self.rows, infer_schema_length=None)


def listing(kind: str) -> Listing:
    """What there is of a kind: `metrics`, `perturbations`, `readers` or `resources`."""
    if kind not in KINDS:
        raise UnknownName("list", kind, KINDS)
    return Listing(kind, KINDS[kind]())


def _metrics() -> list[dict[str, Any]]:
    from metassay.metrics.registry import known_metrics, shown_name

    rows = [
        {
            "metric": shown_name(metric),
            "label": shown_name(metric, metric.title or metric.name),
            "task": metric.task,
            "better": "higher" if metric.higher_is_better else "lower",
            "needs": ", ".join(sorted(metric.needs)),
            "equals": metric.oracle or "–",
            "what": metric.summary,
        }
        for metric in known_metrics().values()
    ]
    return sorted(rows, key=lambda row: (row["task"], row["metric"]))


def _perturbations() -> list[dict[str, Any]]:
    from metassay.perturbations.base import known_perturbations, made_for
    from metassay.tasks.registry import known_tasks

    return [
        {
            "perturbation": name,
            "tasks": ", ".join(t.name for t in known_tasks().values() if name in made_for(t)),
            "languages": ", ".join(sorted(perturbation.languages or ())) or "any with spaces",
            "default": "yes" if perturbation.default else "on request",
            "what": perturbation.summary,
        }
        for name, perturbation in sorted(known_perturbations().items())
    ]


def _readers() -> list[dict[str, Any]]:
    from metassay.data.readers.registry import FORMATS, PAIRED, plugged_in

    told = [(reader.name, reader.files, reader.summary) for reader in (*FORMATS, *plugged_in())]
    return [{"reader": name, "files": files, "what": what} for name, files, what in (*told, *PAIRED)]


def _resources() -> list[dict[str, Any]]:
    from metassay.text.resources import known_resources

    return [
        {
            "resource": resource.name,
            "language": resource.language,
            "for": resource.purpose,
            "found": resource.locate(),
            "get": "; ".join(f"{system}: {how}" for system, how in resource.get.items()),
        }
        for resource in known_resources()
    ]


KINDS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "metrics": _metrics,
    "perturbations": _perturbations,
    "readers": _readers,
    "resources": _resources,
}
