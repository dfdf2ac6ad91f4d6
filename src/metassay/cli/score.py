"""`metassay score`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metassay.cli.options import DataOptions, OutputOptions, comma_list
from metassay.cli.printing import note, print_table, progress, say

NULL_HYPOTHESES = {
    "bootstrap": "p: if the true difference between the two systems were 0, a difference as large as this or "
    "larger would be found this often (paired bootstrap over segments, two-sided).",
    "randomization": "p: if it did not matter which of the two systems made which output, a difference as "
    "large as this or larger would be found this often (approximate randomisation, two-sided).",
}


def run_score(
    data: DataOptions,
    output: OutputOptions,
    *,
    metrics: Annotated[str | None, typer.Option(help="Comma-separated; default those of the task.")] = None,
    metric_file: Annotated[list[str], typer.Option(help="Your own metric.", metavar="FILE.py:NAME")] = [],  # noqa: B006
    aggregate: Annotated[str, typer.Option(help="Any of corpus, segment, bootstrap.")] = "corpus,segment",
    per_segment: Annotated[
        Path | None, typer.Option(help="Write segment scores to a .parquet, .csv or .jsonl file.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="Compare all systems: bootstrap or randomization.", metavar="TEST")
    ] = None,
    draws: Annotated[
        int | None, typer.Option(help="Draws of the test; default 1000 and 10000.", metavar="N")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="table, csv, latex or markdown.", metavar="FORMAT")
    ] = "table",
    normalize: Annotated[str | None, typer.Option(help="Speech text: english, whisper or none.")] = None,
) -> None:
    """Metrics per segment and per system, and tests between systems."""
    from metassay.reporting.labels import in_labels
    from metassay.workflows.preparing import named_metrics
    from metassay.workflows.score import score

    dataset = data.read()
    with progress(output) as show:
        result = score(
            dataset,
            metrics=named_metrics(metrics, metric_file),
            aggregate=comma_list(aggregate) or [],
            test=test,
            draws=draws,
            per_segment=per_segment,
            normalize=normalize,
            seed=output.seed,
            workers=output.workers,
            progress=show,
        )
    if output.json:
        print(result.to_json())
        return
    if form != "table":
        print(result.to_text(form), end="")
        return
    systems, compared = in_labels([result.systems, result.comparisons])
    print_table([{k: v for k, v in row.items() if k != "signature"} for row in systems])
    print_table(compared, title="Differences between systems")
    if test is not None:
        say(NULL_HYPOTHESES[test])
    say(*dict.fromkeys(row["signature"] for row in result.systems))
    note(result.notes)
