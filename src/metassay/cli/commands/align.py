"""`metassay align`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.options import DataOptions, JsonOption
from metassay.cli.printing import print_line, print_lines_tables_and_notes

EXAMPLE = "metassay align --reference ref.txt hyp.txt"
COMMON_OPTIONS = ("reference", "characters", "include_correct", "normalize", "out", "json")


def run_align_command(
    data_options: DataOptions,
    *,
    characters: Annotated[
        bool, typer.Option("--characters", "--cer", "-c", help="Align characters instead of words.")
    ] = False,
    include_correct: Annotated[bool, typer.Option("--all", help="Show also outputs without errors.")] = False,
    normalize: Annotated[
        str | None,
        typer.Option(
            help="How transcripts are normalised before scoring: english, whisper or none.", metavar="NAME"
        ),
    ] = None,
    json: JsonOption = False,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="Write a table and JSON to this folder.", metavar="FOLDER"),
    ] = None,
) -> None:
    """Show outputs below their references, word by word, with errors marked and counted."""
    from metassay.workflows.align import align

    result = align(data_options.read_dataset(), characters=characters, normalize=normalize, out=out)
    if json:
        print(result.to_json())
        return
    print_lines_tables_and_notes(
        result.describe_result_for_terminal(by_characters=characters, include_correct=include_correct)
    )
    if out:
        print_line(f"Results: {out}/results")
