"""`check`: what was recognised, left out and missing, what will be made worse, what an assay would cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.preparation import normalisation, own_references, prepared, unknown_language
from metassay.engine.local import default_workers, measured_cost
from metassay.metrics.base import Metric
from metassay.metrics.registry import chosen_metrics
from metassay.perturbations.base import default_perturbations
from metassay.perturbations.forecast import foretell
from metassay.settings import takes
from metassay.workflows.read import Source, as_dataset, scoring_rows
from metassay.workflows.run_files import SCHEMA_VERSION, Result, warnings_as_notes
from metassay.workflows.settings import CheckSettings


@dataclass(frozen=True)
class CheckResult(Result):
    """What a data set holds."""

    content: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay check`."""
        return self.content

    def to_frame(self) -> pl.DataFrame:
        """The systems, with their numbers of outputs."""
        return pl.DataFrame(self.content["systems"])


@takes(CheckSettings)
def check(
    dataset: Dataset | Source,
    asked: CheckSettings,
    *,
    workers: int | None = None,
) -> CheckResult:
    """Look at the data before measuring anything; scores a few outputs to estimate an assay's time."""
    data = as_dataset(dataset)
    outputs = data.outputs
    chosen = chosen_metrics(data, asked.metrics, normalisation(data, asked.normalize))
    counts = Counter(outputs["system"])
    languages = Counter(language or "unknown" for language in data.languages)
    kept = prepared(data, normalize=asked.normalize, keep_references=False)
    with warnings_as_notes() as warned:
        estimate = _estimate(kept, chosen, default_workers(workers))
    forecast = foretell(kept, workers=default_workers(workers))
    return CheckResult({
        "schema_version": SCHEMA_VERSION,
        "task": data.task,
        "task_guess": data.guess,
        "items": len(data.items),
        "outputs": len(data),
        "systems": [{"system": name, "outputs": counts[name]} for name in data.systems],
        "languages": dict(sorted(languages.items())),
        "references": _references(data),
        "human": {name: len(data) - outputs[name].null_count() for name in data.human},
        "contexts": {name: outputs[name].n_unique() for name in ("system", *data.metadata)},
        "missing": {name: n for name in outputs.columns if (n := outputs[name].null_count())},
        "empty_outputs": _empty(outputs["output"]),
        "own_references": list(own_references(data)),
        "left_out": dict(data.left_out),
        "normalize": normalisation(data, asked.normalize),
        "metrics": [_described(metric) for metric in chosen],
        "perturbations": [row.to_dict() for row in forecast],
        "estimate": estimate,
        "notes": [*data.notes, *unknown_language(data), *warned],
    })  # fmt: skip


def _described(metric: Metric) -> dict[str, Any]:
    return {
        "metric": metric.spec,
        "signature": metric.signature,
        "higher_is_better": metric.higher_is_better,
    }


def _references(data: Dataset) -> dict[str, int]:
    """How many outputs have how many references."""
    if "references" not in data.outputs.columns:
        return {}
    return {str(n): count for n, count in sorted(Counter(data.outputs["references"].list.len()).items())}


def _empty(outputs: pl.Series) -> int:
    if outputs.dtype.is_nested():
        return int((outputs.list.len() == 0).sum())
    return int((outputs.str.strip_chars() == "").sum())


def _estimate(kept: Dataset, metrics: Sequence[Metric], workers: int) -> dict[str, Any]:
    """Seconds that scoring would take: outputs and worse copies, from a sample of outputs scored now."""
    texts = len(kept) * (1 + len(default_perturbations(kept.kind)))
    cost = measured_cost(metrics, scoring_rows(kept))
    seconds = {metric: round(per_1000 * texts / 1000, 3) for metric, per_1000 in cost.items()}
    return {"rows": texts, "metrics": seconds, "seconds": round(sum(seconds.values()) / workers, 1)}
