"""`metassay score`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.options import DataOptions, MetricFilesOption, OutputOptions
from metassay.cli.printing import print_line, print_lines_tables_and_notes
from metassay.cli.progress import show_progress
from metassay.workflows.options import ScoreSettings

EXAMPLE = "metassay score --reference ref.txt a.txt b.txt --metrics bleu,chrf++"
COMMON_OPTIONS = (
    "metrics",
    "reference",
    "hypothesis",
    "test",
    "aggregate",
    "per_segment",
    "columns",
    "where",
    "out",
    "json",
)


def run_score_command(
    data_options: DataOptions,
    output_options: OutputOptions,
    score_options: ScoreSettings,
    *,
    metric_file: MetricFilesOption = [],  # noqa: B006
    table_format: Annotated[
        str,
        typer.Option(
            "--format", help="How scores are printed: table, csv, latex or markdown.", metavar="FORMAT"
        ),
    ] = "table",
    score_only: Annotated[
        bool,
        typer.Option(
            "--score-only", "-b", help="Print only the number, of the first metric or of those in --metrics."
        ),
    ] = False,
    decimals: Annotated[
        int | None,
        typer.Option(
            "--width", "-w", help="Number of digits after the decimal point.", metavar="N", min=0, max=15
        ),
    ] = None,
) -> None:
    """Compute metrics per segment and per system, and test differences between systems."""
    from metassay.workflows.metric_files import collect_requested_metrics
    from metassay.workflows.score import score

    dataset = data_options.read_dataset()
    task = dataset.task_definition
    options = score_options.to_dict()
    options["metrics"] = collect_requested_metrics(score_options.metrics, metric_file)
    if score_only and options["metrics"] is None:
        options["metrics"] = task.default_metrics[0]
    if score_only and output_options.out is None and not output_options.json and table_format == "table":
        options["resamples"] = 0  # intervals are not printed
    with show_progress(output_options, quiet=score_only) as progress:
        result = score(
            dataset,
            **options,
            seed=output_options.seed,
            workers=output_options.workers,
            out=output_options.out,
            progress=progress,
        )
    if output_options.json:
        print(result.to_json())
        return
    if table_format != "table":
        print(result.to_text(table_format), end="")
        return
    unit = "topics" if task.is_ranking else "segments"
    blocks = result.describe_result_for_terminal(score_options, unit=unit, decimals=decimals, bare=score_only)
    print_lines_tables_and_notes(blocks, verbose=output_options.verbose)
    if output_options.out is not None and not score_only:
        print_line(f"Report: {output_options.out}/report.html")
