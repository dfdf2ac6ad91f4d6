"""`metassay depend`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from metassay.cli.options import DataOptions, OutputOptions, comma_list
from metassay.cli.printing import note, print_table, progress, say

EXPLANATION = """\
SysDep is how much further one system is flattered than another, in points of the human score. A metric that
knows nothing has the value under constant; what noise alone does not explain is under residual.
p equal: every system has the same expected human score given the metric. p fair: the metric is the human
score plus noise that prefers nobody. p equal supposes that residuals spread alike in all systems (with one
three times as noisy it rejects in 12 % instead of 5), p fair that noise has one size (a metric that sees
large errors only fails it more often, however evenly it does so)."""


def run_depend(
    data: DataOptions,
    output: OutputOptions,
    *,
    human: Annotated[str | None, typer.Option(help="The column of human scores.")] = None,
    by: Annotated[str, typer.Option(help="Group outputs by this column.", metavar="COLUMN")] = "system",
    metrics: Annotated[str | None, typer.Option(help="Only these, comma-separated.")] = None,
    lower_is_better: Annotated[
        str | None, typer.Option(help="Metrics to turn around, comma-separated.")
    ] = None,
    context: Annotated[
        list[str],
        typer.Option(help="Also within each value of this column; default domain.", metavar="COLUMN"),
    ] = [],  # noqa: B006
    cluster: Annotated[
        str | None, typer.Option(help="Resample these (doc_id) instead of segments.", metavar="COLUMN")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="A column of weights.", metavar="COLUMN")] = None,
    bootstraps: Annotated[int, typer.Option(help="Resamples; 0 for one fit without intervals.")] = 200,
    draws: Annotated[int, typer.Option(help="Draws of each test.")] = 999,
    analysis: Annotated[
        bool, typer.Option("--analysis", help="Sensitivity to resamples, sample size and systems.")
    ] = False,
    keep_references: Annotated[
        bool, typer.Option("--keep-references", help="Keep systems that are the reference itself.")
    ] = False,
) -> None:
    """Whom does each metric flatter? SysDep and expected deviations, and what part of them is mere noise."""
    from metassay.workflows.depend import depend

    with progress(output) as show:
        result = depend(
            data.data,
            human=human,
            by=by,
            metrics=metrics,
            lower_is_better=comma_list(lower_is_better) or (),
            context=context or None,
            cluster=cluster,
            weight=weight,
            bootstraps=bootstraps,
            draws=draws,
            analysis=analysis,
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            progress=show,
            keep_references=keep_references,
            **data.score_reading(),
        )
    if output.json:
        print(result.to_json())
        return
    _show(result.to_dict())


def _show(found: dict[str, Any]) -> None:
    for dataset in dict.fromkeys(entry["dataset"] for entry in found["metrics"]):
        entries = [entry for entry in found["metrics"] if entry["dataset"] == dataset]
        print_table(
            [_row(entry) for entry in entries],
            title=f"Dependence on {found['by']}, {dataset}, against {found['human']} (least first)",
        )
        print_table([row for entry in entries for row in _local_rows(entry)], title="Within contexts")
        print_table(
            [{"metric": entry["metric"]} | row for entry in entries for row in entry["sensitivity"]],
            title="How SysDep reacts to what is not the metric",
        )
    say(EXPLANATION)
    note(found["notes"])


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    residual, pairs = entry["residual"], entry["inversions"]
    shown = ("metric", "sysdep", "low", "high", "constant", "ratio")
    return {name: entry[name] for name in shown} | {
        "residual": entry["residual_range"],
        "p_equal": entry["p_equal"],
        "p_fair": entry["p_fair"],
        "flattered": max(residual, key=residual.__getitem__),
        "wronged": min(residual, key=residual.__getitem__),
        "inverted": len(pairs),
        "worst": f"{pairs[0]['better']} > {pairs[0]['worse']}" if pairs else None,
    }


def _local_rows(entry: dict[str, Any]) -> list[dict[str, Any]]:
    shown = ("context", "outputs", "sysdep", "low", "high", "constant", "residual_range")
    return [{"metric": entry["metric"]} | {name: row[name] for name in shown} for row in entry["local"]]
