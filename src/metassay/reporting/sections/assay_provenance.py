"""Section of the `assay` page: where the page comes from: signatures, configuration, versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.assay_report import AssayReport
from metassay.reporting.pages import Section
from metassay.reporting.tables import Field, Grid, build_grid

_SIGNATURE_FIELDS = (
    Field("metric", "metric", "name"),
    Field("signature", "signature", "name"),
    Field("direction", "better is", "text"),
)
_MANIFEST_FIELDS = (Field("entry", "entry", "name"), Field("value", "value", "prose"))


def build_provenance_section(assay_report: AssayReport) -> Section:
    """Build the section that says how to reproduce the run: metric signatures, settings and versions."""
    origin = (
        f"Made by {_get_program_version(assay_report.manifest)}."
        " The same data, configuration and seed give this page again, byte for byte."
    )
    entries = flatten_nested_mapping(assay_report.manifest)
    manifest = build_grid("manifest", "Configuration and versions", _MANIFEST_FIELDS, entries)
    return Section(
        "Provenance",
        sentences=[origin],
        grids=[_build_signature_table(assay_report)] if assay_report.result.metrics else [],
        folded=[manifest] if entries else [],
        anchor="provenance",
        collapsed=True,
    )


def _build_signature_table(assay_report: AssayReport) -> Grid:
    """Build a table of the metrics with their signatures and whether higher scores are better."""
    labels = assay_report.labels.single_labels  # metrics that decided alike have signatures of their own
    rows = [
        {
            "metric": labels.get(row.metric, row.metric),
            "signature": row.signature,
            "direction": "higher" if row.higher_is_better else "lower",
        }
        for row in assay_report.result.metrics
    ]
    return build_grid("signatures", "Metrics and their signatures", _SIGNATURE_FIELDS, rows)


def _get_program_version(manifest: Mapping[str, Any]) -> str:
    versions = manifest.get("versions")
    version = versions.get("metassay") if isinstance(versions, Mapping) else None
    return f"metassay {version}" if version else "metassay"


def flatten_nested_mapping(value: Any, path: str = "") -> list[dict[str, str]]:
    """List the values of a nested mapping as table rows. Each row has a value and the path of its keys, such
    as `a.b.c`.
    """
    if isinstance(value, Mapping):
        rows = []
        for key, inner in value.items():
            rows += flatten_nested_mapping(inner, f"{path}.{key}" if path else str(key))
        return rows
    if isinstance(value, list | tuple):
        if any(isinstance(inner, Mapping | list) for inner in value):
            rows = []
            for n, inner in enumerate(value):
                rows += flatten_nested_mapping(inner, f"{path}[{n}]")
            return rows
        value = ", ".join(map(str, value))
    return [{"entry": path, "value": "" if value is None else str(value)}]
