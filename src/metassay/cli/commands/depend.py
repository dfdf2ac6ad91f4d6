"""`metassay depend`."""

from __future__ import annotations

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import print_result
from metassay.cli.progress import show_progress
from metassay.workflows.options import DependSettings, ScoreReadOptions

EXAMPLE = "metassay depend scores.csv --human mqm"
COMMON_OPTIONS = (
    "human",
    "by",
    "metrics",
    "join",
    "lower_is_better",
    "context",
    "columns",
    "where",
    "out",
    "json",
)


def run_depend(
    data: DataOptions, output: OutputOptions, settings: DependSettings, reading: ScoreReadOptions
) -> None:
    """Measure which systems each metric favours, compared with human scores."""
    from metassay.workflows.depend import depend

    source, reading_options = data.read_score_source(reading)
    with show_progress(output) as progress:
        result = depend(
            source,
            **settings.to_dict(),
            **reading_options,
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            progress=progress,
        )
    print_result(result, json=output.json, verbose=output.verbose, folder=output.out)
