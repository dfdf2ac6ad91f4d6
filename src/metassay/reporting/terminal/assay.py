"""What `metassay assay` and `metassay demo` print: the answer, doubts, then the tables behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.answer import answer
from metassay.reporting.findings import find
from metassay.reporting.html import caveats, remarks
from metassay.reporting.terminal.blocks import Block, Line, Table, lines, notes, select_columns
from metassay.results.partial_run import PartialRun

ACCURACY_COLUMNS = ("metric", "accuracy", "low", "high", "ties", "pairs")
SPA_COLUMNS = ("spa", "spa_low", "spa_high")
H1_COLUMNS = ("metric", "chi2", "dof", "p", "cramers_v", "p_cmh", "p_permutation")


def describe_assay(result: Mapping[str, Any]) -> list[Block]:
    """Describe the result of an assay."""
    findings = find(result)
    content = dict(findings.result)
    doubts = [*caveats(findings), *dict.fromkeys(content["warnings"])]
    blocks = [Line(), *lines(answer(findings))]
    if doubts:
        blocks += [Line(), Line("Before you rely on this:"), *lines(f"- {doubt}" for doubt in doubts)]
    blocks.append(
        Table(
            select_columns(content["global"], ACCURACY_COLUMNS),
            title=f"How often each metric preferred the better output of {findings.pairs} (95 % interval)",
        )
    )
    if findings.people is not None:
        blocks.append(
            Table(
                select_columns(findings.people["metrics"], (*ACCURACY_COLUMNS, *SPA_COLUMNS)),
                title="The same for pairs chosen by human scores, and SPA over systems (95 % interval)",
                most_important=("metric", "accuracy", "low", "high", *SPA_COLUMNS),
            )
        )
    for column, context in content["contexts"].items():
        if context["h1"]:
            blocks.append(_build_h1_table(column, context["h1"]))
    return [*blocks, *notes(remarks(findings))]


def describe_partial_run(result: PartialRun) -> list[Block]:
    """Describe which parts of an assay one process scored."""
    first = result.part_numbers[0]
    last = result.part_numbers[-1]
    scored = len(result.part_numbers)
    return [Line(f"Scored {scored} of {result.part_count} parts, from {first} to {last}.")]


def _build_h1_table(column: str, tests: list[dict[str, Any]]) -> Table:
    rows = []
    for test in tests:
        row = {name: test[name] for name in H1_COLUMNS}
        rows.append({**row, "p_holm": test["p_permutation_holm"]})
    return Table(
        rows,
        title=f"H1: accuracy differs between contexts of {column} (small p: it does)",
        most_important=("metric", "p_holm", "p_permutation", "cramers_v", "chi2", "dof", "p"),
    )
