"""The page of the contextual study: every figure and table of H1, and what they show."""

from __future__ import annotations

from typing import Any

from reproduce.contextual.entries import list_agreements
from reproduce.entry import format_p, format_range, format_table
from reproduce.ledger import load_published

Measurements = dict[str, Any]
LANGUAGE_PAIRS = ("en-de", "zh-en", "en-ru")


def render_page(measurements: Measurements) -> str:
    lines = [
        "# Contextual meta-evaluation of lexical metrics",
        "",
        INTRODUCTION,
        "",
        _describe_extent(measurements["every"]),
        "",
    ]
    lines += _list_findings(measurements)
    lines += ["", "## Translations of three language pairs", "", _describe_data(measurements["paper"]), ""]
    lines += ["![Figure 1a](figure-1a.png)", "![Figure 1b](figure-1b.png)", ""]
    lines += _render_h1(
        "system", measurements["paper"], measurements["with references"], _load_published_values("table 5")
    )
    for column, figure in (("lp", None), ("domain", "figure-7"), ("year", "figure-8")):
        lines += [f"![By {column}]({figure}.png)", ""] if figure else []
        lines += _render_h1(column, measurements["paper"])
    lines += [
        "## By perturbation",
        "",
        "![Figure 6](figure-6.png)",
        "",
        *_render_perturbations(measurements["paper"]),
        "",
    ]
    lines += ["![Figure 5](figure-5.png)", "", *_render_variances(measurements["paper"]), ""]
    lines += [
        "## With and without systems that are their own reference",
        "",
        *_render_references(measurements["references"]),
        "",
    ]
    lines += _render_quality(measurements)
    lines += ["## LibriSpeech test-clean", "", _describe_data(measurements["speech"]), ""]
    lines += ["![Figure 2a](figure-2a.png)", "![Figure 2b](figure-2b.png)", ""]
    lines += _render_h1("speaker_id", measurements["speech"], printed=_load_published_values("table 6"))
    lines += ["![Figure 9](figure-9.png)", "", *_render_h1("system", measurements["speech"])]
    lines += ["## The draft: a fifth of the words removed, weighted τ", ""]
    lines += ["![Draft, figure 1a](draft-figure-1a.png)", "![Draft, figure 1b](draft-figure-1b.png)", ""]
    lines += _render_h1("system", measurements["draft"])
    lines += ["![Draft, figure 2a](draft-figure-2a.png)", "![Draft, figure 2b](draft-figure-2b.png)", ""]
    lines += _render_h1("speaker_id", measurements["speech draft"])
    return "\n".join(lines).rstrip() + "\n"


INTRODUCTION = """`python -m reproduce.contextual.run FOLDER` repeats the tests of local metric accuracy (H1
and H2) of Deviyani and Diaz (2025), and of their earlier draft, on public outputs. The tables and figures
have seed 1; the [ledger](../README.md) checks each claim with five seeds. Four of the paper's eight rules are
applied to each output. The paper's ninth perturbation asks a language model and is left out.

Documents are resampled as a whole if the data names them (WMT22). In speech, chapters are resampled, and
elsewhere single items. Systems that are their own reference are left out unless the page says otherwise. The
tables have three p-values: *p* is that of the published chi-square test, *permutation* that of the test that
takes dependent outputs into account, and *CMH* that of a test that is stratified by perturbation."""


def _describe_extent(every: int) -> str:
    if every == 1:
        return "All segments of the translations."
    return f"Every {every}th segment of the translations, with all of its outputs."


def _list_findings(measurements: Measurements) -> list[str]:
    ratios = [row["with"] / row["without"] for row in measurements["references"]]
    rows = measurements["paper"]["contexts"]["system"]["h1"]
    sizes, honest = [row["cramers_v"] for row in rows], [row["p_permutation"] for row in rows]
    flagged = [row["metric"] for row in measurements["paper"]["confounding"] if row["flag"]]
    speakers = measurements["speech"]["contexts"]["speaker_id"]
    overall, between = list_agreements(speakers)
    trends = {
        pair: format_range(list(measurements["quality"][pair]["trend"].values())) for pair in LANGUAGE_PAIRS
    }
    systems = (
        f"- H1 over systems by the permutation test: p {format_range(honest, 3)} over seven metrics, yet "
        "the effects "
        f"are small: Cramér's V {format_range(sizes)}. Within a language pair, keeping systems that are "
        "their own "
        f"reference multiplies chi-square by {format_range(ratios, 0)}."
    )
    methods = (
        "- ROUGE-1 is right in no pair made by swapping. Confounded by perturbation: "
        f"{', '.join(flagged) or 'none'}."
    )
    spoken = (
        "- LibriSpeech: chi-square finds H1 over speakers (p at most "
        f"{format_p(max(row['p'] for row in speakers['h1']))}), the permutation test over chapters p "
        f"{format_range([row['p_permutation'] for row in speakers['h1']], 3)}. The order of the metrics "
        f"agrees with global at {sum(overall) / len(overall):.2f}, between speakers at "
        f"{sum(between) / len(between):.2f}."
    )
    quality = "; ".join(f"{pair} {shown}" for pair, shown in trends.items())
    rising = f"- Spearman of MQM bucket and accuracy: {quality}."
    return ["Results:", "", systems, methods, rising, spoken]


