"""The lines of the ledger for which translations and transcripts stand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from reproduce.entry import Entry, ends

Found = dict[str, Any]
LOW = 0.5
"""Below this the orders of metrics in two contexts differ considerably."""


def entries(found: Found) -> dict[str, Entry]:
    everything, speech = found["all"]["contexts"], found["speech"]["contexts"]
    draft, early = found["draft"]["contexts"], found["speech draft"]["contexts"]
    lines = {
        "000 table 5": _chi_square(found["all"], found["kept"]),
        "000 table 6": _speakers(speech["speaker_id"]),
        "000 figure 1a": _changing(everything["system"], "systems", crossing=True),
        "000 figure 1b": _varying(everything["system"], "systems"),
        "000 figure 2a": _changing(speech["speaker_id"], "speakers", crossing=False),
        "000 figure 2b": _agreeing(speech["speaker_id"]),
        "000 figure 5": _combined(found["all"]["confounding"]),
        "000 figure 6": _single(found["single"], found["all"]["confounding"]),
        "000 figure 7": _changing(everything["domain"], "domains", crossing=True),
        "000 figure 8": _changing(everything["year"], "years", crossing=True),
        "000 figure 9": _changing(speech["system"], "systems", crossing=False),
        "002 figure 1a": _changing(draft["system"], "systems", crossing=True),
        "002 figure 1b": _varying(draft["system"], "systems"),
        "002 figure 2a": _changing(early["speaker_id"], "speakers", crossing=False),
        "002 figure 2b": _agreeing(early["speaker_id"]),
    }
    for figure, pair in (("4", "en-de"), ("10", "en-ru"), ("11", "zh-en")):
        lines[f"000 figure {figure}"] = _by_quality(found["quality"][pair])
    return lines


def _chi_square(found: Found, kept: Found) -> Entry:
    part, pairs = found["contexts"]["system"], found["pairs"]
    own = {_printed(row["metric"]): row["chi2"] for row in part["h1"]}
    with_references = {_printed(row["metric"]): row["chi2"] for row in kept["contexts"]["system"]["h1"]}
    ratios = [with_references[name] / own[name] for name in own]
    shown = (
        f"{len(own)} lexical metrics, {pairs:,} pairs, {part['h1'][0]['dof'] + 1} systems: "
        f"{ends(list(own.values()), 0)}; "
        f"with systems that are their own reference {ends(list(with_references.values()), 0)}, "
        f"{ends(ratios, 0)} times as much"
    )
    return Entry(shown, own, _h1_checks(part))


def _printed(metric: str) -> str:
    """The paper's name: its BLEU is nltk's."""
    return {"nltk_bleu": "bleu", "bleu": "sacrebleu"}.get(metric, metric)


def _speakers(part: Found) -> Entry:
    own = {row["metric"]: row["chi2"] for row in part["h1"]}
    honest = [row["p_permutation"] for row in part["h1"]]
    shown = (
        f"{part['h1'][0]['dof'] + 1} speakers: {ends(list(own.values()), 0)}, WIL and WIP "
        f"{own['wil']:.0f} and {own['wip']:.0f}; by the permutation test over whole units p {ends(honest, 3)}"
    )
    return Entry(shown, own, {"every metric has p < .05": all(row["p"] < 0.05 for row in part["h1"])})


def _h1_checks(part: Found) -> dict[str, bool]:
    return {
        "every metric has p < .05": all(row["p"] < 0.05 for row in part["h1"]),
        "every metric has p < .05 by a test that respects dependence": all(
            row["p_permutation"] < 0.05 for row in part["h1"]
        ),
    }


def _changing(part: Found, contexts: str, *, crossing: bool) -> Entry:
    ranges, crossed = _lines(part)
    sizes = [row["cramers_v"] for row in part["h1"]]
    honest = sum(row["p_permutation"] < 0.05 for row in part["h1"])
    shown = (
        f"accuracies move by {ends(ranges)} over {part['h1'][0]['dof'] + 1} {contexts} (V {ends(sizes)}); "
        f"H1 by the permutation test for {honest} of {len(sizes)} metrics; "
        f"{crossed[0]} of {crossed[1]} pairs of lines cross"
    )
    checks = _h1_checks(part)
    if crossing:
        checks["lines cross"] = crossed[0] > 0
    return Entry(shown, checks=checks)


def _lines(part: Found) -> tuple[list[float], tuple[int, int]]:
    """By how much each metric's line moves, and how many pairs of lines cross, of how many."""
    by: dict[str, dict[str, float]] = {}
    for row in part["local_accuracy"]:
        if row["context"] != "global" and row["accuracy"] is not None:
            by.setdefault(row["metric"], {})[row["context"]] = row["accuracy"]
    ranges = [max(line.values()) - min(line.values()) for line in by.values()]
    pairs = list(combinations(by.values(), 2))
    crossed = 0
    for a, b in pairs:
        signs = {np.sign(round(a[name] - b[name], 9)) for name in a if name in b}
        crossed += {-1.0, 1.0} <= signs
    return ranges, (crossed, len(pairs))


