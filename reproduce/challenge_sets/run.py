"""Which phenomena of DEMETR (Karpinska et al., 2022) each lexical metric does not notice.

    python -m reproduce.challenge_sets.run FOLDER

Writes README.md next to this file with the tables of docs/challenge-sets.md: accuracy per phenomenon,
severity and language; for each metric, the phenomena on which it mostly ties and those on which it is right
in less than half of the pairs; and our perturbations of the same outputs next to DEMETR's pairs of the same
phenomenon.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metassay.data.dataset import Dataset
from metassay.metrics.labels import get_metric_label
from metassay.stats.rank_correlation import correlate_rows
from metassay.workflows.assay import assay
from metassay.workflows.read import read

FOLDER = Path(__file__).parent
METRICS = "bleu,chrf,chrf++,ter,rouge1,rouge2,rougel,meteor"
CORRESPONDING_PHENOMENA = {
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
"""Our perturbations, and the phenomena of DEMETR that correspond to them."""


def main() -> None:
    pairs = read(Path(sys.argv[1]) / "challenge/demetr.parquet", pairs=True, task="mt", language="en")
    result = assay(pairs, metrics=METRICS, seed=1).to_dict()
    left_out = ", ".join(f"{count:,} ({why})" for why, count in result["left_out"].items() if count)
    lines = ["# DEMETR, and what eight lexical metrics overlook", "", INTRODUCTION, ""]
    lines += [f"{result['pairs']:,} pairs" + (f"; left out: {left_out}." if left_out else "."), ""]
    overall = {row["metric"]: row for row in result["global"]}
    for column, content in result["contexts"].items():
        lines += [f"## By {column}", "", *render_context(column, content, overall)]
    lines += ["## DEMETR's pairs and ours", "", compare_with_our_pairs(pairs, result)]
    (FOLDER / "README.md").write_text("\n".join(lines), encoding="utf-8")


INTRODUCTION = """`python -m reproduce.challenge_sets.run FOLDER` writes this page (seed 1). The tables show
in how many per cent of pairs a metric scores the better text higher. Equal scores count as wrong.
[docs/challenge-sets.md](../../docs/challenge-sets.md) explains the tables."""


def render_context(column: str, content: dict[str, Any], overall: dict[str, Any]) -> list[str]:
    """Render the table of one column, easiest context first, and its tests."""
    rows = content["local_accuracy"]
    contexts = list(dict.fromkeys(row["context"] for row in rows))
    by = {(row["context"], row["metric"]): row for row in rows}
    contexts.sort(key=lambda context: -sum(by[context, metric]["micro"] for metric in overall))
    body = [[context, *(by[context, metric] for metric in overall)] for context in contexts]
    lines = [format_table([column, *map(get_metric_label, overall)], [*body, ["all", *overall.values()]])]
    if column == "perturbation":
        head = ["metric", "mostly a tie", "else right in less than half"]
        lines.append(format_table(head, list_unnoticed(list(overall), contexts, by)))
    sizes = ", ".join(f"{get_metric_label(row['metric'])} {row['cramers_v']:.2f}" for row in content["h1"])
    largest = max(row["p_permutation"] for row in content["h1"])
    agreement = dict(zip(content["h2"]["contexts"], content["h2"]["matrix"][0]))
    lowest = sorted((value, name) for name, value in agreement.items() if value is not None)[:3]
    least = ", ".join(f"{name} {value:.2f}" for value, name in lowest)
    lines.append(f"- H1: Cramér's V {sizes}; largest p of the permutation test {largest:g}.")
    lines.append(f"- H2, least agreement with all pairs together ({content['h2']['statistic']}): {least}.")
    return [*lines, ""]


def compare_with_our_pairs(pairs: Dataset, result: dict[str, Any]) -> str:
    """Render accuracies on DEMETR's pairs and on our perturbations of the same outputs: `theirs / ours`."""
    outputs = pairs.outputs.unique(["item", "system"], keep="first", maintain_order=True)
    our_dataset = read(outputs.drop("worse", "perturbation"), task="mt", language="en")
    settings = {
        "perturbations": ",".join(CORRESPONDING_PHENOMENA),
        "per_output": len(CORRESPONDING_PHENOMENA),
        "contexts": ["language"],
    }
    our_result = assay(our_dataset, metrics=METRICS, seed=1, **settings).to_dict()
    rows = result["contexts"]["perturbation"]["local_accuracy"]
    theirs = {(row["context"], row["metric"]): row for row in rows}
    ours = {row["metric"]: row["by_method"] for row in our_result["confounding"]}
    metrics = [row["metric"] for row in result["global"]]
    body = []
    orders = []
    for method, phenomena in CORRESPONDING_PHENOMENA.items():
        their_accuracies = []
        count = 0
        for metric in metrics:
            rows_of_metric = [theirs[name, metric] for name in phenomena]
            count = sum(row["pairs"] for row in rows_of_metric)
            their_accuracies.append(sum(row["micro"] * row["pairs"] for row in rows_of_metric) / count)
        our_accuracies = [ours[metric][method] for metric in metrics]
        orders.append((their_accuracies, our_accuracies))
        cells = [
            f"{100 * one:.0f} / {100 * other:.0f}" for one, other in zip(their_accuracies, our_accuracies)
        ]
        tau = float(correlate_rows(np.array(their_accuracies), np.array(our_accuracies), "kendall")[0])
        counts = f"{count:,} / {our_result['perturbations'][method]:,}"
        body.append([method, ", ".join(phenomena), counts, *cells, f"{tau:.2f}"])
    their_means = np.mean([theirs for theirs, _ in orders], axis=0)
    our_means = np.mean([ours for _, ours in orders], axis=0)
    tau = float(correlate_rows(their_means, our_means, "kendall")[0])
    cells = [f"{100 * one:.0f} / {100 * other:.0f}" for one, other in zip(their_means, our_means)]
    body.append(["mean", "", "", *cells, f"{tau:.2f}"])
    header = ["ours", "DEMETR’s", "pairs", *map(get_metric_label, metrics), "τ"]
    return format_table(header, body)


def list_unnoticed(metrics: Sequence[str], contexts: Sequence[str], by: dict[Any, Any]) -> list[list[Any]]:
    """Return, for each metric, phenomena with mostly ties, and others with less than half of pairs right."""
    rows = []
    for metric in metrics:
        tied = [c for c in contexts if by[c, metric]["ties"] >= 0.5]
        wrong = [c for c in contexts if c not in tied and by[c, metric]["micro"] < 0.5]
        rows.append([get_metric_label(metric), ", ".join(tied) or "–", ", ".join(wrong) or "–"])
    return rows


def format_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table; a cell that is a row of accuracies becomes a percentage."""
    shown = [
        [f"{100 * cell['micro']:.0f}" if isinstance(cell, dict) else str(cell) for cell in row]
        for row in rows
    ]
    rule = ["---", *("---" if isinstance(rows[0][1], str) else "--:" for _ in header[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *shown)) + "\n"


if __name__ == "__main__":
    main()
