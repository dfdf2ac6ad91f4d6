"""`metassay judge`."""

from __future__ import annotations

from typing import Annotated

import typer

from metassay.cli.options import DataOptions, LlmOptions, OutputOptions
from metassay.cli.printing import print_blocks, print_report_path
from metassay.errors import InputError
from metassay.options import split_names

EXAMPLE = "metassay judge verdicts.csv --context domain"


def run_judge(
    data: DataOptions,
    output: OutputOptions,
    model: LlmOptions,
    *,
    judge: Annotated[
        str | None, typer.Option(help="Ask the model: judge(mode=direct, rubric, spans or pairwise).")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Ask the model this many times.")] = 1,
    human: Annotated[str | None, typer.Option(help="The column of human labels.")] = None,
    people: Annotated[
        str | None, typer.Option(help="Columns or judges that are single people, comma-separated.")
    ] = None,
    family: Annotated[
        str | None, typer.Option(help="The column of model families.", metavar="COLUMN")
    ] = None,
    context: Annotated[
        list[str], typer.Option(help="Also within each value of this column.", metavar="COLUMN")
    ] = [],  # noqa: B006
    ties: Annotated[str, typer.Option(help="A verdict that flips with the order: half or strict.")] = "half",
    epsilon: Annotated[
        float, typer.Option(help="Alternative annotator test: .2 experts, .15 skilled, .1 a crowd.")
    ] = 0.2,
) -> None:
    """Can a judge be trusted here, and whom does it favour? From tables of item, judge, winner or score."""
    from metassay.workflows.judge import judge as evaluate_judges
    from metassay.workflows.terminal_output import describe_judges

    if not data.data:
        raise InputError("no data was named.", remedy="Name a table with the columns item, judge and winner.")
    result = evaluate_judges(
        data.data,
        join=data.join,
        columns=data.columns or {},
        human=human,
        people=split_names(people),
        family=family,
        context=context or None,
        ties=ties,
        epsilon=epsilon,
        seed=output.seed,
        out=output.out,
        quoting=data.quoting,
        llm=model.build_settings(),
        judge=judge,
        repeats=repeats,
        language=data.language,
    )
    if output.json:
        print(result.to_json())
        return
    print_blocks(describe_judges(result))
    print_report_path(output.out)
