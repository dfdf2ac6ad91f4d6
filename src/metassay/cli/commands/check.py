"""`metassay check`."""

from __future__ import annotations

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import print_blocks, print_line
from metassay.workflows.options import CheckSettings

EXAMPLE = "metassay check outputs.csv"
COMMON_OPTIONS = ("task", "human", "columns", "where", "reference", "language", "json")


def run_check(data: DataOptions, output: OutputOptions, settings: CheckSettings) -> None:
    """Show what was recognised, left out and missing, and what an assay would cost. Run this first."""
    from metassay.workflows.check import check
    from metassay.workflows.terminal_output import describe_check

    result = check(data.read_dataset(), **settings.to_dict(), workers=output.workers, out=output.out)
    if output.json:
        print(result.to_json())
        return
    print_blocks(describe_check(result))
    if output.out:
        print_line(f"Results: {output.out}/results")
