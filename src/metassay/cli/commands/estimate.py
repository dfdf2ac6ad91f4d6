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


def run_estimate(
    data: DataOptions, output: OutputOptions, settings: EstimateSettings, reading: ScoreReadOptions
) -> None:
    """Estimate the human score of each system from few ratings and a metric on all items."""
    from metassay.workflows.estimate import estimate

    source, reading_options = data.read_score_source(reading)
    result = estimate(
        source,
        **settings.to_dict(),
        **reading_options,
        seed=output.seed,
        workers=output.workers,
        out=output.out,
    )
    print_result(result, json=output.json, verbose=output.verbose, folder=output.out)
