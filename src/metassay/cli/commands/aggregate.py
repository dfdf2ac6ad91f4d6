"""`metassay aggregate`."""

from __future__ import annotations

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import print_result
from metassay.cli.progress import show_progress
from metassay.workflows.options import AggregateSettings

EXAMPLE = "metassay aggregate outputs.csv --metrics bleu,chrf"
COMMON_OPTIONS = ("human", "metrics", "reference", "columns", "where", "out", "json")


def run_aggregate_command(
    data_options: DataOptions, output_options: OutputOptions, aggregate_options: AggregateSettings
) -> None:
    """Compare corpus scores, means of segment scores and bootstrap scores of systems."""
    from metassay.workflows.aggregate import aggregate

    dataset = data_options.read_dataset()
    with show_progress(output_options) as progress:
        result = aggregate(
            dataset,
            **aggregate_options.to_dict(),
            human=data_options.human,
            seed=output_options.seed,
            workers=output_options.workers,
            out=output_options.out,
            progress=progress,
        )
    print_result(result, json=output_options.json, verbose=output_options.verbose, folder=output_options.out)
