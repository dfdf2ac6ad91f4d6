"""Render docs/findings.md, docs/paper.md and the page of full tables from `ours.json`.

The prose is in `templates`. A field {{name}} is replaced by a figure or a table that this file computes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from reproduce.entry import format_table
from reproduce.findings.contexts import HALF, PERMUTATIONS, RESAMPLES, STRICT
from reproduce.findings.questions import OFFICIAL_FAMILIES, QUESTIONS, SHARED_PERTURBATIONS
from reproduce.findings.worth import average_over_sets

from metassay.stats.multiplicity import adjust_p_values_by_holm

PAGES = {
    "findings.md": "docs/findings.md",
    "paper.md": "docs/paper.md",
    "tables.md": "reproduce/findings/README.md",
}
"""Paths of the pages, from the root of the repository, by the name of the template."""
_TEMPLATES = Path(__file__).parent / "templates"
Row = Mapping[str, Any]
Results = Mapping[str, Any]


def render_page(name: str, results: Results) -> str:
    """Fill the template of a page with figures and tables."""
    fields = list_fields(results)
    template = (_TEMPLATES / name).read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: fields[match[1]](), template)


def list_fields(results: Results) -> dict[str, Callable[[], str]]:
    """List what a template may contain; a field is computed when it is used."""
    rows = [*results["contexts"], *results["lexical_contexts"]]
    domains = [row for row in rows if row["column"] == "domain"]
    systems = [row for row in rows if row["column"] == "system"]
    newest = [row for row in rows if row["set"].startswith("wmt23")]
    by_year = {year: select_year(results["dependence"], year) for year in ("wmt22", "wmt23")}
    worth = {row["metric"]: row for row in average_over_sets(select_year(results["labels_saved"], "wmt23"))}
    return {
        "permutations": lambda: str(PERMUTATIONS),
        "resamples": lambda: str(RESAMPLES),
        "perturbation_list": lambda: ", ".join(f"`{name}`" for name in SHARED_PERTURBATIONS),
        "regret_most": lambda: f"{max(row['regret'] for row in rows):.3f}",
        "regret_high": lambda: f"{max(row['regret_high'] for row in rows):.3f}",
        "context_table": lambda: render_context_table(rows),
        "regret_table": lambda: render_regret_by_context_table(rows),
        "interaction_table": lambda: render_interaction_table(rows),
        "lexical_table": lambda: render_question_table(results["lexical_questions"]),
        "family_table": lambda: render_family_table(results),
        "representative_table": lambda: render_representative_table(results),
        "official_table": lambda: render_question_table(results["official_questions"]),
        "strategy_table": lambda: render_strategy_table(results["strategies"]),
        "choice_table": lambda: render_choice_table(results["strategies"]),
        "lexical_regret_table": lambda: render_regret_table(results["lexical_regrets"], "perturbed"),
        "official_regret_table": lambda: render_regret_table(results["official_regrets"]),
        "worth_table_wmt23": lambda: render_worth_table(results["labels_saved"], "wmt23"),
        "worth_table_wmt22": lambda: render_worth_table(results["labels_saved"], "wmt22"),
        "cost_table": lambda: render_cost_table(results["labels_saved"]),
        "dependence_table": lambda: render_dependence_table(results["dependence"]),
        "dependence_short_table": lambda: render_short_dependence_table(results["dependence"]),
        "family_list": lambda: "; ".join(
            f"{family} ({', '.join(metrics)})" for family, metrics in OFFICIAL_FAMILIES.items()
        ),
        "domain_regret": lambda: render_range(row["regret"] for row in domains),
        "system_regret": lambda: render_range(row["regret"] for row in systems),
        "largest_loss": lambda: f"{max(row['largest_regret'] for row in rows):.3f}",
        "domain_gain": lambda: render_range((row["held_out_gain"] for row in domains), 4),
        "system_gain": lambda: render_range((row["held_out_gain"] for row in systems), 4),
        "domain_significant": lambda: count_significant(rows, "domain"),
        "system_significant": lambda: count_significant(rows, "system"),
        "interaction_all": lambda: render_range((row["all"]["interaction"] for row in newest), 3),
        "interaction_best": lambda: render_range((row["contenders"]["interaction"] for row in newest), 3),
        "break_even": lambda: render_range((find_break_even(row) for row in newest), 4),
        "break_even_ratio": lambda: render_range(
            (find_break_even(row) / row["contenders"]["noise"] for row in newest), 1
        ),
        "one_point": lambda: render_range((find_break_even(row, 0.01) for row in newest), 3),
        "simulated_gain": lambda: render_range(
            (interpolate_gain(row, row["contenders"]["interaction"]) for row in newest), 3
        ),
        **{
            f"{rule}_{name}_{year}": lambda rule=rule, name=name, year=year: render_range(
                (row[rule][name] for row in by_year[year]), 2
            )
            for rule in ("better", "both")
            for name in ("r", "spread", "tau_ap", "within_metrics")
            for year in by_year
        },
        **{
            f"{rule}_residual_{year}": lambda rule=rule, year=year: render_range(
                (row[rule]["residual"]["r"] for row in by_year[year]), 2
            )
            for rule in ("better", "both")
            for year in by_year
        },
        **{
            f"saved_{target}_{metric}": lambda row=row, target=target: f"{row[target]:.1%}"
            for metric, row in ((name.replace("-", "_"), row) for name, row in worth.items())
            for target in ("difference", "mean")
        },
        **{
            f"interval_{target}_{metric}": lambda row=row, target=target: (
                f"95 % interval {row[f'{target}_low']:.1%} to {row[f'{target}_high']:.1%}"
            )
            for metric, row in ((name.replace("-", "_"), row) for name, row in worth.items())
            for target in ("difference", "mean")
        },
        "better_lowest": lambda: (
            f"{np.floor(100 * min(row['better']['low'] for row in results['dependence'])) / 100:.2f}"
        ),
        **{
            f"spa_{name.replace('-', '_')}": lambda row=row: f"{row['spa']:.3f}"
            for name, row in worth.items()
        },
        **{
            f"gain_{row['target']}_{row['strategy'].replace(' ', '_')}": lambda row=row: render_interval(
                row["gain"], 3
            )
            for row in results["strategies"]
            if "gain" in row
        },
        **{
            f"tau_{row['first']}_{row['second']}_{kind}": lambda value=row[kind]: render_interval(value)
            for row in results["lexical_questions"]
            for kind in ("all", "blocked", "corrected")
        },
        **{
            f"official_{row['first']}_{row['second']}_{kind}": lambda value=row[kind]: render_interval(value)
            for row in results["official_questions"]
            for kind in ("all", "blocked", "corrected")
        },
        **{
            f"fixed_{row['first']}_{row['second']}": lambda value=row["all"]: render_interval(value)
            for row in results["representatives"]
        },
    }


def select_year(rows: Sequence[Row], year: str) -> list[Row]:
    """Select the rows of the data sets of one year."""
    return [row for row in rows if row["set"].startswith(year)]


def render_range(values: Iterable[float], digits: int = 3) -> str:
    """Write the least and the greatest of some values."""
    ordered = sorted(values)
    low = f"{ordered[0]:.{digits}f}".replace("-", "−")
    high = f"{ordered[-1]:.{digits}f}".replace("-", "−")
    return low if low == high else f"{low} to {high}"


def render_interval(value: Row, digits: int = 2) -> str:
    """Write a mean with its interval, whose ends are at most 1 as all values are."""
    if value["mean"] is None or np.isnan(value["mean"]):
        return "–"
    ends = (float(np.clip(value[name], -1, 1)) for name in ("low", "mean", "high"))
    low, mean, high = (f"{end:.{digits}f}".replace("-", "−") for end in ends)
    return f"{mean} ({low} to {high})"


def render_p(p: float) -> str:
    """Write a p-value."""
    return f"{p:.3f}"


def adjust_context_p_values(rows: Sequence[Row]) -> list[float]:
    """Correct the p-values of all rows together (Holm)."""
    return [float(p) for p in adjust_p_values_by_holm(np.array([row["p"] for row in rows]))]


def count_significant(rows: Sequence[Row], column: str) -> str:
    """Write how many data sets have a corrected p-value of at most .05."""
    adjusted = adjust_context_p_values(rows)
    of_column = [p for row, p in zip(rows, adjusted) if row["column"] == column and row["ties"] == STRICT]
    return f"{sum(p <= 0.05 for p in of_column)} of {len(of_column)}"


def find_break_even(row: Row, gain: float = 0.0) -> float:
    """Return the size of interaction at which the simulated gain of a local choice reaches a value."""
    points = row["simulation"]
    for before, after in pairwise(points):
        if before["gain"] < gain <= after["gain"]:
            share = (gain - before["gain"]) / (after["gain"] - before["gain"])
            return float(before["interaction"] + share * (after["interaction"] - before["interaction"]))
    return float("nan")


def interpolate_gain(row: Row, interaction: float) -> float:
    """Return the simulated gain of a local choice at a size of interaction."""
    points = row["simulation"]
    return float(np.interp(interaction, [p["interaction"] for p in points], [p["gain"] for p in points]))


def render_context_table(rows: Sequence[Row]) -> str:
    """Render agreement between contexts, regret and the gain of a local choice."""
    head = [
        *("data", "contexts", "metrics", "documents", "τ_AP", "by chance", "p", "p, Holm"),
        *("globally best", "largest loss", "regret", "gain on held-out documents"),
    ]
    cells = [
        [
            f"{row['set']}, ties half" if row["ties"] == HALF else row["set"],
            f"{row['contexts']} {row['column']}s",
            row["metrics"],
            row["documents"],
            f"{row['tau_ap']:.2f}",
            f"{row['chance_median']:.2f} ({row['chance_low']:.2f} to {row['chance_high']:.2f})",
            render_p(row["p"]),
            render_p(adjusted),
            row["best"],
            f"{row['largest_regret']:.3f}",
            f"{row['regret']:.3f} ({row['regret_low']:.3f} to {row['regret_high']:.3f})",
            f"{row['held_out_gain']:+.4f}".replace("-", "−"),
        ]
        for row, adjusted in zip(rows, adjust_context_p_values(rows))
    ]
    return "\n".join(format_table(head, cells))


def render_regret_by_context_table(rows: Sequence[Row]) -> str:
    """Render regret and held-out gain, without rows in which one metric is best in every context."""
    head = ["data", "contexts", "p, Holm", "regret (95 % interval)", "gain on held-out documents"]
    cells = [
        [
            f"{row['set']}, ties half" if row["ties"] == HALF else row["set"],
            f"{row['contexts']} {row['column']}s",
            render_p(adjusted),
            f"{row['regret']:.3f} ({row['regret_low']:.3f} to {row['regret_high']:.3f})",
            f"{row['held_out_gain']:+.3f}".replace("-", "−"),
        ]
        for row, adjusted in zip(rows, adjust_context_p_values(rows))
        if row["largest_regret"] > 0
    ]
    return "\n".join(format_table(head, cells))


def render_interaction_table(rows: Sequence[Row]) -> str:
    """Render the size of the interaction beside the size at which a local choice pays off."""
    rows = [row for row in rows if row["set"].startswith("wmt23")]
    head = [
        *("data", "by", "interaction, all metrics", "interaction, ten best", "noise, ten best"),
        *("break-even", "needed for +.01", "simulated gain at the estimate"),
    ]
    cells = [
        [
            row["set"],
            row["column"],
            _render_interaction(row["all"]),
            _render_interaction(row["contenders"]),
            f"{row['contenders']['noise']:.3f}",
            f"{find_break_even(row):.4f}",
            f"{find_break_even(row, 0.01):.3f}",
            f"{interpolate_gain(row, row['contenders']['interaction']):+.3f}".replace("-", "−"),
        ]
        for row in rows
    ]
    return "\n".join(format_table(head, cells))


def _render_interaction(value: Row) -> str:
    return f"{value['interaction']:.3f} ({value['low']:.3f} to {value['high']:.3f})"


def render_question_table(rows: Sequence[Row]) -> str:
    """Render the agreement of every two questions."""
    head = [
        *("questions", "all variants", "one metric per family", "range over choices"),
        *("corrected for reliability", "reliabilities"),
    ]
    cells = [
        [
            f"{QUESTIONS[row['first']]} – {QUESTIONS[row['second']]}",
            render_interval(row["all"]),
            render_interval(row["blocked"]),
            render_range(row["choices"].values(), 2),
            render_interval(row["corrected"]),
            ", ".join(f"{value:.2f}" for value in row["reliabilities"]),
        ]
        for row in rows
    ]
    return "\n".join(format_table(head, cells))


def render_family_table(results: Results) -> str:
    """Render the agreement of perturbed and human pairs for several selections of lexical metrics."""
    questions = {(row["first"], row["second"]): row for row in results["lexical_questions"]}
    defaults = {(row["first"], row["second"]): row for row in results["representatives"]}
    family_pairs = {(row["first"], row["second"]): row for row in results["family_pairs"]}
    columns = (("perturbed", "human"), ("perturbed_half", "human_half"))
    cells = [
        ["29 variants", *(render_interval(questions[pair]["all"]) for pair in columns)],
        [
            "one random metric per family",
            *(render_interval(questions[pair]["blocked"]) for pair in columns),
        ],
        [
            "the same: range over 95 % of the choices",
            *(render_range(questions[pair]["choices"].values(), 2) for pair in columns),
        ],
        ["default variant of each family", *(render_interval(defaults[pair]["all"]) for pair in columns)],
        [
            "pairs of metrics of different families (τ-a)",
            *(render_interval(family_pairs[pair]["between"]) for pair in columns),
        ],
        [
            "pairs of metrics of the same family (τ-a)",
            *(render_interval(family_pairs[pair]["within"]) for pair in columns),
        ],
    ]
    return "\n".join(format_table(["metrics compared", "ties wrong", "ties half right"], cells))


def render_representative_table(results: Results) -> str:
    """Render the agreement with perturbed pairs for each data set, with and without blocking."""
    targets = ("human", "human_half", "acc_eq", "spa")
    rows = {(row["first"], row["second"]): row for row in results["lexical_questions"]}
    pairs = [("perturbed_half" if target == "human_half" else "perturbed", target) for target in targets]
    head = ["data", *(f"{QUESTIONS[target]}: all / per family" for target in targets)]
    sets = rows[pairs[0]]["by_set"]
    cells = []
    for name in sets:
        values = [rows[pair]["by_set"][name] for pair in pairs]
        cells.append([name, *(f"{one:.2f} / {other:.2f}".replace("-", "−") for one, other in values)])
    return "\n".join(format_table(head, cells))


def render_strategy_table(rows: Sequence[Row]) -> str:
    """Render what each way to choose a lexical metric reaches, and its gain over perturbed pairs."""
    by_strategy: dict[str, dict[str, Row]] = {}
    for row in rows:
        if "value" in row:
            by_strategy.setdefault(row["strategy"], {})[row["target"]] = row
    targets = list(next(iter(by_strategy.values())))
    head = ["choice", *(QUESTIONS[target] for target in targets)]
    cells = []
    for strategy, by_target in by_strategy.items():
        line = [strategy]
        for target in targets:
            row = by_target[target]
            if strategy == "perturbed pairs":
                line.append(f"{row['value']:.3f}")
            else:
                line.append(f"{row['value']:.3f}; {render_interval(row['gain'], 3)}")
        cells.append(line)
    return "\n".join(format_table(head, cells))


def render_choice_table(rows: Sequence[Row]) -> str:
    """Render which metric perturbed pairs choose and which is best for each target, in how many data sets."""
    cells = [
        [QUESTIONS[row["target"]], _count_names(row["chosen"]), _count_names(row["best"])]
        for row in rows
        if "chosen" in row
    ]
    return "\n".join(format_table(["target", "chosen by perturbed pairs", "best"], cells))


def _count_names(names: Sequence[str]) -> str:
    counts = sorted(((names.count(name), name) for name in set(names)), key=lambda pair: (-pair[0], pair[1]))
    return ", ".join(f"{name} {count}" for count, name in counts)


def render_regret_table(rows: Sequence[Row], chooser: str | None = None) -> str:
    """Render the loss in one question by the best metric of another, as a share of a random choice's loss."""
    choosers = [chooser] if chooser else list(dict.fromkeys(row["chooser"] for row in rows))
    targets = [name for name in dict.fromkeys(row["target"] for row in rows) if name != chooser]
    if chooser is None:
        targets = choosers
    by_pair = {(row["chooser"], row["target"]): row for row in rows}
    cells = []
    for first in choosers:
        line = [QUESTIONS[first]]
        for target in targets:
            row = by_pair.get((first, target))
            line.append("" if row is None else f"{row['loss']['mean']:.3f} of {row['random']['mean']:.3f}")
        cells.append(line)
    return "\n".join(format_table(["best metric by", *(QUESTIONS[target] for target in targets)], cells))


