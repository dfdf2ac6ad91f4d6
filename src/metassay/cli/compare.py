"""`metassay compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metassay.cli.printing import print_table, say
from metassay.errors import InputError

CHANGED = 3


def run_compare(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Two or more runs, oldest first, or a folder of runs.", metavar="RUN…"),
    ],
    *,
    fail_on: Annotated[str | None, typer.Option(help="change: exit with 3 when something changed.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """What changed between runs by more than chance: accuracies, orders of metrics, recommendations."""
    from metassay.workflows.recommend import compare

    if fail_on not in (None, "change"):
        raise InputError(f"--fail-on {fail_on!r} is not known.", remedy="Known: change.")
    result = compare(*runs)
    if json:
        print(result.to_json())
    else:
        _show(result.to_dict())
    if fail_on == "change" and result.changed:
        raise typer.Exit(CHANGED)


def _show(found: dict[str, object]) -> None:
    from metassay.reporting.wording import in_labels

    comparisons = in_labels(found["comparisons"])
    assert isinstance(comparisons, list)
    for entry in comparisons:
        say(f"{entry['before']} → {entry['after']}")
        say(*(entry["sentences"] or ["Nothing changed by more than chance."]))
        names = ("metric", "before", "after", "difference", "low", "high", "p_holm")
        rows = [
            {name: row[name] for name in names} for row in entry["accuracies"] if row["column"] == "global"
        ]
        print_table(rows, title="Accuracy over all contexts")
