"""`metassay recommend`, `compare`, `report` and `serve`: what takes finished runs."""

from __future__ import annotations

import json as jsons
import signal
from pathlib import Path
from typing import Annotated

import typer

from metassay.cli.options import criteria
from metassay.cli.printing import print_table, say
from metassay.errors import InputError


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


def run_report(run: Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")]) -> None:
    """Write the report of a run anew: one HTML file that needs no network."""
    from metassay.workflows.overview import report

    say(f"Report: {report(run)}")


def run_serve(
    runs: Annotated[
        list[Path], typer.Argument(help="Runs, oldest first, or a folder of runs.", metavar="RUN…")
    ],
    *,
    host: Annotated[str, typer.Option(help="The address to serve on; the default is this machine only.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port; 0 takes any that is free.", min=0, max=65535)] = 8017,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Show runs in the browser: reports, accuracy from run to run, what changed. Ctrl-C ends it."""
    from metassay.serve.server import RunServer

    with RunServer(runs, host=host, port=port) as server:
        if json:
            print(jsons.dumps({"schema_version": 1, "url": server.url}), flush=True)
        else:
            say(f"Runs are at {server.url} until Ctrl-C.")
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("Done.")
