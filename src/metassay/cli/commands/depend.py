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


def run_depend_command(
    data_options: DataOptions,
    output_options: OutputOptions,
    depend_options: DependSettings,
    read_options: ScoreReadOptions,
) -> None:
    """Measure which systems each metric favours, compared with human scores."""
    from metassay.workflows.depend import depend

    source, reading_options = data_options.get_score_data_and_read_options(read_options)
    with show_progress(output_options) as progress:
        result = depend(
            source,
            **depend_options.to_dict(),
            **reading_options,
            seed=output_options.seed,
            workers=output_options.workers,
            out=output_options.out,
            progress=progress,
        )
    print_result(result, json=output_options.json, verbose=output_options.verbose, folder=output_options.out)
