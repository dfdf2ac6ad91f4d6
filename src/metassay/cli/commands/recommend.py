"""`metassay recommend`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.options import JsonOption, VerboseOption
from metassay.cli.printing import print_result
from metassay.errors import InputError
from metassay.options import split_comma_separated_names

EXAMPLE = "metassay recommend run --context domain"


def run_recommend_command(
    run: Annotated[str, typer.Argument(help="Run folder.", metavar="RUN")],
    *,
    context: Annotated[
        str | None, typer.Option(help="Column of contexts. By default all.", metavar="COLUMN")
    ] = None,
    criterion: Annotated[
        list[str],
        typer.Option(
            help="Your own criterion: a number for each metric, higher is better. Repeatable.",
            metavar="NAME:METRIC=NUMBER,…",
        ),
    ] = [],  # noqa: B006
    json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show which metric to use in each context, and why."""
    from metassay.workflows.recommend import recommend

    criteria = dict(_parse_criterion_option(text) for text in criterion)
    result = recommend(run, context=context, criteria=criteria)
    print_result(result, json=json, verbose=verbose)


def _parse_criterion_option(option_text: str) -> tuple[str, dict[str, float]]:
    """Convert `"licence:bleu=1,comet=0"` to the name of the criterion and its numbers by metric."""
    error = InputError(f"--criterion {option_text!r} is not NAME:METRIC=NUMBER,….")
    name, colon, assignments = option_text.partition(":")
    numbers: dict[str, float] = {}
    for assignment in split_comma_separated_names(assignments):
        metric, _, number = assignment.rpartition("=")
        if not metric.strip():
            raise error
        try:
            numbers[metric.strip()] = float(number)
        except ValueError:
            raise error from None
    if not colon or not numbers:
        raise error
    return name, numbers
