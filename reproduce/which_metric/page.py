"""Write docs/which-metric.md: measures of quality for the metrics of WMT22 and WMT23."""

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


def render_page(rows: Sequence[Row]) -> str:
    """Return docs/which-metric.md."""
    newest = [row for row in rows if row["year"] == "wmt23"]
    lines = ["# Metrics of WMT22 and WMT23", "", *_list_conclusions(rows), ""]
    lines += ["## What the table shows", "", INTRODUCTION, ""]
    lines += ["## WMT23", "", _describe_data(newest), "", *_render_table(newest)]
    return "\n".join(lines) + "\n"


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
        for row in _average_over_pairs(rows)
    ]
    return format_table(head, cells)


def _list_conclusions(rows: Sequence[Row]) -> list[str]:
    newest = _average_over_pairs([row for row in rows if row["year"] == "wmt23"])
    leaders = newest[:5]
    free = max((row for row in newest if row["reads"] == "source"), key=lambda row: row["spa"])
    fairest = min(leaders, key=lambda row: row["residual"])
    ranking = (
        f"- **To rank systems like those of WMT23**: {', '.join(row['metric'] for row in leaders)} have the "
        f"highest SPA ({leaders[-1]['spa']:.3f} to {leaders[0]['spa']:.3f}). `metassay rank` tests whether "
        "these metrics differ by more than chance. Of these five metrics, "
        f"{fairest['metric']} favours systems least (residual {fairest['residual']:.0%})."
    )
    source = (
        f"- **Without a reference**: {free['metric']} is best (SPA {free['spa']:.3f}, rank "
        f"{newest.index(free) + 1} of {len(newest)})."
    )
    return [ranking, source, _describe_lexical_metrics(rows), ADVICE]


def _describe_lexical_metrics(rows: Sequence[Row]) -> str:
    """Describe the lexical metrics in both years."""
    descriptions: list[str] = []
    firsts: set[str] = set()
    for year, name in YEARS.items():
        metrics = _average_over_pairs([row for row in rows if row["year"] == year])
        lexical = [row for row in metrics if row["local"] is not None]
        firsts.add(lexical[0]["metric"])
        above = sum(row["spa"] > lexical[0]["spa"] for row in metrics)
        descriptions.append(
            f"On {name}, {lexical[0]['metric'].removesuffix(', ours')} is the best lexical metric by SPA and "
            f"{lexical[-1]['metric'].removesuffix(', ours')} the last; "
            f"{above} of all {len(metrics)} metrics have a higher SPA than the best lexical metric."
        )
    moved = (
        " The order of lexical metrics depends on the year, so none is preferred." if len(firsts) > 1 else ""
    )
    return f"- **If you can run only a lexical metric**: {' '.join(descriptions)}{moved}"