def _load_published_values(what: str) -> dict[str, float]:
    entry = next(e for e in load_published()["entry"] if (e["paper"], e["what"]) == ("000", what))
    names = {"bleu": "nltk_bleu"}  # the paper's BLEU is nltk's
    return {names.get(name, name): value for name, value in entry["values"].items()}


def _describe_data(assay: Measurements) -> str:
    methods = ", ".join(f"{name} {count:,}" for name, count in assay["perturbations"].items())
    unit = assay["cluster"]["column"]
    return (
        f"{assay['items']:,} items, {assay['outputs']:,} outputs, {assay['pairs']:,} pairs ({methods}); "
        f"independent unit: {unit}."
    )


def _render_h1(
    column: str,
    assay: Measurements,
    with_references: Measurements | None = None,
    printed: dict[str, float] | None = None,
) -> list[str]:
    """Accuracies and H1; `with_references` adds the run that keeps references, `printed` the published "
    "chi-square.
    """
    part = assay["contexts"][column]
    if part["h1"] is None:
        return [f"`{column}` has one value: nothing to test.", ""]
    accuracy = {row["metric"]: row["accuracy"] for row in assay["global"]}
    other = (
        {row["metric"]: row for row in with_references["contexts"][column]["h1"]} if with_references else {}
    )
    head = ["metric", "accuracy", "chi² (dof)", "p", "permutation", "CMH", "V"]
    head += ["chi² with references", "permutation with references"] if other else []
    head += ["published chi²"] if printed else []
    rows = []
    for row in part["h1"]:
        name = row["metric"]
        cells = [name, f"{accuracy[name]:.3f}", f"{row['chi2']:.0f} ({row['dof']})"]
        cells += [format_p(row[key]) for key in ("p", "p_permutation", "p_cmh")] + [f"{row['cramers_v']:.3f}"]
        if other:
            cells += [f"{other[name]['chi2']:.0f}", format_p(other[name]["p_permutation"])]
        if printed:
            cells.append(f"{printed[name]:,.0f}" if name in printed else "")
        rows.append(cells)
    if printed:
        blank = [""] * (len(head) - 2)
        rows += [[name, *blank, f"{value:,.0f}"] for name, value in printed.items() if name not in accuracy]
    overall, between = list_agreements(part) if part["h2"] else ([], [])
    agreed = (
        f"H2 ({part['h2']['statistic']}): agreement with global {format_range(overall)}, between contexts "
        f"{format_range(between)}."
        if between
        else ""
    )
    return [
        f"H1 by `{column}`, {part['h1'][0]['dof'] + 1} contexts:",
        "",
        *format_table(head, rows),
        "",
        agreed,
        "",
    ]


def _render_perturbations(assay: Measurements) -> list[str]:
    rows = assay["confounding"]
    methods = list(rows[0]["by_method"])
    cells = [
        [row["metric"], *(format_p(row["by_method"][m]) for m in methods), "yes" if row["flag"] else ""]
        for row in rows
    ]
    return [
        "Accuracy by perturbation, all that apply:",
        "",
        *format_table(["metric", *methods, "confounded"], cells),
    ]


def _render_variances(assay: Measurements) -> list[str]:
    rows = assay["confounding"]
    head = ["metric", *(f"k = {step['k']}" for step in rows[0]["by_k"])]
    cells = [[row["metric"], *(f"{step['variance']:.5f}" for step in row["by_k"])] for row in rows]
    return ["Variance of the mean accuracy over combinations of k methods:", "", *format_table(head, cells)]


def _render_references(rows: list[Measurements]) -> list[str]:
    head = ["language pair", "metric", "chi² without", "chi² with", "ratio"]
    cells = [
        [
            row["pair"],
            row["metric"],
            *(f"{row[kind]:.0f}" for kind in ("without", "with")),
            f"{row['with'] / row['without']:.1f}",
        ]
        for row in rows
    ]
    return format_table(head, cells)


def _render_quality(measurements: Measurements) -> list[str]:
    lines = ["## By quality, WMT22", ""]
    for pair, figure in (("en-de", 4), ("en-ru", 10), ("zh-en", 11)):
        part = measurements["quality"][pair]
        shown = ", ".join(f"{name} {value:.2f}" for name, value in part["trend"].items())
        lines += [f"{pair}: Spearman of MQM bucket ({part['buckets']} of them) and accuracy: {shown}.", ""]
        lines += [f"![Figure {figure}](figure-{figure}.png)", ""]
    return lines
