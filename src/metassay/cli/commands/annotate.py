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


def run_annotate(
    data: DataOptions, output: OutputOptions, settings: AnnotateSettings, reading: ScoreReadOptions
) -> None:
    """Choose the items that people should rate next, and write a table for the raters."""
    from metassay.workflows.annotate import annotate

    source, reading_options = data.read_score_source(reading)
    result = annotate(
        source,
        **settings.to_dict(),
        **reading_options,
        seed=output.seed,
        workers=output.workers,
        out=output.out,
    )
    print_result(result, json=output.json, verbose=output.verbose, folder=output.out)
