"""`metassay check`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.parameters import TYPED_ARGUMENTS
from metassay.cli.printing import print_line, print_lines_tables_and_notes
from metassay.options import OutputReadOptions
from metassay.workflows.options import CheckSettings

EXAMPLE = "metassay check outputs.csv"
# Options with a value that do not say how the data is read.
_OTHER_OPTIONS = ("--out", "-o", "--workers", "--seed", "--memory", "--metrics", "-m", "--normalize")
_FLAGS = ("--json", "--quiet", "-q", "--verbose", "-v")
COMMON_OPTIONS = ("task", "human", "columns", "where", "reference", "language", "json")


def run_check_command(
    data_options: DataOptions, output_options: OutputOptions, check_options: CheckSettings
) -> None:
    """Show how a file is read and which questions it can answer. Run this first."""
    from metassay.workflows.check import check

    if data_options.data and not data_options.has_plain_text_files:
        # Tables of scores and of verdicts are not outputs, so `check` finds out what to read.
        reading = data_options.to_dict(OutputReadOptions)
        result = check(
            data_options.data,
            **reading,
            **check_options.to_dict(),
            workers=output_options.workers,
            out=output_options.out,
        )
        if result.task_guess is not None:
            print(result.task_guess, file=sys.stderr)
    else:
        result = check(
            data_options.read_dataset(),
            **check_options.to_dict(),
            workers=output_options.workers,
            out=output_options.out,
        )
    if output_options.json:
        print(result.to_json())
        return
    # Suggested commands name the human score themselves, except for `judge`.
    removed_options = _OTHER_OPTIONS if result.kind == "verdicts" else ("--human", *_OTHER_OPTIONS)
    blocks = result.describe_result_for_terminal(
        _remove_options_from_arguments(TYPED_ARGUMENTS.get(), removed_options)
    )
    print_lines_tables_and_notes(blocks, verbose=output_options.verbose)
    if output_options.out:
        print_line(f"Results: {output_options.out}/results")


def _remove_options_from_arguments(typed_arguments: Sequence[str], removed_options: Sequence[str]) -> str:
    """Return the typed command-line arguments without some options and their values, and without flags.

    What is left says which data is read, and how. Suggested commands repeat it.
    """
    kept_arguments = []
    skips_value = False
    for argument in typed_arguments:
        if skips_value:
            skips_value = False
        elif argument in removed_options:
            skips_value = True
        elif argument not in _FLAGS and not argument.startswith(
            tuple(f"{name}=" for name in removed_options)
        ):
            kept_arguments.append(argument)
    return shlex.join(kept_arguments)
