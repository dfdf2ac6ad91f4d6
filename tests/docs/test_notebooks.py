"""The notebooks under examples/ run from top to bottom, show what they end on, and are kept without outputs."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


def cells(path: Path, kind: str = "code") -> list[str]:
    content = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == kind]


def shown_by(code: str, names: dict) -> object:
    """Run a cell as a notebook does: what its last expression is worth is what is shown."""
    body = ast.parse(code).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_there_are_notebooks_and_the_documentation_names_each() -> None:
    pages = "".join(
        page.read_text(encoding="utf-8") for page in (NOTEBOOKS[0].parents[1] / "docs").glob("*.md")
    )
    assert all(f"examples/{path.name}" in pages for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_every_cell_shows_something(path, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    for code in cells(path):
        value = shown_by(code, names)
        page = getattr(value, "_repr_html_", lambda: None)()
        assert page or value or capsys.readouterr().out, code
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs_and_is_valid(path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    for cell in content["cells"]:
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | (
            {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        )
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])
