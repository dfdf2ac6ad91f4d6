"""`metassay score`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metassay.cli.options import DataOptions, OutputOptions, comma_list
from metassay.cli.printing import note, print_table, progress


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
    normalize: Annotated[str | None, typer.Option(help="Speech text: english, whisper or none.")] = None,
) -> None:
    """Metrics per segment and per system."""
    from metassay.workflows.preparing import named_metrics
    from metassay.workflows.score import score

    dataset = data.read()
    with progress(output) as show:
        result = score(
            dataset,
            metrics=named_metrics(metrics, metric_file),
            aggregate=comma_list(aggregate) or [],
            per_segment=per_segment,
            normalize=normalize,
            workers=output.workers,
            progress=show,
        )
    if output.json:
        print(result.to_json())
        return
    print_table([{k: v for k, v in row.items() if k != "signature"} for row in result.systems])
    note(result.notes)
