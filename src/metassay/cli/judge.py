"""`metassay judge`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from metassay.cli.options import DataOptions, LlmOptions, OutputOptions
from metassay.cli.printing import note, print_table, say
from metassay.errors import InputError
from metassay.settings import names_of

SHOWN = (
    *("judge", "pairs", "accuracy", "low", "high", "base_rate", "both_orders_same", "position_bias"),
    *("length_bias", "repeats_same", "missing"),
)


def run_judge(
    data: DataOptions,
    output: OutputOptions,
    model: LlmOptions,
    *,
    judge: Annotated[
        str | None, typer.Option(help="Ask the model: judge(mode=direct, rubric, spans or pairwise).")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Ask the model so many times.")] = 1,
    human: Annotated[str | None, typer.Option(help="The column with what people say.")] = None,
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
    from metassay.workflows.judge import judge as measure

    if not data.data:
        raise InputError("no data was named.", remedy="Name a table with the columns item, judge and winner.")
    result = measure(
        data.data,
        join=data.join,
        columns=data.columns or {},
        human=human,
        people=names_of(people),
        family=family,
        context=context or None,
        ties=ties,
        epsilon=epsilon,
        seed=output.seed,
        out=output.out,
        quoting=data.quoting,
        llm=model.settings(),
        judge=judge,
        repeats=repeats,
        language=data.language,
    )
    if output.json:
        print(result.to_json())
        return
    _show(result.to_dict(), result.sentences())


def _show(found: dict[str, Any], sentences: list[str]) -> None:
    rows = [{name: row[name] for name in SHOWN} for row in found["judges"]]
    print_table(rows, title="Judges, against people and against themselves")
    for column, entries in found["contexts"].items():
        print_table(entries, title=f"Accuracy by {column}")
    tests = ("judge", "winning_rate", "advantage", "epsilon", "passes")
    print_table([{k: row[k] for k in tests} for row in found["alt_test"]], title="Alternative annotator test")
    print_table(found["self_preference"], title="Self-preference by family")
    print_table(found["drift"], title="Drift")
    say(*sentences)
    note(found["notes"])
