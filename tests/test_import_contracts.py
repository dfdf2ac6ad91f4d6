"""The import contracts in pyproject.toml cover every package."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "metassay"
USER_INTERFACES = {"metassay.cli", "metassay.serve"}
MAY_BE_IMPORTED_BY_USER_INTERFACES = {
    "metassay.workflows",
    "metassay.options",
    "metassay.plugins",
    "metassay.errors",
}


def find_contract(name: str) -> dict[str, Any]:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = configuration["tool"]["importlinter"]["contracts"]
    return next(contract for contract in contracts if contract["name"].startswith(name))


def list_packages(folder: Path, parent: str) -> set[str]:
    modules = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("__")}
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    return {f"{parent}.{name}" for name in modules | packages}


def test_the_contract_of_the_user_interfaces_forbids_every_other_package() -> None:
    contract = find_contract("User interfaces import only")
    assert set(contract["source_modules"]) == USER_INTERFACES
    others = list_packages(SOURCE, "metassay") - USER_INTERFACES - MAY_BE_IMPORTED_BY_USER_INTERFACES
    assert set(contract["forbidden_modules"]) == others


def test_the_contract_of_meta_names_all_its_folders() -> None:
    contract = find_contract("The questions that meta answers")
    folders = {f"metassay.meta.{path.parent.name}" for path in (SOURCE / "meta").glob("*/__init__.py")}
    # The meta-metric "labels saved" in meta.people uses the estimators of meta.decisions.
    assert folders - set(contract["modules"]) <= {"metassay.meta.decisions"}
