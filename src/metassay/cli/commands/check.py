"""`metassay check`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.parameters import TYPED_ARGUMENTS
from metassay.cli.printing import print_line, print_result_blocks
from metassay.workflows.options import CheckSettings

EXAMPLE = "metassay check outputs.csv"
# Options with a value that do not say how the data is read, or that suggested commands name themselves.
_OTHER_OPTIONS = ("--human", "--out", "--workers", "--seed", "--memory", "--metrics", "--normalize")
_FLAGS = ("--json", "--quiet", "-q", "--verbose", "-v")
COMMON_OPTIONS = ("task", "human", "columns", "where", "reference", "language", "json")


def run_check(data_options: DataOptions, output_options: OutputOptions, check_options: CheckSettings) -> None:
    """Show how a file is read and which questions it can answer. Run this first."""
    from metassay.workflows.check import check

    result = check(
        data_options.read_dataset(),
        **check_options.to_dict(),
        workers=output_options.workers,
        out=output_options.out,
    )
    if output_options.json:
        print(result.to_json())
        return
    blocks = result.describe_for_terminal(_select_data_arguments(TYPED_ARGUMENTS.get()))
    print_result_blocks(blocks, verbose=output_options.verbose)
    if output_options.out:
        print_line(f"Results: {output_options.out}/results")


def _select_data_arguments(arguments: Sequence[str]) -> str:
    """Select the command-line arguments that say which data is read, and how."""
    repeated = []
    skips_value = False
    for argument in arguments:
        if skips_value:
            skips_value = False
        elif argument in _OTHER_OPTIONS:
            skips_value = True
        elif argument not in _FLAGS and not argument.startswith(tuple(f"{name}=" for name in _OTHER_OPTIONS)):
            repeated.append(argument)
    return shlex.join(repeated)
