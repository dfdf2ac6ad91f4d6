"""`metassay aggregate`."""

from __future__ import annotations

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import print_result
from metassay.cli.progress import show_progress
from metassay.workflows.options import AggregateSettings

EXAMPLE = "metassay aggregate outputs.csv --metrics bleu,chrf"
COMMON_OPTIONS = ("human", "metrics", "reference", "columns", "where", "out", "json")


def run_aggregate(data: DataOptions, output: OutputOptions, settings: AggregateSettings) -> None:
    """Compare corpus scores, means of segment scores and bootstrap scores of systems."""
    from metassay.workflows.aggregate import aggregate

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
    print_result(result, json=output.json, verbose=output.verbose, folder=output.out)
