"""What `metassay recommend` prints: the answer, then a choice for each context with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.answer import answer_lines
from metassay.reporting.terminal.blocks import Block, Line, Table, lines
from metassay.reporting.wording import in_labels


def describe_recommendation(result: Mapping[str, Any]) -> list[Block]:
    """Describe which metric to use in each context."""
    content = in_labels(result)
    blocks = lines(answer_lines(content))
    for column, choices in content["recommendation"].items():
        rows = []
        for context, choice in choices.items():
            top_group = ", ".join(choice["top_group"])
            rows.append(
                {"context": context, "use": choice["choice"], "top group": top_group, "why": choice["why"]}
            )
        blocks.append(Table(rows, title=f"By {column}"))
        robust_choice = content["robust_choice"][column]
        if robust_choice is not None:
            blocks.append(
                Line(f"Where the mix of {column} may change, {robust_choice} is the safest choice.")
            )
        blocks.append(Table(content["robustness"][column]))
    cost_rows = []
    for metric, cost_class in content["cost_class"].items():
        seconds = content["cost"].get(metric)
        cost_rows.append({"metric": metric, "cost": cost_class, "seconds per 1000 outputs": seconds})
    blocks.append(Table(cost_rows))
    costs_differ = len(set(content["cost_class"].values())) > 1
    if content["pareto"] and costs_differ:
        metrics = ", ".join(content["pareto"])
        blocks.append(Line(f"No metric is both more accurate and cheaper than: {metrics}."))
    return blocks
