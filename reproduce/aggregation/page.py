"""The page on corpus, segment and bootstrap scores."""

from __future__ import annotations

from typing import Any

from reproduce.entry import format_table
from reproduce.ledger import load_published

Measurements = dict[str, Any]


def render_page(ours: Measurements) -> str:
    lines = ["# Corpus, segment and bootstrap aggregation (Cavalin et al. 2024)", "", INTRODUCTION, ""]
    lines += ["## Table 1: agreement with human scores", "", TABLE_1, ""]
    for human, what in (("mqm", "MQM"), ("da_sqm", "DA")):
        printed = load_published_values(f"table 1, {what}")
        wrong = ours["transposed"][human]
        rows = [
            [name, f"{value:.3f}", _format_cell(ours[human], name), _format_cell(wrong, name)]
            for name, value in printed.items()
        ]
        lines += [*format_table(["metric", f"published, {what}", "ours", "references transposed"], rows), ""]
    lines += [MISTAKE, "", "## Figures 1 to 4: means, and agreement among aggregations", "", AMONG, ""]
    printed = (
        load_published_values("figure 1")
        | load_published_values("figure 2")
        | load_published_values("figure 3")
    )
    lines += [
        *format_table(["", "published", "ours", "references transposed"], _list_comparisons(printed, ours)),
        "",
        BOOTSTRAP,
        "",
    ]
    lines += ["## Figure 5: few segments", "", FEW, "", *_render_subsets(ours), "", NEARER]
    return "\n".join(lines) + "\n"


INTRODUCTION = """    python -m reproduce.aggregation.run FOLDER

on the rated segments of WMT23 en-de, he-en and zh-en (40 systems; human references left out, but for he-en,
where one human translation is rated against another); sacrebleu's default BLEU and chrF, seed 1; the
[ledger](../README.md) checks the claims with five seeds. `ours.json` has every figure."""
TABLE_1 = """Mean over language pairs of the Pearson correlation between system scores and mean human scores.
Corpus scores bear the plain name, means of segment scores `m-`, bootstrap scores `x-`. DA is published for
eight language pairs; of these en-de and zh-en are here (DA+SQM)."""
MISTAKE = """**We do not get the published figures for BLEU and chrF.** Every corpus score here equals
sacrebleu's, and with it corpus scores agree with people nearly as well as segment means, or better.

The last column repeats a mistake that is easily made. sacrebleu's corpus functions take references as one
list per *stream* (`[refs]`). Given one list per *segment* (`[[r] for r in refs]`), they score the first
segment alone, against all references, and say nothing. The bootstrap score then becomes a mean over segments,
so that it resembles `m-BLEU`, and the corpus score that of a single sample, as in the paper. Whether it
happened cannot be seen from the paper. The fit is partial: the correlations of BLEU and chrF move to the
published ones but do not meet them, and the mistake explains neither the published m-BLEU nor BLEURT, which
do not depend on it. metassay refuses references in that shape. `x-chrF` is left out of that column because
it takes too long (every output against every reference). Its means are over all segments, also those without
DA."""
AMONG = """Means of scores (as shares of 100) and Pearson over all systems; published over 492 systems of 147
language pairs, ours over 40 of three."""
BOOTSTRAP = """A bootstrap score is the mean of corpus scores over resamples of the same segments: it must
agree with the corpus score almost perfectly, whatever the data. A correlation of .53 cannot come from correct
corpus scores."""
FEW = """Scores on random subsets against each other and against the full bootstrap; median over 1000 draws
(200 with references transposed) and the central 95 %."""
NEARER = """In the paper, corpus scores on subsets do not come nearer to the bootstrap as segments are added.
Here they do, as fast as segment means and in the end closer."""


def load_published_values(what: str) -> dict[str, float]:
    """Return the printed numbers of a table or figure of the paper."""
    values: dict[str, float] = next(
        e["values"] for e in load_published()["entry"] if (e["paper"], e["what"]) == ("001", what)
    )
    return values


def _format_cell(values: Measurements, name: str) -> str:
    return f"{values[name]:.3f}" if name in values else ""


def _list_comparisons(printed: dict[str, float], ours: Measurements) -> list[list[str]]:
    rows = []
    for name, value in printed.items():
        if name.startswith("mean_"):
            key = name.removeprefix("mean_")
            cells = [f"mean {key}", ours["means"].get(key), ours["transposed"]["means"].get(key)]
        else:
            x, y = name.split("_")
            cells = [f"{x}, {y}"]
            for source in (ours["between"], ours["transposed"]["between"]):
                cells.append(source.get(f"{x} {y}", source.get(f"{y} {x}")))
        rows.append([cells[0], f"{value:.2f}", *("" if c is None else f"{c:.3f}" for c in cells[1:])])
    return rows


def _render_subsets(ours: Measurements) -> list[str]:
    wrong = {
        (row["metric"], row["aggregation"], row["against"], row["segments"]): row["median"]
        for row in ours["transposed"]["downsampled"][0]
    }
    rows = []
    for row in ours["downsampled"]:
        key = (row["metric"], row["aggregation"], row["against"], row["segments"])
        also = f"{wrong[key]:.3f}" if key in wrong else ""
        rows.append([*key, f"{row['median']:.3f}", f"{row['low']:.3f} to {row['high']:.3f}", also])
    return format_table(
        ["metric", "scores", "against", "segments", "median", "95 % range", "transposed"], rows
    )
