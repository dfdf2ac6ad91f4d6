"""Render docs/which-metric.md and the table of all metrics: measures of quality of the metrics of WMT23."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from reproduce.entry import format_table

Row = dict[str, Any]
YEARS = {"wmt23": "WMT23", "wmt22": "WMT22"}
MEASURES = {"spa": "SPA", "acc_eq": "acc_eq", "sysdep": "SysDep", "residual": "residual"}
OUR_MEASURES = ("local", "mean", "corpus")
"""Measured for the metrics that we compute ourselves."""
LEADERS = 5
"""Number of metrics with the highest SPA that the documentation shows."""
WIDELY_USED = (
    *("XCOMET-Ensemble", "COMET", "MetricX-23", "BLEURT-20", "CometKiwi", "YiSi-1", "BERTscore"),
    *("ter, ours", "meteor, ours", "bleu, ours", "rougel, ours", "chrf, ours"),
)
"""Metrics that the documentation shows whatever their SPA is."""


def render_page(rows: Sequence[Row]) -> str:
    """Return docs/which-metric.md."""
    newest = _average_over_pairs([row for row in rows if row["year"] == "wmt23"])
    shown = [row for place, row in enumerate(newest) if place < LEADERS or row["metric"] in WIDELY_USED]
    lines = ["# Metrics of WMT22 and WMT23", "", *_list_conclusions(rows), ""]
    lines += ["## Results on WMT23", "", INTRODUCTION, "", *_render_table(shown)]
    return "\n".join(lines) + "\n"


def render_full_page(rows: Sequence[Row]) -> str:
    """Return reproduce/which_metric/README.md, with all metrics of WMT23."""
    newest = [row for row in rows if row["year"] == "wmt23"]
    explanation = (
        "[Metrics of WMT22 and WMT23](../../docs/which-metric.md) explains the columns. `ours.json` also has "
        "the values of WMT22 and of each language pair."
    )
    lines = ["# Metrics of WMT23", "", _describe_data(newest), "", explanation, ""]
    return "\n".join([*lines, *_render_table(_average_over_pairs(newest))]) + "\n"


INTRODUCTION = (Path(__file__).parent / "introduction.md").read_text(encoding="utf-8").rstrip()
ADVICE = (Path(__file__).parent / "advice.md").read_text(encoding="utf-8").rstrip()


def _average_over_pairs(rows: Sequence[Row]) -> list[Row]:
    """Return a row per metric with means over its language pairs, best SPA first."""
    rows_by_metric: dict[str, list[Row]] = {}
    for row in rows:
        rows_by_metric.setdefault(row["metric"], []).append(row)
    means = []
    for metric, group in rows_by_metric.items():
        ours = {name: [row[name] for row in group if row[name] is not None] for name in OUR_MEASURES}
        means.append(
            {"metric": metric, "reads": group[0]["reads"], "pairs": len(group)}
            | {name: float(np.mean([row[name] for row in group])) for name in MEASURES}
            | {name: float(np.mean(values)) if values else None for name, values in ours.items()}
        )
    return sorted(means, key=lambda row: -row["spa"])


def _describe_data(rows: Sequence[Row]) -> str:
    pairs = sorted({row["lp"] for row in rows})
    count = len({row["metric"] for row in rows})
    return f"The table has {count} metrics, compared with MQM scores of {', '.join(pairs)}."


def _render_table(rows: Sequence[Row]) -> list[str]:
    """Render a table of means over language pairs."""
    head = ["metric", "reads", "SPA", "acc_eq", "SysDep", "residual"]
    cells = [
        [
            row["metric"],
            row["reads"],
            f"{row['spa']:.3f}",
            f"{row['acc_eq']:.3f}",
            f"{row['sysdep']:.0%}",
            f"{row['residual']:.0%}",
        ]
        for row in rows
    ]
    return format_table(head, cells)


def _list_conclusions(rows: Sequence[Row]) -> list[str]:
    newest = _average_over_pairs([row for row in rows if row["year"] == "wmt23"])
    leaders = newest[:LEADERS]
    free = max((row for row in newest if row["reads"] == "source"), key=lambda row: row["spa"])
    fairest = min(leaders, key=lambda row: row["residual"])
    ranking = (
        f"- To rank systems, use one of these five metrics: {', '.join(row['metric'] for row in leaders)}. "
        f"On WMT23, these five metrics agree best with people about the order of systems (soft pairwise "
        f"accuracy {leaders[-1]['spa']:.3f} to {leaders[0]['spa']:.3f}). Of the five metrics that rank "
        f"systems best, {fairest['metric']} favours single systems least."
    )
    source = (
        f"- If you have no reference translations, use {free['metric']} to rank systems. For ranking "
        f"the systems of WMT23, {free['metric']} has rank {newest.index(free) + 1} of {len(newest)} metrics, "
        f"although it reads no references."
    )
    return [ranking, source, _describe_lexical_metrics(rows), ADVICE]


def _describe_lexical_metrics(rows: Sequence[Row]) -> str:
    """Describe the lexical metrics in both years."""
    sentences = ["To rank systems, use a neural metric if you can run one."]
    for year, name in YEARS.items():
        metrics = _average_over_pairs([row for row in rows if row["year"] == year])
        best = next(row for row in metrics if row["local"] is not None)
        above = sum(row["spa"] > best["spa"] for row in metrics)
        sentences.append(
            f"On {name}, {above} of all {len(metrics)} metrics rank systems better than "
            f"{best['metric'].removesuffix(', ours')}, the best metric without a neural model."
        )
    return f"- {' '.join(sentences)}"
