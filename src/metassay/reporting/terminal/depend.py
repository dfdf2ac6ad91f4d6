"""What `metassay depend` prints: how much each metric favours single systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metassay.reporting.dependence_page import correction_sentences
from metassay.reporting.terminal.blocks import Block, Line, Row, Table, lines, notes, select_columns
from metassay.reporting.wording import in_labels

HUMAN_EXPLANATION = """\
SysDep is how much further one system is flattered than another, in points of the human score. A metric that
knows nothing has the value under constant; what noise alone does not explain is under residual.
p equal: every system has the same expected human score given the metric. p fair: the metric is the human
score plus noise that prefers nobody. p equal assumes that residuals vary equally in all systems (with one
three times as noisy it rejects in 12 % instead of 5), p fair that noise has one size (a metric that sees
large errors only fails it more often, however evenly it does so)."""
PANEL_EXPLANATION = """\
SysDep is how much further one system is flattered than another, in standard deviations of the other metrics,
whose mean stands in for human scores. A preference that all metrics share does not show.
p equal: every system has the same expected mean of the others given the metric. p fair: the metric is that
mean plus noise that prefers nobody."""

MOST_IMPORTANT = ("metric", "sysdep", "low", "high", "p_equal", "p_fair", "flattered", "wronged", "residual")
CONTEXT_COLUMNS = ("context", "outputs", "sysdep", "low", "high", "constant", "residual_range")
CORRECTION_COLUMNS = (
    *("metric", "mapping", "spa", "spa_gain", "spa_low", "spa_high", "pa", "pa_gain"),
    *("kendall_item", "tied", "sysdep"),
)


def describe_dependence(result: Mapping[str, Any], *, panel: bool) -> list[Block]:
    """Describe the dependence of each metric; with `panel`, against the mean of the other metrics."""
    content = in_labels(result)
    blocks: list[Block] = []
    for dataset in dict.fromkeys(entry["dataset"] for entry in content["metrics"]):
        entries = [entry for entry in content["metrics"] if entry["dataset"] == dataset]
        title = f"Dependence on {content['by']}, {dataset}, against {content['human']} (least first)"
        blocks += [
            Table([_build_row(entry) for entry in entries], title=title, most_important=MOST_IMPORTANT),
            Table(_list_with_metric(entries, "local", CONTEXT_COLUMNS), title="Within contexts"),
            Table(
                _list_with_metric(entries, "sensitivity"),
                title="How SysDep reacts to what is not the metric",
            ),
        ]
        corrections = [row for row in content.get("corrections", []) if row["dataset"] == dataset]
        if corrections:
            blocks.append(
                Table(
                    select_columns(corrections, CORRECTION_COLUMNS),
                    title="Converted to human scores, tested on segments that were not fitted to",
                )
            )
            blocks += lines(correction_sentences(corrections, content["human"]))
    blocks.append(Line(PANEL_EXPLANATION if panel else HUMAN_EXPLANATION))
    return [*blocks, *notes(content["notes"])]


def _build_row(entry: Row) -> Row:
    residuals = entry["residual"]
    inversions = entry["inversions"]
    worst_inversion = None
    if inversions:
        worst_inversion = f"{inversions[0]['better']} > {inversions[0]['worse']}"
    return {
        "metric": entry["metric"],
        "sysdep": entry["sysdep"],
        "low": entry["low"],
        "high": entry["high"],
        "constant": entry["constant"],
        "ratio": entry["ratio"],
        "residual": entry["residual_range"],
        "p_equal": entry["p_equal"],
        "p_fair": entry["p_fair"],
        "flattered": max(residuals, key=residuals.__getitem__),
        "wronged": min(residuals, key=residuals.__getitem__),
        "inverted": len(inversions),
        "worst": worst_inversion,
    }


def _list_with_metric(entries: Sequence[Row], key: str, columns: Sequence[str] | None = None) -> list[Row]:
    """Return the rows under `key` of all entries, with the name of their metric as first column."""
    rows: list[Row] = []
    for entry in entries:
        for row in entry[key]:
            selected = row if columns is None else {name: row[name] for name in columns}
            rows.append({"metric": entry["metric"], **selected})
    return rows
