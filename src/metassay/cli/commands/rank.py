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


def run_rank_command(
    data_options: DataOptions,
    output_options: OutputOptions,
    rank_options: RankSettings,
    read_options: ScoreReadOptions,
) -> None:
    """Rank metrics by how well they agree with human scores, and test the differences."""
    from metassay.workflows.rank import rank

    source, reading_options = data_options.get_score_data_and_read_options(read_options)
    with show_progress(output_options) as progress:
        result = rank(
            source,
            **rank_options.to_dict(),
            **reading_options,
            seed=output_options.seed,
            workers=output_options.workers,
            out=output_options.out,
            progress=progress,
        )
    print_result(result, json=output_options.json, verbose=output_options.verbose, folder=output_options.out)
