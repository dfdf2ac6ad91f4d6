"""`metassay annotate`."""

from __future__ import annotations

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import print_result
from metassay.workflows.options import AnnotateSettings, ScoreReadOptions

EXAMPLE = "metassay annotate scores.csv --human mqm --count 100 --csv ratings.csv"
COMMON_OPTIONS = (
    "human",
    "metrics",
    "count",
    "width",
    "difference",
    "power",
    "csv",
    "labels",
    "out",
    "json",
)


def run_annotate_command(
    data_options: DataOptions,
    output_options: OutputOptions,
    annotate_options: AnnotateSettings,
    read_options: ScoreReadOptions,
) -> None:
    """Choose the items that people should rate next, and write a table for the raters."""
    from metassay.workflows.annotate import annotate

    source, reading_options = data_options.get_score_data_and_read_options(read_options)
    result = annotate(
        source,
        **annotate_options.to_dict(),
        **reading_options,
        seed=output_options.seed,
        workers=output_options.workers,
        out=output_options.out,
    )
    print_result(result, json=output_options.json, verbose=output_options.verbose, folder=output_options.out)
