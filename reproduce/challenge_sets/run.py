"""Which phenomena of DEMETR (Karpinska et al., 2022) each lexical metric cannot see.

    python -m reproduce.challenge_sets.run FOLDER

Writes README.md beside this file with the tables of docs/challenge-sets.md: accuracy per phenomenon, severity
and language, and, per metric, the phenomena on which it mostly ties and the others on which it is right in
less than half of the pairs; and our own perturbations of the same outputs beside DEMETR's pairs of the same
phenomenon.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metassay.data.dataset import Dataset
from metassay.metrics.labels import label_metric
from metassay.stats.rank_correlation import correlate_rows
from metassay.workflows.assay import assay
from metassay.workflows.read import read

HERE = Path(__file__).parent
METRICS = "bleu,chrf,chrf++,ter,rouge1,rouge2,rougel,meteor"
ALIKE = {
    "removal": ("noun_removed", "verb_removed", "adj_adv_removed", "conj_removed"),
    "clause_removal": ("pp_removed",),
    "insertion": ("addition",),
    "swapping": ("word_swap",),
    "entity": ("ne_replaced",),
    "number": ("numbers_replaced",),
    "negation": ("negation",),
    "gender": ("gender",),
    "tense": ("tense",),
    "antonym": ("antonym",),
    "hypernym": ("hypernym",),
    "untranslated": ("codemix",),
}
"""Our methods, and the phenomena of DEMETR that ask the same of a metric."""


def main() -> None:
    pairs = read(Path(sys.argv[1]) / "challenge/demetr.parquet", pairs=True, task="mt", language="en")
    found = assay(pairs, metrics=METRICS, seed=1).to_dict()
    left_out = ", ".join(f"{count:,} ({why})" for why, count in found["left_out"].items() if count)
    lines = ["# DEMETR, and what eight lexical metrics overlook", "", INTRODUCTION, ""]
    lines += [f"{found['pairs']:,} pairs" + (f"; left out: {left_out}." if left_out else "."), ""]
    overall = {row["metric"]: row for row in found["global"]}
    for column, part in found["contexts"].items():
        lines += [f"## By {column}", "", *by_context(column, part, overall)]
    lines += ["## DEMETR's pairs and ours", "", side_by_side(pairs, found)]
    (HERE / "README.md").write_text("\n".join(lines), encoding="utf-8")


INTRODUCTION = """Made by `python -m reproduce.challenge_sets.run FOLDER`, seed 1. Per cent of pairs in which
a metric scores the better text higher, a tie being wrong; what the tables mean is in
[docs/challenge-sets.md](../../docs/challenge-sets.md)."""


def by_context(column: str, part: dict[str, Any], overall: dict[str, Any]) -> list[str]:
    """The table of one column, easiest context first, and its tests."""
    rows = part["local_accuracy"]
    contexts = list(dict.fromkeys(row["context"] for row in rows))
    by = {(row["context"], row["metric"]): row for row in rows}
    contexts.sort(key=lambda context: -sum(by[context, metric]["micro"] for metric in overall))
    body = [[context, *(by[context, metric] for metric in overall)] for context in contexts]
    lines = [table([column, *map(label_metric, overall)], [*body, ["all", *overall.values()]])]
    if column == "perturbation":
        head = ["metric", "mostly a tie", "else right in less than half"]
        lines.append(table(head, overlooked(list(overall), contexts, by)))
    sizes = ", ".join(f"{label_metric(row['metric'])} {row['cramers_v']:.2f}" for row in part["h1"])
    largest = max(row["p_permutation"] for row in part["h1"])
    agreement = dict(zip(part["h2"]["contexts"], part["h2"]["matrix"][0]))
    lowest = sorted((value, name) for name, value in agreement.items() if value is not None)[:3]
    least = ", ".join(f"{name} {value:.2f}" for value, name in lowest)
    lines.append(f"- H1: Cramér's V {sizes}; largest p of the permutation test {largest:g}.")
    lines.append(f"- H2, least agreement with all pairs together ({part['h2']['statistic']}): {least}.")
    return [*lines, ""]


def side_by_side(pairs: Dataset, found: dict[str, Any]) -> str:
    """Accuracy on DEMETR's pairs of a phenomenon and on ours, made of the same outputs: `theirs / ours`."""
    outputs = pairs.outputs.unique(["item", "system"], keep="first", maintain_order=True)
    own = read(outputs.drop("worse", "perturbation"), task="mt", language="en")
    settings = {"perturbations": ",".join(ALIKE), "per_output": len(ALIKE), "contexts": ["language"]}
    made = assay(own, metrics=METRICS, seed=1, **settings).to_dict()
    rows = found["contexts"]["perturbation"]["local_accuracy"]
    theirs = {(row["context"], row["metric"]): row for row in rows}
    ours = {row["metric"]: row["by_method"] for row in made["confounding"]}
    metrics = [row["metric"] for row in found["global"]]
    body, orders = [], []
    for method, phenomena in ALIKE.items():
        there, count = [], 0
        for metric in metrics:
            told = [theirs[name, metric] for name in phenomena]
            count = sum(row["pairs"] for row in told)
            there.append(sum(row["micro"] * row["pairs"] for row in told) / count)
        here = [ours[metric][method] for metric in metrics]
        orders.append((there, here))
        cells = [f"{100 * one:.0f} / {100 * other:.0f}" for one, other in zip(there, here)]
        tau = float(correlate_rows(np.array(there), np.array(here), "kendall")[0])
        counts = f"{count:,} / {made['perturbations'][method]:,}"
        body.append([method, ", ".join(phenomena), counts, *cells, f"{tau:.2f}"])
    means = [np.mean(side, axis=0) for side in zip(*orders)]
    tau = float(correlate_rows(*means, "kendall")[0])
    body.append(["mean", "", "", *(f"{100 * a:.0f} / {100 * b:.0f}" for a, b in zip(*means)), f"{tau:.2f}"])
    header = ["ours", "DEMETR’s", "pairs", *map(label_metric, metrics), "τ"]
    return table(header, body)


def overlooked(metrics: Sequence[str], contexts: Sequence[str], by: dict[Any, Any]) -> list[list[Any]]:
    """Per metric, the phenomena on which it mostly ties; others where it is right in less than half."""
    rows = []
    for metric in metrics:
        tied = [c for c in contexts if by[c, metric]["ties"] >= 0.5]
        wrong = [c for c in contexts if c not in tied and by[c, metric]["micro"] < 0.5]
        rows.append([label_metric(metric), ", ".join(tied) or "–", ", ".join(wrong) or "–"])
    return rows


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table; an accuracy row shows as per cent."""
    shown = [
        [f"{100 * cell['micro']:.0f}" if isinstance(cell, dict) else str(cell) for cell in row]
        for row in rows
    ]
    rule = ["---", *("---" if isinstance(rows[0][1], str) else "--:" for _ in header[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *shown)) + "\n"


if __name__ == "__main__":
    main()
