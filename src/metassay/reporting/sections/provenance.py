"""Where the page comes from: what was left out, signatures, configuration and versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.tables import Field, Grid, grid
from metassay.reporting.wording import count, named

SIGNATURE_FIELDS = (
    Field("metric", "metric", "name"),
    Field("signature", "signature", "name"),
    Field("direction", "better is", "text"),
)


def left_out(result: Mapping[str, Any]) -> list[dict[str, str]]:
    """What was left out: the reason, how many, and which where they have names."""
    counts = result.get("left_out") or {}
    names = result.get("named_left_out") or {}
    return [
        {
            "reason": str(reason),
            "count": count(counts[reason]) if counts.get(reason) is not None else "",
            "names": str(named([str(name) for name in names.get(reason) or ()], "", at_most=5)),
        }
        for reason in dict.fromkeys([*counts, *names])
        if counts.get(reason) or names.get(reason)
    ]


def signature_grid(result: Mapping[str, Any]) -> Grid | None:
    """The metrics with all that decides their values."""
    rows = [
        {**row, "direction": _direction(row.get("higher_is_better"))} for row in result.get("metrics") or ()
    ]
    return grid("signatures", "Metrics and their signatures", SIGNATURE_FIELDS, rows) if rows else None


def program(result: Mapping[str, Any]) -> str:
    """The program and version that made the run."""
    manifest = result.get("manifest") or {}
    versions = manifest.get("versions")
    version = versions.get("metassay") if isinstance(versions, Mapping) else manifest.get("version")
    return f"metassay {version}" if version else "metassay"


def setting(result: Mapping[str, Any], name: str) -> Any:
    """A setting of the run, wherever the manifest keeps its configuration."""
    manifest = result.get("manifest") or {}
    identity = manifest.get("identity") or {}
    configuration = identity.get("configuration") or manifest.get("configuration") or {}
    return configuration.get(name) if isinstance(configuration, Mapping) else None


def flat(value: Any, path: str = "") -> list[dict[str, str]]:
    """A nested mapping as rows `a.b.c: value`, in its own order."""
    if isinstance(value, Mapping):
        return [
            row for key, inner in value.items() for row in flat(inner, f"{path}.{key}" if path else str(key))
        ]
    if isinstance(value, list | tuple):
        if any(isinstance(inner, Mapping | list) for inner in value):
            return [row for n, inner in enumerate(value) for row in flat(inner, f"{path}[{n}]")]
        value = ", ".join(map(str, value))
    return [{"key": path, "value": "" if value is None else str(value)}]


def _direction(higher: Any) -> str | None:
    return None if higher is None else "higher" if higher else "lower"


def unit(result: Mapping[str, Any]) -> str:
    """The independent unit and why it is that one: `doc_id (…)`; empty where the result does not say."""
    chosen = result.get("cluster") or {}
    return f"{chosen['column']} ({chosen['why']})" if isinstance(chosen, Mapping) and chosen else ""
