"""`metassay recommend`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metassay.cli.options import criteria
from metassay.cli.printing import print_table, say


def run_recommend(
    run: Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")],
    *,
    context: Annotated[str | None, typer.Option(help="One column of contexts; default all.")] = None,
    criterion: Annotated[
        list[str],
        typer.Option(help="Your own, higher is better; repeatable.", metavar="NAME:METRIC=NUMBER,…"),
    ] = [],  # noqa: B006
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Which metric to use in each context, and why; with --criterion by your own criteria too."""
    from metassay.reporting.answer import answer_lines
    from metassay.reporting.wording import in_labels
    from metassay.workflows.recommend import recommend

    result = recommend(run, context=context, criteria=criteria(criterion))
    if json:
        print(result.to_json())
        return
    found = in_labels(result.to_dict())
    say(*answer_lines(found))
    for column, contexts in found["recommendation"].items():
        rows = [
            {
                "context": name,
                "use": entry["choice"],
                "top group": ", ".join(entry["top_group"]),
                "why": entry["why"],
            }
            for name, entry in contexts.items()
        ]
        print_table(rows, title=f"By {column}")
        robust = found["robust_choice"][column]
        if robust is not None:
            say(f"Where the mix of {column} may change, {robust} holds up best.")
        print_table(found["robustness"][column])
    print_table(
        [
            {"metric": name, "cost": cost, "seconds per 1000 outputs": found["cost"].get(name)}
            for name, cost in found["cost_class"].items()
        ]
    )
    if found["pareto"] and len(set(found["cost_class"].values())) > 1:
        say(f"None is both more accurate and cheaper than: {', '.join(found['pareto'])}.")
