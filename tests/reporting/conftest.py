"""Results of assays to make reports of: realistic in shape, with effects that the report must name."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest

from metassay.reporting.assay_page import build_assay_page
from metassay.reporting.assay_report import AssayReport, prepare_assay_report
from metassay.reporting.assay_verdict import list_main_findings_of_assay
from metassay.reporting.pages import Page, render_page
from metassay.results.assay import AssayContent
from metassay.results.wrong_pairs import WrongPairs

METHODS = {"removal": 2410, "insertion": 2466, "swapping": 2398, "pronoun": 702}
SENTINELS = {"length", "random", "constant"}
SKILL = {
    "chrf": 0.9,
    "bleu": 0.84,
    "ter": 0.8,
    "rouge_l": 0.82,
    "length": 0.5,
    "random": 0.5,
    "constant": 0.0,
}


@dataclass(frozen=True)
class ReportInput:
    """What the page of an assay is built from."""

    content: AssayContent
    wrong_pairs: WrongPairs | None = None
    manifest: Mapping[str, Any] | None = None

    def view(self) -> AssayReport:
        return prepare_assay_report(self.content)

    def build_page(self) -> Page:
        return build_assay_page(self.content, wrong_pairs=self.wrong_pairs, manifest=self.manifest)

    def render(self) -> str:
        return render_page(self.build_page())

    def change(self, **fields: Any) -> ReportInput:
        """Return a copy whose content has other values in some fields."""
        return replace(self, content=add_verdict(msgspec.structs.replace(self.content, **fields)))


def add_verdict(content: AssayContent) -> AssayContent:
    return msgspec.structs.replace(
        content, verdict=list_main_findings_of_assay(prepare_assay_report(content))
    )


def make_result(**options: Any) -> ReportInput:
    """Make the result of an assay; the options are those of `make_fields`."""
    fields = make_fields(**options)
    wrong_pairs = msgspec.convert(fields.pop("examples"), WrongPairs)
    manifest = fields.pop("manifest")
    return ReportInput(add_verdict(msgspec.convert(fields, AssayContent)), wrong_pairs, manifest)


def make_fields(
    *,
    task: str = "mt",
    metrics: tuple[str, ...] = tuple(SKILL),
    columns: dict[str, list[str]] | None = None,
    seed: int = 7,
    text: Callable[[str], str] = str,
) -> dict[str, Any]:
    """Make the JSON of an assay's result; `text` is applied to every name and text in it."""
    rng = random.Random(seed)
    names = columns or {
        "system": ["Online-A", "Online-B", "Lan-Bridge", "JDExplore", "PROMT", "Quartz", "apertium", "noise"],
        "domain": ["news", "ecommerce", "social", "conversation"],
    }
    base = {metric: SKILL.get(metric, rng.uniform(0.6, 0.95)) for metric in metrics}
    contexts: dict[str, Any] = {
        text(column): _column(rng, base, [text(value) for value in values], text)
        for column, values in names.items()
    }
    whole = [_row(rng, text(metric), "global", accuracy, 63870) for metric, accuracy in base.items()]
    ranked = [row for row in whole if row["metric"] not in {text(name) for name in SENTINELS}]
    return {
        "schema_version": 1,
        "task": task,
        "items": 2037,
        "outputs": 16296,
        "pairs": 63870,
        "left_out": {text("systems that are their own reference"): 1, text("rows without a reference"): 12},
        "named_left_out": {text("systems that are their own reference"): [text("refA")]},
        "perturbations": {text(name): pairs for name, pairs in METHODS.items()},
        "contexts": contexts,
        "global": ranked,
        "sentinels": [row for row in whole if row not in ranked],
        "confounding": [_confounding(rng, metric, accuracy, text) for metric, accuracy in base.items()],
        "recommendation": {
            column: {
                "global": {**_choice(ranked, "global"), "robust_choice": text(metrics[0])},
            }
            | {
                context: _choice(rows["local_accuracy"], context)
                for context in dict.fromkeys(row["context"] for row in rows["local_accuracy"])
            }
            for column, rows in contexts.items()
        },
        "answer": _answer(ranked),
        "people": None,
        "cost_class": {},
        "same_decisions": [],
        "claims": _claims(contexts),
        "pairs_from": "rule",
        "price": {},
        "label_errors": [],
        "difficulty": None,
        "valid_pairs_only": False,
        "cluster": {"column": "item", "why": "every item is its own cluster"},
        "pareto": [text(metric) for metric in metrics[:2]],
        "phi": {
            "metrics": [text(metric) for metric in base],
            "matrix": [[1.0 if a == b else rng.uniform(-0.1, 0.8) for a in base] for b in base],
        },
        "notes": [text("the item is the cluster for 12 items")],
        "examples": {"pairs": [_example(rng, metric, text) for metric in metrics for _ in range(2)]},
        "metrics": [
            {"metric": text(m), "signature": text(f"{m}|v1|sacrebleu:2.6.0"), "higher_is_better": m != "ter"}
            for m in metrics
        ],
        "manifest": {"versions": {"metassay": "0.1.0", "numpy": "2.4"}, "seed": 1, "inputs": [text("a.csv")]},
        "warnings": [text("3 contexts have fewer than 30 items")],
        "validity": [
            {
                "perturbation": text(n),
                "applied": a,
                "not_applicable": 11,
                "outputs": a + 13,
                "unchanged": 2,
                "pairs": a,
                "judged": 0,
                "disagreements": 0,
                "ties": 0,
                "edit_distance": 1.2,
            }
            for n, a in METHODS.items()
        ],
    }


