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
BLIND = {"Random-sysname"}
"""Sees the system's name, and nothing of the output."""
OWN = ("local", "mean", "corpus")
"""What is known of our own metrics alone."""
STUDIED = Path(__file__).parents[2] / "benchmarks" / "people_study.json"


def page(rows: Sequence[Row]) -> str:
    lines = ["# Metrics of WMT22 and WMT23", "", INTRODUCTION, ""]
    for year, name in YEARS.items():
        own = [row for row in rows if row["year"] == year]
        lines += [f"## {name}", "", _described(own), "", *_table(own), ""]
    lines += ["## Do the measures agree?", "", AGREE, "", *_agreement(rows), "", *_reading(rows), ""]
    lines += ["## What to conclude", "", *_conclusions(rows)]
    return "\n".join(lines) + "\n"


INTRODUCTION = (Path(__file__).parent / "introduction.md").read_text(encoding="utf-8").rstrip()
ADVICE = (Path(__file__).parent / "advice.md").read_text(encoding="utf-8").rstrip()
AGREE = (
    "Kendall's τ-b between the orders of metrics, mean over language pairs, without `Random-sysname`. "
    "For SysDep and residual, lower counts as better."
)


def _means(rows: Sequence[Row]) -> list[Row]:
    """One row per metric, over its language pairs, best SPA first."""
    by: dict[str, list[Row]] = {}
    for row in rows:
        by.setdefault(row["metric"], []).append(row)
    found = []
    for metric, own in by.items():
        known = {name: [row[name] for row in own if row[name] is not None] for name in OWN}
        found.append(
            {"metric": metric, "reads": own[0]["reads"], "pairs": len(own)}
            | {name: float(np.mean([row[name] for row in own])) for name in MEASURES}
            | {name: float(np.mean(values)) if values else None for name, values in known.items()}
        )
    return sorted(found, key=lambda row: -row["spa"])


def _described(rows: Sequence[Row]) -> str:
    pairs = sorted({row["lp"] for row in rows})
    return f"{len({row['metric'] for row in rows})} metrics, {', '.join(pairs)}, MQM."


def _table(rows: Sequence[Row]) -> list[str]:
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
        for row in _means(rows)
    ]
    return format_table(head, cells)


def _taus(rows: Sequence[Row], year: str, a: str, b: str) -> float | None:
    """Mean over pairs of the agreement of two measures; None where too few metrics have both."""
    values = []
    for lp in sorted({row["lp"] for row in rows if row["year"] == year}):
        own = [
            row
            for row in rows
            if (row["year"], row["lp"]) == (year, lp)
            and row["metric"] not in BLIND
            and None not in (row[a], row[b])
        ]
        if len(own) > 4:
            sign = (-1 if a in {"sysdep", "residual"} else 1) * (-1 if b in {"sysdep", "residual"} else 1)
            values.append(sign * float(kendalltau([r[a] for r in own], [r[b] for r in own]).statistic))
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


def _agreement(rows: Sequence[Row]) -> list[str]:
    cells = []
    for a, b in COMPARED:
        values = [_taus(rows, year, a, b) for year in YEARS]
        named = [MEASURES.get(name, "local accuracy") for name in (a, b)]
        few = " (7 lexical metrics)" if "local" in (a, b) else ""
        cells.append([f"{named[0]}, {named[1]}{few}", *("" if v is None else f"{v:+.2f}" for v in values)])
    return format_table(["", *YEARS.values()], cells)


def _reading(rows: Sequence[Row]) -> list[str]:
    shrunk, fair, local = (
        format_range([tau for year in YEARS if (tau := _taus(rows, year, a, b)) is not None])
        for a, b in (("acc_eq", "sysdep"), ("spa", "residual"), ("local", "spa"))
    )
    return [
        f"- SysDep and acc_eq agree at {shrunk}: metrics that are good at segments depend less on systems.",
        f"- SPA and the residual agree at {fair}: metrics that rank systems well often have favourites.",
        (
            "- Local accuracy and SPA rank the lexical metrics differently: the rank correlation is "
            f"{local}. {_study()}"
        ),
        _aggregation(rows),
    ]


def _study() -> str:
    """Describe how well local accuracy predicts people in the larger study."""
    known = json.loads(STUDIED.read_text(encoding="utf-8"))
    systems, pairs = (known["weights"][way]["equal"] for way in ("spa", "pairs"))
    return (
        f"With {known['metrics']} lexical metrics on {systems['sets']} data sets it is "
        f"{systems['mean']:.2f} ({systems['low']:.2f} to {systems['high']:.2f}); that of local accuracy with "
        f"accuracy on human pairs is {pairs['mean']:.2f} ({pairs['low']:.2f} to {pairs['high']:.2f}; "
        "[study](do-perturbations-predict-people.md))."
    )


def _aggregation(rows: Sequence[Row]) -> str:
    both = [row for row in rows if row["corpus"] is not None]
    gains = [row["mean"] - row["corpus"] for row in both]
    better = sum(gain > 0 for gain in gains)
    return (
        f"- The mean of segment scores correlates better with people than the corpus score in {better} of "
        f"{len(gains)} cases (metrics by language pairs), by {format_range(gains)}, {np.mean(gains):+.3f} "
        "on average."
    )


def _conclusions(rows: Sequence[Row]) -> list[str]:
    newest = _means([row for row in rows if row["year"] == "wmt23"])
    leaders = newest[:5]
    free = max((row for row in newest if row["reads"] == "source"), key=lambda row: row["spa"])
    fairest = min(leaders, key=lambda row: row["residual"])
    ranking = (
        f"- **To rank systems like those of WMT23**: {', '.join(row['metric'] for row in leaders)} have the "
        f"highest SPA ({leaders[-1]['spa']:.3f} to {leaders[0]['spa']:.3f}). `metassay rank` tests whether "
        "they differ by more than chance. Of these five, "
        f"{fairest['metric']} has the smallest residual ({fairest['residual']:.0%})."
    )
    source = (
        f"- **Without a reference**: {free['metric']} is best (SPA {free['spa']:.3f}, rank "
        f"{newest.index(free) + 1} of {len(newest)})."
    )
    return [ranking, source, _words(rows), ADVICE]


def _words(rows: Sequence[Row]) -> str:
    """Describe the lexical metrics in both years."""
    said: list[str] = []
    firsts: set[str] = set()
    for year, name in YEARS.items():
        metrics = _means([row for row in rows if row["year"] == year])
        own = [row for row in metrics if row["local"] is not None]
        firsts.add(own[0]["metric"])
        above = sum(row["spa"] > own[0]["spa"] for row in metrics)
        said.append(
            f"on {name} {own[0]['metric'].removesuffix(', ours')} is first and "
            f"{own[-1]['metric'].removesuffix(', ours')} last (SPA "
            f"{format_range([row['spa'] for row in own], 3)}; "
            f"{above} of {len(metrics)} metrics are better than the first)"
        )
    moved = " The order depends on the year, so no lexical metric is preferred." if len(firsts) > 1 else ""
    return f"- **If you can run only a lexical metric**: {'; '.join(said)}.{moved}"
