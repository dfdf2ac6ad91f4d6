"""What the verbs leave in a run folder, under which names, and the folders that a person names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from metassay.metrics.registry import labels_in
from metassay.store.run import MANIFEST, RunFolder

if TYPE_CHECKING:
    from metassay.workflows.assay_result import AssayResult


RESULT = "results/assay.json"
EXAMPLES = "results/examples.json"
REPORT = "report.html"
TIMINGS = "timings.json"
VERDICTS = "results/verdicts.parquet"
"""What judges that compare two outputs said, in both orders: `metassay judge RUN` reads it."""


def run_folders(runs: Sequence[str | Path]) -> list[Path]:
    """The run folders, in the order given; one folder that is no run stands for all runs in it, by name."""
    if len(runs) == 1 and not (Path(runs[0]) / MANIFEST).is_file() and Path(runs[0]).is_dir():
        return sorted(path.parent for path in Path(runs[0]).glob(f"*/{MANIFEST}"))
    return [Path(run) for run in runs]


def write_run(run: RunFolder, result: AssayResult) -> None:
    """Outputs, pairs, results and report; the manifest last, since it says that all the rest is there."""
    from metassay.reporting.html import render

    content, examples = result.to_dict(), result.examples()
    manifest = result.manifest()
    files: dict[str, Any] = {
        "outputs.parquet": result.dataset.outputs,
        "pairs.parquet": result.pairs.frame,
        "resources.json": dict(result.pairs.resources),
        RESULT: content,
        EXAMPLES: examples,
        "results/local_accuracy.parquet": result.to_frame(),
        "results/judgements.parquet": judgements_frame(result),
    }
    if result.judged.verdicts is not None:
        files[VERDICTS] = result.judged.verdicts
    shown = report_content(content, examples, run.manifest(manifest))
    files[TIMINGS] = {"seconds": result.judged.seconds, "seconds_per_1000_outputs": result.cost()}
    files[REPORT] = render(shown, labels_in(shown))
    run.finish(files, **manifest)


def report_content(
    content: dict[str, Any], examples: list[dict[str, Any]], manifest: dict[str, Any]
) -> dict[str, Any]:
    """Everything a report shows."""
    return {**content, "examples": examples, "manifest": manifest}


def judgements_frame(result: AssayResult) -> pl.DataFrame:
    """What each metric said of each pair: 1 right, 0 tie, −1 wrong, null undefined; one column per metric."""
    judgements = result.judged.judgements
    outcomes = {
        metric: pl.Series(metric, outcome).cast(pl.Int8).replace(-2, None)
        for metric, outcome in zip(judgements.metrics, judgements.outcome)
    }
    chosen = pl.Series("sampled", result.judged.chosen(result.pairs))
    return result.judged.pairs.frame.select("item", "system", "perturbation").with_columns(
        chosen, *outcomes.values()
    )
