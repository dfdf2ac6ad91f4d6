"""The page of the contextual study: every figure and table of H1, and what they show."""

from __future__ import annotations

from typing import Any

from reproduce.contextual.entries import agreements
from reproduce.entry import ends, small, table
from reproduce.ledger import published

Found = dict[str, Any]
PAIRS = ("en-de", "zh-en", "en-ru")


def page(found: Found) -> str:
    lines = [
        "# Contextual meta-evaluation of lexical metrics",
        "",
        INTRODUCTION,
        "",
        _extent(found["every"]),
        "",
    ]
    lines += _findings(found)
    lines += ["", "## Translations of three language pairs", "", _counts(found["all"]), ""]
    lines += ["![Figure 1a](figure-1a.png)", "![Figure 1b](figure-1b.png)", ""]
    lines += _h1_table("system", found["all"], found["kept"], _printed("table 5"))
    for column, figure in (("lp", None), ("domain", "figure-7"), ("year", "figure-8")):
        lines += [f"![By {column}]({figure}.png)", ""] if figure else []
        lines += _h1_table(column, found["all"])
    lines += ["## By perturbation", "", "![Figure 6](figure-6.png)", "", *_by_method(found["all"]), ""]
    lines += ["![Figure 5](figure-5.png)", "", *_by_k(found["all"]), ""]
    lines += ["## With and without systems that are their own reference", "", *_pairs(found["pairs"]), ""]
    lines += _quality(found)
    lines += ["## LibriSpeech test-clean", "", _counts(found["speech"]), ""]
    lines += ["![Figure 2a](figure-2a.png)", "![Figure 2b](figure-2b.png)", ""]
    lines += _h1_table("speaker_id", found["speech"], printed=_printed("table 6"))
    lines += ["![Figure 9](figure-9.png)", "", *_h1_table("system", found["speech"])]
    lines += ["## The draft: a fifth of the words removed, weighted τ", ""]
    lines += ["![Draft, figure 1a](draft-figure-1a.png)", "![Draft, figure 1b](draft-figure-1b.png)", ""]
    lines += _h1_table("system", found["draft"])
    lines += ["![Draft, figure 2a](draft-figure-2a.png)", "![Draft, figure 2b](draft-figure-2b.png)", ""]
    lines += _h1_table("speaker_id", found["speech draft"])
    return "\n".join(lines).rstrip() + "\n"


INTRODUCTION = """Local metric accuracy, H1 and H2 (Deviyani and Diaz, 2025, and their draft) on public
outputs, made by `python -m reproduce.contextual.run FOLDER` with seed 1: four of the paper's eight rules
per output (its ninth method asks a language model). Independent units are documents where the data names
them (WMT22), chapters in speech, items elsewhere. Systems that are their own reference are left out, and
kept for comparison where the page says so. p is the published chi-square test's, *permutation* that of
the test which respects dependence, CMH that of the test stratified by perturbation."""


def _extent(every: int) -> str:
    if every == 1:
        return "All segments of the translations."
    return f"Of the translations one segment in {every}, with all of its outputs (`EVERY`), to spare time."


def _findings(found: Found) -> list[str]:
    ratios = [row["kept"] / row["without"] for row in found["pairs"]]
    rows = found["all"]["contexts"]["system"]["h1"]
    sizes, honest = [row["cramers_v"] for row in rows], [row["p_permutation"] for row in rows]
    flagged = [row["metric"] for row in found["all"]["confounding"] if row["flag"]]
    speakers = found["speech"]["contexts"]["speaker_id"]
    overall, between = agreements(speakers)
    trends = {pair: ends(list(found["quality"][pair]["trend"].values())) for pair in PAIRS}
    systems = (
        f"- H1 over systems by the permutation test: p {ends(honest, 3)} over seven metrics, yet the effects "
        f"are small: Cramér's V {ends(sizes)}. Within a language pair, keeping systems that are their own "
        f"reference multiplies chi-square by {ends(ratios, 0)}."
    )
    methods = (
        "- ROUGE-1 is right in no pair made by swapping. Flagged as confounded by method: "
        f"{', '.join(flagged) or 'none'}."
    )
    spoken = (
        f"- LibriSpeech: chi-square finds H1 over speakers (p at most "
        f"{small(max(row['p'] for row in speakers['h1']))}), the permutation test over chapters "
        f"p {ends([row['p_permutation'] for row in speakers['h1']], 3)}. The order of the metrics agrees "
        f"with global at {sum(overall) / len(overall):.2f}, between speakers at "
        f"{sum(between) / len(between):.2f}."
    )
    quality = "; ".join(f"{pair} {shown}" for pair, shown in trends.items())
    rising = f"- Spearman of MQM bucket and accuracy: {quality}."
    return ["What it shows:", "", systems, methods, rising, spoken]


