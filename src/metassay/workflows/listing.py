"""`list`: which metrics, perturbations, readers and resources there are; `cache`: which scores runs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from metassay.errors import InputError, UnknownName
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


@dataclass(frozen=True)
class CacheState(Result):
    """What is in a cache of scores: a row for each metric as it is with certain libraries."""

    folder: str
    rows: list[dict[str, Any]]
    removed: int = 0
    broken: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """The size of all parts."""
        return sum(row["bytes"] for row in self.rows)

    @property
    def parts(self) -> int:
        """The number of parts that are whole, as far as one has looked."""
        return sum(row["parts"] for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay cache ACTION`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "folder": self.folder,
            "parts": self.parts,
            "bytes": self.bytes,
            "metrics": self.rows,
            "removed": self.removed,
            "broken": list(self.broken),
        }

    def to_frame(self) -> pl.DataFrame:
        """The rows as a table."""
        return pl.DataFrame(self.rows, infer_schema_length=None)


def score_cache(action: str, folder: str | Path | None = None, *, most: float = 10.0) -> CacheState:
    """What a cache holds, as it is (`info`), after `prune` (`most` gigabytes stay) or after `verify`."""
    from metassay.store.cache import VARIABLE, cache_folder, prune, shelves, stored, verify

    if action not in ACTIONS:
        raise UnknownName("action", action, ACTIONS)
    found = cache_folder(folder)
    if found is None:
        raise InputError("no cache was named.", remedy=f"Name its folder with --cache, or in {VARIABLE}.")
    removed = prune(found, most=int(most * 1e9)) if action == "prune" else []
    broken = verify(found)[1] if action == "verify" else []
    sizes = {path: path.stat().st_size for path in stored(found) if path.suffix == ".parquet"}
    rows = []
    for shelf, about in shelves(found):
        own = [size for path, size in sizes.items() if path.parent == shelf]
        rows.append(
            {"metric": about["metric"], "parts": len(own), "bytes": sum(own), "signature": about["signature"]}
        )
    return CacheState(str(found), rows, len(removed), tuple(str(path) for path in broken))


ACTIONS = ("info", "prune", "verify")
