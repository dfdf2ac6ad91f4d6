"""Claims of the prose of docs/findings.md and docs/paper.md, as conditions on the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reproduce.findings.page import adjust_context_p_values, find_break_even
from reproduce.findings.worth import COUNTS, average_over_sets

Row = Mapping[str, Any]


def list_claims(results: Mapping[str, Any]) -> dict[str, bool]:
    """List each claim and whether it holds."""
    return {
        **list_context_claims(results),
        **list_question_claims(results),
        **list_worth_claims(results["labels_saved"]),
        **list_dependence_claims(results["dependence"]),
    }


def list_context_claims(results: Mapping[str, Any]) -> dict[str, bool]:
    """List the claims of finding 1."""
    rows = [*results["contexts"], *results["lexical_contexts"]]
    newest = [row for row in rows if row["set"].startswith("wmt23")]
    adjusted = adjust_context_p_values(rows)
    systems = [
        p for row, p in zip(rows, adjusted) if row["column"] == "system" and row in results["contexts"]
    ]
    return {
        "rankings of official metrics differ between systems in every data set": max(systems) <= 0.05,
        "no regret is shown to be above .01": all(row["regret_low"] < 0.01 for row in rows),
        "no estimated regret is above .01": all(row["regret"] < 0.01 for row in rows),
        "no local choice gains .01 on held-out documents": all(row["held_out_gain"] < 0.01 for row in rows),
        "with ties as wrong SEScoreX is best in every context of WMT22": all(
            row["largest_regret"] == 0 and row["best"] == "SEScoreX"
            for row in rows
            if row["set"].startswith("wmt22") and row["ties"] == "strict"
        ),
        "among the ten best metrics of WMT23 the interaction is smaller than among all": all(
            row["contenders"]["interaction"] < row["all"]["interaction"] for row in newest
        ),
        "the interaction of WMT23 is too small for a gain of .01": all(
            row["contenders"]["interaction"] < find_break_even(row, 0.01) for row in newest
        ),
    }


def list_question_claims(results: Mapping[str, Any]) -> dict[str, bool]:
    """List the claims of finding 2."""
    rows = {(row["first"], row["second"]): row for row in results["lexical_questions"]}
    pairs = rows["perturbed", "human"]
    half = rows["perturbed_half", "human_half"]
    gains = {(row["target"], row["strategy"]): row["gain"] for row in results["strategies"] if "gain" in row}
    chosen = {row["target"]: row["chosen"] for row in results["strategies"] if "chosen" in row}
    best = {row["target"]: row["best"] for row in results["strategies"] if "best" in row}
    family_pairs = {(row["first"], row["second"]): row for row in results["family_pairs"]}
    sets = list(pairs["by_set"])
    targets = ("human", "human_half", "acc_eq", "spa", "labels_saved")
    return {
        "ties as half right lower tau of perturbed and human pairs": half["all"]["high"] < pairs["all"]["low"]
        or half["blocked"]["high"] < pairs["blocked"]["low"],
        "agreement of perturbed pairs with acc_eq and SPA is not shown": all(
            rows["perturbed", target]["blocked"]["low"] <= 0 for target in ("acc_eq", "spa")
        ),
        "with ties wrong perturbed pairs choose chrF in every data set": set(chosen["human"]) == {"chrf"},
        "with ties half right they choose chrF in eight, METEOR in one": sorted(chosen["human_half"])
        == ["chrf"] * 8 + ["meteor"],
        "METEOR is best on human pairs only in REALSumm": all(
            {name for name, metric in zip(sets, best[target]) if metric == "meteor"} == {"realsumm"}
            for target in ("human", "human_half")
        ),
        "one metric per family does not lower tau": pairs["blocked"]["mean"] >= pairs["all"]["mean"] - 0.05
        and half["blocked"]["mean"] >= half["all"]["mean"] - 0.05,
        "perturbed and human pairs agree better between families than within": all(
            row["within"]["high"] < row["between"]["low"] for row in family_pairs.values()
        ),
        "they are not shown to be better than always chrF": all(
            gains[target, "always chrf"]["high"] >= 0 for target in targets
        ),
        "they beat BLEU and a random choice on human pairs": all(
            gains[target, strategy]["high"] < 0
            for target in ("human", "human_half")
            for strategy in ("always bleu", "random")
        ),
    }


def list_worth_claims(rows: Sequence[Row]) -> dict[str, bool]:
    """List the claims of finding 3."""
    averages = average_over_sets([row for row in rows if row["set"].startswith("wmt23")])
    counts = [row for row in averages if row["cost"] == COUNTS]
    highest_spa = max(averages, key=lambda row: row["spa"])
    return {
        "XCOMET-Ensemble saves most labels": averages[0]["metric"] == "XCOMET-Ensemble",
        "the nine best are large models": all(row["cost"] == "large model" for row in averages[:9]),
        "metrics of counts save less than 5 %": all(row["difference_high"] < 0.05 for row in counts),
        "GEMBA-MQM has the highest SPA": highest_spa["metric"] == "GEMBA-MQM",
    }


def list_dependence_claims(rows: Sequence[Row]) -> dict[str, bool]:
    """List the claims of finding 4."""
    oldest = [row for row in rows if row["set"].startswith("wmt22")]
    return {
        "accuracy for the better output rises with the deviation in every data set": all(
            row["better"]["low"] > 0 for row in rows
        ),
        "so it does with the residual": all(row["better"]["residual"]["low"] > 0 for row in rows),
        "for both outputs no positive correlation is shown": all(
            row["both"]["low"] <= 0 and row["both"]["residual"]["low"] <= 0 for row in rows
        ),
        "for both outputs accuracy changes less between systems": all(
            row["both"]["spread"] < row["better"]["spread"] for row in rows
        ),
        "for both outputs the rankings for two systems agree better": all(
            row["both"]["tau_ap"] > row["better"]["tau_ap"] for row in rows
        ),
        "for both outputs it is negative on WMT22": all(row["both"]["r"] < 0 for row in oldest),
    }
