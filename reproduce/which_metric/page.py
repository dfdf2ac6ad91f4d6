"""Write docs/which-metric.md: five measures of quality for the metrics of WMT22 and WMT23."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from reproduce.entry import format_range, format_table
from scipy.stats import kendalltau

Row = dict[str, Any]
YEARS = {"wmt23": "WMT23", "wmt22": "WMT22"}
MEASURES = {"spa": "SPA", "acc_eq": "acc_eq", "sysdep": "SysDep", "residual": "residual"}
UNINFORMED_METRICS = {"Random-sysname"}
"""Knows the name of the system, and nothing of the output."""
OUR_MEASURES = ("local", "mean", "corpus")
"""Measured for the metrics that we compute ourselves."""
STUDY = Path(__file__).parents[2] / "benchmarks" / "people_study.json"


def render_page(rows: Sequence[Row]) -> str:
    """Return docs/which-metric.md."""
    lines = ["# Metrics of WMT22 and WMT23", "", INTRODUCTION, ""]
    for year, name in YEARS.items():
        rows_of_year = [row for row in rows if row["year"] == year]
        lines += [f"## {name}", "", _describe_data(rows_of_year), "", *_render_table(rows_of_year), ""]
    lines += ["## Do the measures agree?", "", AGREE, "", *_render_agreement(rows), ""]
    lines += [*_list_findings(rows), ""]
    lines += ["## What to conclude", "", *_list_conclusions(rows)]
    return "\n".join(lines) + "\n"


INTRODUCTION = (Path(__file__).parent / "introduction.md").read_text(encoding="utf-8").rstrip()
ADVICE = (Path(__file__).parent / "advice.md").read_text(encoding="utf-8").rstrip()
AGREE = (
    "The table shows how well two measures agree on the order of metrics. The agreement is the rank"
    " correlation Kendall's τ-b, as the mean over language pairs without `Random-sysname`. For SysDep and"
    " residual, lower counts as better."
)


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
    head = ["metric", "reads", "SPA", "acc_eq", "SysDep", "residual", "local", "mean / corpus"]
    cells = [
        [
            row["metric"],
            row["reads"],
            f"{row['spa']:.3f}",
            f"{row['acc_eq']:.3f}",
            f"{row['sysdep']:.0%}",
            f"{row['residual']:.0%}",
            "" if row["local"] is None else f"{row['local']:.2f}",
            " / ".join(f"{row[name]:.3f}" for name in ("mean", "corpus") if row[name] is not None),
        ]
        for row in _average_over_pairs(rows)
    ]
    return format_table(head, cells)


def _compute_agreement(rows: Sequence[Row], year: str, a: str, b: str) -> float | None:
    """Return the mean agreement of two measures over language pairs; None if too few metrics have both."""
    values = []
    for lp in sorted({row["lp"] for row in rows if row["year"] == year}):
        metrics = [
            row
            for row in rows
            if (row["year"], row["lp"]) == (year, lp)
            and row["metric"] not in UNINFORMED_METRICS
            and None not in (row[a], row[b])
        ]
        if len(metrics) > 4:
            sign = (-1 if a in {"sysdep", "residual"} else 1) * (-1 if b in {"sysdep", "residual"} else 1)
            tau = kendalltau([row[a] for row in metrics], [row[b] for row in metrics]).statistic
            values.append(sign * float(tau))
    values = [value for value in values if np.isfinite(value)]
    return float(np.mean(values)) if values else None


COMPARED = (
    *(
        ("spa", "acc_eq"),
        ("spa", "sysdep"),
        ("spa", "residual"),
        ("acc_eq", "sysdep"),
        ("sysdep", "residual"),
    ),
    *(("local", "spa"), ("local", "acc_eq"), ("local", "residual")),
)


def _render_agreement(rows: Sequence[Row]) -> list[str]:
    cells = []
    for a, b in COMPARED:
        values = [_compute_agreement(rows, year, a, b) for year in YEARS]
        named = [MEASURES.get(name, "local accuracy") for name in (a, b)]
        few = " (7 lexical metrics)" if "local" in (a, b) else ""
        cells.append([f"{named[0]}, {named[1]}{few}", *("" if v is None else f"{v:+.2f}" for v in values)])
    return format_table(["", *YEARS.values()], cells)


def _list_findings(rows: Sequence[Row]) -> list[str]:
    shrunk, fair, local = (
        format_range([tau for year in YEARS if (tau := _compute_agreement(rows, year, a, b)) is not None])
        for a, b in (("acc_eq", "sysdep"), ("spa", "residual"), ("local", "spa"))
    )
    return [
        (
            "- Metrics that order translations of one sentence well (acc_eq) have a lower system dependence"
            f" (SysDep): the rank correlation of the two measures is {shrunk}."
        ),
        (
            "- Metrics that rank systems well (SPA) often favour some systems (a large residual): the rank"
            f" correlation of SPA and a small residual is {fair}."
        ),
        (
            "- Lexical metrics that detect errors (local accuracy) need not rank systems well (SPA): the rank"
            f" correlation of local accuracy and SPA is {local}. {_describe_study()}"
        ),
        _describe_aggregation(rows),
    ]


def _describe_study() -> str:
    """Describe how well local accuracy predicts people in the larger study."""
    study = json.loads(STUDY.read_text(encoding="utf-8"))
    systems, pairs = (study["weights"][way]["equal"] for way in ("spa", "pairs"))
    return (
        f"A [study](do-perturbations-predict-people.md) of {study['metrics']} lexical metrics found a rank"
        f" correlation of local accuracy with SPA of {systems['mean']:.2f}. The rank correlation of local"
        f" accuracy with accuracy on pairs rated by people was {pairs['mean']:.2f}."
    )


def _describe_aggregation(rows: Sequence[Row]) -> str:
    both = [row for row in rows if row["corpus"] is not None]
    gains = [row["mean"] - row["corpus"] for row in both]
    better = sum(gain > 0 for gain in gains)
    return (
        f"- The mean of sentence scores correlates better with human scores than the corpus score in {better}"
        f" of {len(gains)} combinations of metric and language pair."
    )


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