def _row(rng: random.Random, metric: str, context: str, accuracy: float, pairs: int) -> dict[str, Any]:
    half = 0.0 if accuracy in {0.0, 1.0} else 0.9 / pairs**0.5
    return {
        "context": context,
        "metric": metric,
        "accuracy": accuracy,
        "low": max(0.0, accuracy - half),
        "high": min(1.0, accuracy + half),
        "micro": accuracy,
        "standardised": min(1.0, accuracy + rng.uniform(-0.01, 0.01)) if accuracy else 0.0,
        "ties": rng.uniform(0, 0.1),
        "items": pairs // 8,
        "outputs": pairs // 4,
        "pairs": pairs,
        "clusters": pairs // 8,
    }


def _column(rng: random.Random, base: dict[str, float], values: list[str], text: Callable[[str], str]) -> Any:
    rows, sentinels = [], []
    for position, value in enumerate(values):
        for metric, accuracy in base.items():
            # The best metric loses its lead in the last context.
            drop = 0.13 if metric == "chrf" and position == len(values) - 1 else 0.0
            local = accuracy if accuracy == 0.0 else min(0.999, accuracy - drop + rng.gauss(0, 0.025))
            row = _row(rng, text(metric), value, local, rng.randint(600, 4000))
            (sentinels if metric in SENTINELS else rows).append(row)
    several = len(values) > 1
    return {
        "local_accuracy": rows,
        "sentinels": sentinels,
        "h1": _h1(rng, base, len(values), text) if several else None,
        "h1_exchanges": [text("outputs within items")] if several else None,
        "h2": _h2(rng, values, text) if several else None,
        "method_mix": {value: {text(name): 0.25 for name in METHODS} for value in values},
        "robustness": [
            {
                "metric": text(metric),
                "stability": 0.02,
                "worst_case": max(0.0, accuracy - 0.05),
                "worst_context": values[-1],
                "robust_accuracy": max(0.0, accuracy - 0.03),
            }
            for metric, accuracy in base.items()
        ],
        "trend": None,
        "trend_p": None,
        "regret": None,
    }


def _h1(rng: random.Random, base: dict[str, float], contexts: int, text: Callable[[str], str]) -> list[Any]:
    rows = []
    for n, metric in enumerate(base):
        p = rng.random() ** 3 if n % 2 else rng.random() * 1e-6
        v = rng.uniform(0.02, 0.2)
        row = {
            "metric": text(metric),
            "chi2": rng.uniform(5, 60),
            "dof": contexts - 1,
            "p": p,
            "cramers_v": v,
        }
        row |= {"p_permutation": p, "p_cmh": min(1, p * 1.2), "p_holm": min(1, p * 3)}
        rows.append(
            {
                **row,
                "p_permutation_holm": min(1, p * 3),
                "p_cmh_holm": min(1, p * 3.6),
                "cluster_variance_ratio": None,
            }
        )
    return rows


