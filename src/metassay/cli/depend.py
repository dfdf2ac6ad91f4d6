"""`metassay depend`."""

from __future__ import annotations

from typing import Any

from metassay.cli.options import DataOptions, OutputOptions
from metassay.cli.printing import note, print_table, progress, say
from metassay.workflows.settings import DependSettings, ScoreReading

EXPLANATION = """\
SysDep is how much further one system is flattered than another, in points of the human score. A metric that
knows nothing has the value under constant; what noise alone does not explain is under residual.
p equal: every system has the same expected human score given the metric. p fair: the metric is the human
score plus noise that prefers nobody. p equal supposes that residuals spread alike in all systems (with one
three times as noisy it rejects in 12 % instead of 5), p fair that noise has one size (a metric that sees
large errors only fails it more often, however evenly it does so)."""
PANEL_EXPLANATION = """\
SysDep is how much further one system is flattered than another, in standard deviations of the other metrics,
whose mean stands where people have not rated. A preference that all metrics share does not show.
p equal: every system has the same expected mean of the others given the metric. p fair: the metric is that
mean plus noise that prefers nobody."""


def run_depend(
    data: DataOptions,
    output: OutputOptions,
    settings: DependSettings,
    reading: ScoreReading,
) -> None:
    """Whom does each metric flatter? SysDep and expected deviations, and what part of them is mere noise."""
    from metassay.workflows.depend import depend

    with progress(output) as show:
        result = depend(
            data.data,
            **settings.to_dict(),
            **reading.to_dict(),
            seed=output.seed,
            workers=output.workers,
            out=output.out,
            progress=show,
        )
    if output.json:
        print(result.to_json())
        return
    _show(result.to_dict(), panel=settings.panel)


def _show(found: dict[str, Any], *, panel: bool) -> None:
    from metassay.reporting.wording import in_labels

    found = in_labels(found)
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
    say(PANEL_EXPLANATION if panel else EXPLANATION)
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
