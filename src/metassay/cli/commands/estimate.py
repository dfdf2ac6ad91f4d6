"""`metassay estimate`."""

from __future__ import annotations

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import print_blocks, print_report_path
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
    """How good would people find each system? From few human labels and a metric on all items."""
    from metassay.workflows.estimate import estimate
    from metassay.workflows.terminal_output import describe_estimates

    result = estimate(
        data.data,
        **settings.to_dict(),
        **reading.to_dict(),
        seed=output.seed,
        workers=output.workers,
        out=output.out,
    )
    if output.json:
        print(result.to_json())
        return
    print_blocks(describe_estimates(result), verbose=output.verbose)
    print_report_path(output.out)
