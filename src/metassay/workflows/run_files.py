"""What an assay leaves in its run folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from metassay.store.run import RunFolder

if TYPE_CHECKING:
    from metassay.workflows.assay_result import AssayResult

RESULT = "results/assay.json"
EXAMPLES = "results/examples.json"
REPORT = "report.html"
TIMINGS = "timings.json"
VERDICTS = "results/verdicts.parquet"
"""What judges that compare two outputs said, in both orders: `metassay judge RUN` reads it."""


def write_run(run: RunFolder, result: AssayResult) -> None:
    """Outputs, pairs, results and report; the manifest last, since it says that all the rest is there."""
    from metassay.reporting.html import render

    content = result.to_dict()
    run.write_frame("outputs.parquet", result.dataset.outputs)
    run.write_frame("pairs.parquet", result.pairs.frame)
    run.write_json("resources.json", dict(result.pairs.resources))
    run.write_json(RESULT, content)
    run.write_json(EXAMPLES, result.examples())
    run.write_frame("results/local_accuracy.parquet", result.to_frame())
    run.write_frame("results/judgements.parquet", judgements_frame(result))
    if result.judged.verdicts is not None:
        run.write_frame(VERDICTS, result.judged.verdicts)
    run.write_text(
        REPORT, render(report_content(content, result.examples(), run.manifest(result.manifest())))
    )
    run.write_json(TIMINGS, {"seconds": result.judged.seconds, "seconds_per_1000_outputs": result.cost()})
    run.write_manifest(result.manifest())


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