def render_worth_table(rows: Sequence[Row], year: str, limit: int | None = None) -> str:
    """Render labels saved by the metrics of one year, most for a difference first."""
    head = ["metric", "needs", "labels saved, difference", "labels saved, mean", "SPA", "acc_eq"]
    averages = average_over_sets([row for row in rows if row["set"].startswith(year)])
    cells = [
        [
            row["metric"],
            row["cost"],
            _render_share(row, "difference"),
            _render_share(row, "mean"),
            "–" if row["spa"] is None else f"{row['spa']:.3f}",
            "–" if row["acc_eq"] is None else f"{row['acc_eq']:.3f}",
        ]
        for row in averages[:limit]
    ]
    return "\n".join(format_table(head, cells))


def _render_share(row: Row, target: str) -> str:
    value, low, high = (row[f"{target}{end}"] for end in ("", "_low", "_high"))
    return f"{value:.1%} ({low:.1%} to {high:.1%})".replace("-", "−")


def render_cost_table(rows: Sequence[Row]) -> str:
    """Render the best metric of each cost class by labels saved for a difference, WMT23."""
    averages = average_over_sets([row for row in rows if row["set"].startswith("wmt23")])
    by_cost: dict[str, list[dict[str, Any]]] = {}
    for row in averages:
        by_cost.setdefault(row["cost"], []).append(row)
    head = [
        "needs",
        "metrics",
        "best by labels saved",
        "labels saved, difference",
        "labels saved, mean",
        "SPA",
    ]
    cells = [
        [
            cost,
            len(of_cost),
            of_cost[0]["metric"],
            _render_share(of_cost[0], "difference"),
            _render_share(of_cost[0], "mean"),
            f"{of_cost[0]['spa']:.3f}",
        ]
        for cost, of_cost in by_cost.items()
        if cost != "–"
    ]
    return "\n".join(format_table(head, cells))


