"""`metassay rank`."""

from __future__ import annotations

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import print_result
from metassay.cli.progress import show_progress
from metassay.workflows.options import RankSettings, ScoreReadOptions

EXAMPLE = "metassay rank scores.csv --human mqm --meta spa,acc_eq"
COMMON_OPTIONS = (
    "human",
    "metrics",
    "meta",
    "context",
    "join",
    "lower_is_better",
    "columns",
    "where",
    "out",
    "json",
)


def run_rank(
    data: DataOptions, output: OutputOptions, settings: RankSettings, reading: ScoreReadOptions
) -> None:
    """Rank metrics by how well they agree with human scores, and test the differences."""
    from metassay.workflows.rank import rank

    source, reading_options = data.read_score_source(reading)
    with show_progress(output) as progress:
        result = rank(
            source,
            **settings.to_dict(),
            **reading_options,
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            progress=progress,
        )
    print_result(result, json=output.json, verbose=output.verbose, folder=output.out)
