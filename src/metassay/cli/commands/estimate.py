"""`metassay estimate`."""

from __future__ import annotations

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import print_result
from metassay.workflows.options import EstimateSettings, ScoreReadOptions

EXAMPLE = "metassay estimate scores.csv --human mqm"
COMMON_OPTIONS = (
    "human",
    "metrics",
    "context",
    "target",
    "labels",
    "lower_is_better",
    "join",
    "where",
    "out",
    "json",
)


def run_estimate_command(
    data_options: DataOptions,
    output_options: OutputOptions,
    estimate_options: EstimateSettings,
    read_options: ScoreReadOptions,
) -> None:
    """Estimate the human score of each system from few ratings and a metric on all items."""
    from metassay.workflows.estimate import estimate

    source, reading_options = data_options.get_score_data_and_read_options(read_options)
    result = estimate(
        source,
        **estimate_options.to_dict(),
        **reading_options,
        seed=output_options.seed,
        workers=output_options.workers,
        out=output_options.out,
    )
    print_result(result, json=output_options.json, verbose=output_options.verbose, folder=output_options.out)
