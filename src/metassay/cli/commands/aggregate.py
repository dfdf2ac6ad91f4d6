"""`metassay aggregate`."""

from __future__ import annotations

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import print_blocks, print_report_path
from metassay.cli.progress import show_progress
from metassay.workflows.options import AggregateSettings

EXAMPLE = "metassay aggregate outputs.csv --metrics bleu,chrf"
COMMON_OPTIONS = ("human", "metrics", "reference", "columns", "where", "out", "json")


def run_aggregate(data: DataOptions, output: OutputOptions, settings: AggregateSettings) -> None:
    """Corpus scores or means of segments? Compares three aggregations, also with human scores."""
    from metassay.workflows.aggregate import aggregate
    from metassay.workflows.terminal_output import describe_aggregation_differences

    dataset = data.read_dataset()
    with show_progress(output) as progress:
        result = aggregate(
            dataset,
            **settings.to_dict(),
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            progress=progress,
        )
    if output.json:
        print(result.to_json())
        return
    print_blocks(describe_aggregation_differences(result), verbose=output.verbose)
    print_report_path(output.out)