def agreements(part: Found) -> tuple[list[float], list[float]]:
    """τ of each context with all together, and between every two."""
    cells = part["h2"]["matrix"]
    overall = [value for value in cells[0][1:] if value is not None]
    size = len(cells)
    between = [cells[i][j] for i in range(1, size) for j in range(i + 1, size) if cells[i][j] is not None]
    return overall, between


def _described(part: Found) -> str:
    overall, between = agreements(part)
    ceiling = [value for value in part["h2"]["ceiling"] if value is not None]
    return (
        f"{part['h2']['statistic']}: with global median {np.median(overall):.2f} (from {min(overall):.2f}), "
        f"between contexts median {np.median(between):.2f} (from {min(between):.2f}); "
        f"noise alone would leave {np.median(ceiling):.2f}"
    )


def _varying(part: Found, contexts: str) -> Entry:
    _, between = agreements(part)
    checks = {
        f"{contexts} agree less than noise alone would leave": float(np.median(between)) < _ceiling(part),
        f"some two {contexts} agree below {LOW}": min(between) < LOW,
    }
    return Entry(_described(part), checks=checks)


def _agreeing(part: Found) -> Entry:
    overall, between = agreements(part)
    checks = {
        "τ with global is .8 or more for most": float(np.median(overall)) >= 0.8,
        "speakers agree about as well as noise allows": float(np.median(between)) >= _ceiling(part) - 0.02,
    }
    return Entry(_described(part), checks=checks)


def _ceiling(part: Found) -> float:
    """Agreement of a context with itself, measured again."""
    return float(np.median([value for value in part["h2"]["ceiling"] if value is not None]))


def _combined(rows: Sequence[Found]) -> Entry:
    """Figure 5, over all combinations: variance of the means of k methods, and what arithmetic says it is."""
    exact = {row["metric"]: all_combinations(list(row["by_method"].values())) for row in rows}
    off = max(abs(found - law) for steps in exact.values() for found, law in steps)
    falls = all(
        later[0] <= earlier[0] + 1e-12 for steps in exact.values() for earlier, later in pairwise(steps)
    )
    drawn = next(row for row in rows if row["metric"] == "rouge1")["by_k"]
    scattered = ", ".join(f"{step['variance']:.4f}" for step in drawn)
    shown = (
        f"ROUGE-1, all combinations: {', '.join(f'{found:.4f}' for found, _ in exact['rouge1'])} for k = 1 "
        "to "
        f"{len(drawn)}; every figure of every metric is σ²/k · (n − k)/(n − 1) to {off:.0e}. Ten drawn at "
        f"random, as in the paper: {scattered}"
    )
    return Entry(shown, checks={"variance falls with k": falls})


def all_combinations(values: Sequence[float]) -> list[tuple[float, float]]:
    """For k = 1 to n − 1 the variance over all combinations of their means, and the formula's."""
    n, spread = len(values), float(np.var(values))
    return [
        (float(np.var([np.mean(some) for some in combinations(values, k)])), spread / k * (n - k) / (n - 1))
        for k in range(1, n)
    ]


def _single(rows: Sequence[Found], confounding: Sequence[Found]) -> Entry:
    zero = [row["accuracy"] for row in rows if (row["panel"], row["metric"]) == ("swapping", "rouge1")]
    flagged = [row["metric"] for row in confounding if row["flag"]]
    shown = (
        f"ROUGE-1 under swapping: at most {max(zero):.3f} over {len(zero)} systems; "
        f"flagged as confounded by method: {', '.join(flagged)}"
    )
    return Entry(shown, {"rouge1_swapping_highest": max(zero)})


def _by_quality(part: Found) -> Entry:
    """Spearman of the order of MQM buckets, worst first, with local accuracy."""
    trends = list(part["trend"].values())
    shown = (
        f"{part['buckets']} distinct buckets of MQM (250 asked for; many outputs share a score): Spearman of "
        f"bucket and accuracy {ends(trends)}"
    )
    rises = "accuracy rises with quality for every metric (Spearman over .3)"
    return Entry(shown, checks={rises: min(trends) > 0.3})
