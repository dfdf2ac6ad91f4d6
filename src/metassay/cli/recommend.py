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
    """Which metric to use in each context: accuracy, then stability, measured cost and your own criteria."""
    from metassay.reporting.wording import in_labels
    from metassay.workflows.recommend import recommend

    result = recommend(run, context=context, criteria=criteria(criterion))
    if json:
        print(result.to_json())
        return
    found = in_labels(result.to_dict())
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
            say(f"Where the context is not known, {robust} holds up best when the mix of contexts shifts.")
        print_table(found["robustness"][column])
    cost = [{"metric": name, "seconds per 1000 outputs": seconds} for name, seconds in found["cost"].items()]
    print_table(cost)
    if found["pareto"]:
        say(f"None is both more accurate and cheaper than: {', '.join(found['pareto'])}.")
