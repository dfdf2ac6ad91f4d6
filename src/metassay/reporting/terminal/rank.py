"""What `metassay rank` prints: the best metric of each ranking, then the rankings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.ranking_page import best_sentence, significance_sentence
from metassay.reporting.terminal.blocks import Block, Line, Row, Table, lines, notes
from metassay.reporting.wording import in_labels


def describe_rankings(result: Mapping[str, Any]) -> list[Block]:
    """Describe how metrics rank against human scores."""
    content = in_labels(result)
    human = content["human"]
    rankings = content["results"]
    global_rankings = [ranking for ranking in rankings if ranking["context"] == "global"] or rankings
    blocks = lines(best_sentence(ranking, human) for ranking in global_rankings)
    for ranking in rankings:
        blocks += _describe_ranking(ranking, human)
    for average in content["average"]:
        blocks.append(Line(f"Average of {average['meta']} over {', '.join(average['datasets'])}."))
        blocks.append(Table(average["metrics"]))
    for name, rows in content.get("analysis", {}).items():
        blocks.append(Table(rows, title=name))
    return [*blocks, *notes(content["notes"])]


def _describe_ranking(ranking: Row, human: str) -> list[Block]:
    """Describe one ranking: of one data set, meta-metric and context."""
    title = f"{ranking['meta']} with {human}, {ranking['dataset']}"
    if ranking["context"] != "global":
        title += f", {ranking['context']}"
    segments = f"{ranking['segments']} segments"
    if ranking["dropped_segments"]:
        segments += f" ({ranking['dropped_segments']} dropped)"
    blocks: list[Block] = [
        Line(f"{title}: {ranking['systems']} systems, {segments}."),
        Table(
            [_build_row(row) for row in ranking["metrics"]],
            most_important=("metric", "rank", "value"),
        ),
    ]
    if ranking["comparisons"]:
        blocks.append(Line(significance_sentence(ranking)))
    return blocks


def _build_row(row: Row) -> Row:
    columns = {name: value for name, value in row.items() if name != "baseline"}
    if row["baseline"]:
        columns["metric"] = f"{row['metric']} (baseline)"
    return columns
