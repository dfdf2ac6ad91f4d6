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

The script computes BLEU and chrF with the default settings of sacrebleu on the rated segments of WMT23 en-de,
he-en and zh-en (40 systems, seed 1). Human references are left out as systems, except in he-en, where a
second human translation was rated. The [ledger](../README.md) checks the claims with five seeds. `ours.json`
has every figure."""
TABLE_1 = """The table shows the Pearson correlation between system scores and mean human scores, as a mean
over language pairs. `bleu` is a corpus score, `m-bleu` a mean of segment scores, and `x-bleu` a bootstrap
score. The paper has DA scores of eight language pairs. We have en-de and zh-en (DA+SQM)."""
MISTAKE = """**We do not get the published figures for BLEU and chrF.** Our corpus scores equal those of
sacrebleu. They agree with people about as well as means of segment scores do.

The last column repeats a mistake that is easily made. The corpus functions of sacrebleu expect one list of
references per *stream* (`[refs]`). If they get one list per *segment* (`[[r] for r in refs]`), they score
only the first segment against all references, without a warning. The corpus score then depends on a single
segment, and the bootstrap score becomes a mean over segments, similar to `m-BLEU`. The paper shows the same
pattern. The paper does not tell whether this mistake was made. With the mistake, our correlations of BLEU and
chrF come closer to the published ones, but do not equal them. The mistake does not explain the published
values of m-BLEU and BLEURT. metassay reports an error for references in that shape. The last column has no
`x-chrF`, because it takes too long to compute. The means of the last column are over all segments, also those
without DA."""
AMONG = """The table shows means of scores (as shares of 100) and Pearson correlations over all systems. The
published values are over 492 systems of 147 language pairs, and ours are over 40 systems of three language
pairs."""
BOOTSTRAP = """A bootstrap score is the mean of corpus scores over resamples of the same segments. It must
therefore agree with the corpus score almost perfectly on any data. Correct corpus scores cannot have a
correlation of .53 with bootstrap scores."""
FEW = """The table shows correlations between scores on random subsets of segments, and with the bootstrap
score on all segments: the median over 1000 draws (200 with references transposed) and the central 95 %."""
NEARER = """In the paper, corpus scores on subsets do not come closer to the bootstrap score with more
segments. In our results, they come closer as fast as means of segment scores, and closer in the end."""


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