def _printed(what: str) -> dict[str, float]:
    entry = next(e for e in published()["entry"] if (e["paper"], e["what"]) == ("000", what))
    names = {"bleu": "nltk_bleu"}  # the paper's BLEU is nltk's
    return {names.get(name, name): value for name, value in entry["values"].items()}


def _counts(found: Found) -> str:
    methods = ", ".join(f"{name} {count:,}" for name, count in found["perturbations"].items())
    unit = found["cluster"]["column"]
    return (
        f"{found['items']:,} items, {found['outputs']:,} outputs, {found['pairs']:,} pairs ({methods}); "
        f"independent unit: {unit}."
    )


def _h1_table(
    column: str, found: Found, kept: Found | None = None, printed: dict[str, float] | None = None
) -> list[str]:
    """Accuracies and H1; `kept` adds the run that keeps references, `printed` the published chi-square."""
    part = found["contexts"][column]
    if part["h1"] is None:
        return [f"`{column}` has one value: nothing to test.", ""]
    accuracy = {row["metric"]: row["accuracy"] for row in found["global"]}
    other = {row["metric"]: row for row in kept["contexts"][column]["h1"]} if kept else {}
    head = ["metric", "accuracy", "chi² (dof)", "p", "permutation", "CMH", "V"]
    head += ["chi² with references", "permutation with references"] if other else []
    head += ["published chi²"] if printed else []
    rows = []
    for row in part["h1"]:
        name = row["metric"]
        cells = [name, f"{accuracy[name]:.3f}", f"{row['chi2']:.0f} ({row['dof']})"]
        cells += [small(row[key]) for key in ("p", "p_permutation", "p_cmh")] + [f"{row['cramers_v']:.3f}"]
        if other:
            cells += [f"{other[name]['chi2']:.0f}", small(other[name]["p_permutation"])]
        if printed:
            cells.append(f"{printed[name]:,.0f}" if name in printed else "")
        rows.append(cells)
    if printed:
        blank = [""] * (len(head) - 2)
        rows += [[name, *blank, f"{value:,.0f}"] for name, value in printed.items() if name not in accuracy]
    overall, between = agreements(part) if part["h2"] else ([], [])
    agreed = (
        f"H2 ({part['h2']['statistic']}): agreement with global {ends(overall)}, between contexts "
        f"{ends(between)}."
        if between
        else ""
    )
    return [f"H1 by `{column}`, {part['h1'][0]['dof'] + 1} contexts:", "", *table(head, rows), "", agreed, ""]


def _by_method(found: Found) -> list[str]:
    rows = found["confounding"]
    methods = list(rows[0]["by_method"])
    cells = [
        [row["metric"], *(small(row["by_method"][m]) for m in methods), "yes" if row["flag"] else ""]
        for row in rows
    ]
    return [
        "Accuracy by perturbation, all that apply:",
        "",
        *table(["metric", *methods, "confounded"], cells),
    ]


def _by_k(found: Found) -> list[str]:
    rows = found["confounding"]
    head = ["metric", *(f"k = {step['k']}" for step in rows[0]["by_k"])]
    cells = [[row["metric"], *(f"{step['variance']:.5f}" for step in row["by_k"])] for row in rows]
    return ["Variance of the mean accuracy over combinations of k methods:", "", *table(head, cells)]


def _pairs(rows: list[Found]) -> list[str]:
    head = ["language pair", "metric", "chi² without", "chi² with", "ratio"]
    cells = [
        [
            row["pair"],
            row["metric"],
            *(f"{row[kind]:.0f}" for kind in ("without", "kept")),
            f"{row['kept'] / row['without']:.1f}",
        ]
        for row in rows
    ]
    return table(head, cells)


def _quality(found: Found) -> list[str]:
    lines = ["## By quality, WMT22", ""]
    for pair, figure in (("en-de", 4), ("en-ru", 10), ("zh-en", 11)):
        part = found["quality"][pair]
        shown = ", ".join(f"{name} {value:.2f}" for name, value in part["trend"].items())
        lines += [f"{pair}: Spearman of MQM bucket ({part['buckets']} of them) and accuracy: {shown}.", ""]
        lines += [f"![Figure {figure}](figure-{figure}.png)", ""]
    return lines