def render_dependence_table(rows: Sequence[Row]) -> str:
    """Render the correlation of accuracy and expected deviation under both rules."""
    rules = ("better", "both")
    head = [
        *("data", "metrics", "systems", "r, better output", "r, both outputs"),
        *("r with the residual, better output", "r with the residual, both outputs"),
        *("range of accuracy over systems, better / both", "τ_AP between systems, better / both"),
    ]
    cells = [
        [
            row["set"],
            row["metrics"],
            row["systems"],
            *(render_interval({**row[rule], "mean": row[rule]["r"]}) for rule in rules),
            *(
                render_interval({**row[rule]["residual"], "mean": row[rule]["residual"]["r"]})
                for rule in rules
            ),
            f"{row['better']['spread']:.2f} / {row['both']['spread']:.2f}",
            f"{row['better']['tau_ap']:.2f} / {row['both']['tau_ap']:.2f}",
        ]
        for row in rows
    ]
    return "\n".join(format_table(head, cells))


def render_short_dependence_table(rows: Sequence[Row]) -> str:
    """Render the correlation of accuracy and expected deviation under both rules, without the residual."""
    head = [
        *("data", "systems", "r, better output", "r, both outputs"),
        *("range of accuracy, better / both", "τ_AP between systems, better / both"),
    ]
    cells = [
        [
            row["set"],
            row["systems"],
            *(render_interval({**row[rule], "mean": row[rule]["r"]}) for rule in ("better", "both")),
            f"{row['better']['spread']:.2f} / {row['both']['spread']:.2f}",
            f"{row['better']['tau_ap']:.2f} / {row['both']['tau_ap']:.2f}",
        ]
        for row in rows
    ]
    return "\n".join(format_table(head, cells))