def _h2(rng: random.Random, values: list[str], text: Callable[[str], str]) -> dict[str, Any]:
    contexts = ["global", *values]
    size = len(contexts)
    matrix = [[1.0, *(round(rng.uniform(0.3, 1), 3) for _ in values)]]
    if size <= 301:  # beyond that only global is compared
        matrix = [[1.0] * size for _ in range(size)]
        for i in range(size):
            for j in range(i):
                matrix[i][j] = matrix[j][i] = round(rng.uniform(0.3, 1), 3)
    low = [[max(-1.0, value - 0.2) for value in row] for row in matrix]
    high = [[min(1.0, value + 0.1) for value in row] for row in matrix]
    ceiling = [round(rng.uniform(0.8, 0.97), 3) for _ in contexts]
    return {
        "statistic": "tau_ap_b",
        "contexts": contexts,
        "matrix": matrix,
        "low": low,
        "high": high,
        "ceiling": ceiling,
        "p_global": [None, *(rng.random() for _ in values)],
        "p_global_holm": [None, 0.01, *(0.5 for _ in values[1:])],
        "clusters": [
            {"contexts": values[:2], "agreement": 0.9, "metrics": [text("chrf")]},
            {"contexts": values[2:], "agreement": 0.8, "metrics": []},
        ],
        "prediction": {
            "intercept": 0.5,
            "coefficients": {text("year"): 0.1},
            "rmse": 0.1,
            "mae": 0.1,
            "baseline_rmse": 0.12,
            "explained": 0.31,
            "pairs": 10,
            "p": 0.01,
        },
    }


def _confounding(
    rng: random.Random, metric: str, accuracy: float, text: Callable[[str], str]
) -> dict[str, Any]:
    by_method = {text(name): min(1.0, max(0.0, accuracy + rng.gauss(0, 0.06))) for name in METHODS}
    if metric == "length":
        by_method = dict(zip(by_method, (1.0, 0.0, 0.0, 0.4), strict=True))
    if metric == "constant":
        by_method = dict.fromkeys(by_method, 0.0)
    flag = metric in {"length", "rouge_l"}
    return {
        "metric": text(metric),
        "variance": 0.24 if flag else 0.004,
        "low": 0.2 if flag else 0.002,
        "high": 0.27 if flag else 0.007,
        "flag": flag,
        "by_method": by_method,
        "by_k": [],
        "sentence": text(f"{metric} is confounded with how the worse output is made") if flag else "",
        "variance_net": 0.2 if flag else 0.003,
        "share": 0.5 if flag else 0.02,
        "share_low": 0.4 if flag else 0.0,
        "p": 0.001 if flag else 0.4,
        "p_holm": 0.004 if flag else 1.0,
        "responsible": [text("removal")] if flag else [],
        "unseen": [],
        "sentinel": metric in SENTINELS,
    }


def _choice(rows: list[dict[str, Any]], context: str) -> dict[str, Any]:
    local = sorted((r for r in rows if r["context"] == context), key=lambda r: -r["accuracy"])
    if not local:
        return {"metrics": [], "choice": None, "top_group": [], "behind": [], "why": ""}
    top = [r["metric"] for r in local if r["high"] >= local[0]["low"]]
    why = f"{top[0]} is the most accurate here, and the more stable over contexts"
    metrics = [r["metric"] for r in local]
    return {"metrics": metrics, "choice": top[0], "top_group": top, "behind": [], "why": why}


def _answer(ranked: list[dict[str, Any]]) -> dict[str, Any] | None:
    choice = _choice(ranked, "global")
    if choice["choice"] is None:
        return None
    return {"metric": choice["choice"], "top_group": choice["top_group"], "exceptions": []}


def _claims(contexts: dict[str, Any]) -> dict[str, Any]:
    """Claim every difference between contexts that has a small p-value."""
    variations = [
        {"column": column, "metric": row["metric"], "p": row["p_permutation_holm"]}
        for column, part in contexts.items()
        for row in part["h1"] or []
        if row["p_permutation_holm"] <= 0.05
    ]
    return {
        "error_rate": 0.05,
        "tests": {},
        "set_aside": {},
        "lead": [],
        "vary": variations,
        "trend": [],
        "predict": [],
        "method": [],
        "order": {column: {} for column in contexts},
    }


def _example(rng: random.Random, metric: str, text: Callable[[str], str]) -> dict[str, Any]:
    score = rng.uniform(20, 60)
    margin = rng.choice([0.0, 1.7])
    return {
        "contexts": {text("domain"): text("news")},
        "item": text(f"2022/es-en/{rng.randint(1, 900)}"),
        "system": text("apertium"),
        "perturbation": text("swapping"),
        "source": text("La alcaldesa no quiso decir cuándo abrirá el puente nuevo."),
        "output": text("The mayor did not want to say when the new bridge will open."),
        "worse": text("The mayor did not want to say when the bridge new will open."),
        "references": [text("The mayor would not say when the new bridge is going to open.")],
        "outcomes": {text(metric): [score, score + margin, -1 if margin else 0]},
        "is_doubtful": False,
    }


@pytest.fixture
def result() -> ReportInput:
    return make_result()


@pytest.fixture
def results() -> Callable[..., ReportInput]:
    """Return the function that makes results."""
    return make_result
