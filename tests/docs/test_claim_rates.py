"""Every kind of claim that a command can make has a row with its error rate in the documentation."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from metassay.results.verdict import ClaimKind

ROOT = Path(__file__).parents[2]
REPORTING = ROOT / "src" / "metassay" / "reporting"
PAGE = ROOT / "docs" / "assumptions.md"
COMMANDS = {
    "aggregate_page": "aggregate",
    "annotate_page": "annotate",
    "assay_verdict": "assay",
    "check_summary": "check",
    "comparison_sentences": "compare",
    "depend_page": "depend",
    "estimate_page": "estimate",
    "judge_page": "judge",
    "perturb": "perturb",
    "rank_sentences": "rank",
    "score_page": "score",
    "watch_page": "watch",
}
"""The modules that build claims, and the command of each."""


def find_claim_kinds(path: Path) -> set[str]:
    """The texts in the keyword `kind` of every `Claim(...)` of a module, and `finding` for converted sentences."""
    kinds = set()
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(call, ast.Call):
            continue
        function_name = getattr(call.func, "id", None)
        if function_name == "convert_sentences_to_findings":
            kinds.add("finding")
        if function_name != "Claim":
            continue
        for keyword in call.keywords:
            if keyword.arg == "kind":
                constants = [node.value for node in ast.walk(keyword.value) if isinstance(node, ast.Constant)]
                kinds |= {value for value in constants if isinstance(value, str)}
    return kinds


def read_documented_claims() -> set[tuple[str, str]]:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| \S.* \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return set(rows)


MODULES = sorted(path for path in REPORTING.rglob("*.py") if find_claim_kinds(path))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_kind_of_claim_has_a_row(path):
    claims = {(COMMANDS[path.stem], kind) for kind in find_claim_kinds(path)}
    assert claims <= read_documented_claims()


def test_every_row_is_a_claim_that_a_command_makes():
    made = {(COMMANDS[path.stem], kind) for path in MODULES for kind in find_claim_kinds(path)}
    assert read_documented_claims() <= made
    assert {kind for _, kind in made} == set(get_args(ClaimKind))


def test_every_error_rate_is_descriptive_or_measured():
    """A row that is not descriptive has a rate, or names rows of simulations that exist."""
    simulations = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (\S.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for command, kind, rate in rows:
        assert "not simulated" not in rate, (command, kind)
        named_rows = re.findall(r'rows? "([^"]+)"', rate)
        for name in named_rows:
            assert re.search(rf"^\|.*\b{re.escape(name)}", simulations, re.MULTILINE), (command, kind, name)
        is_measured = bool(named_rows) or re.search(r"\d %|in all of \d+|\d of \d+", rate)
        assert is_measured or "descriptive" in rate or "the same test" in rate, (command, kind)
