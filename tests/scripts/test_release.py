"""Files of a release: workflow files, the GitHub action, the API reference, versions."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import metassay
from metassay.sample import get_bundled_sample_path

ROOT = Path(__file__).parents[2]


def test_the_api_reference_lists_everything_public() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").splitlines()
    listed = {line.removeprefix("::: metassay.") for line in page if line.startswith("::: metassay.")}
    assert {name for name in listed if "." not in name} == set(metassay.__all__)
    assert all(getattr(metassay, name).__doc__ for name in metassay.__all__)


def test_versions_agree() -> None:
    version = f"version: {metassay.__version__}"
    assert version in (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["license-files"]) == {"LICENSE", "NOTICE"}


def test_the_citation_and_the_workflows_are_yaml_with_what_they_need() -> None:
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(citation)
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert workflow["permissions"] == {"contents": "read"}, path.name
        for job in workflow["jobs"].values():
            assert job["runs-on"]
            for step in job["steps"]:
                for target in str(step.get("run", "")).split("make ")[1:]:
                    assert f"\n{target.split()[0]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.posix
@pytest.mark.parametrize("changed", ["false", "true"])
def test_the_action_says_whether_something_changed(changed, tmp_path) -> None:
    """Its script, as the runner would start it, on two runs that are the same and on two that differ."""
    yaml = pytest.importorskip("yaml")
    settings = {"contexts": ["domain"], "perturbations": "removal", "resamples": 200, "permutations": 19}
    data = metassay.read(get_bundled_sample_path("mt"))
    metassay.assay(data, metrics="bleu,chrf", seed=1, out=tmp_path / "before", **settings)
    if changed == "true":  # metrics know nothing if the references have nothing to do with the outputs
        references = pl.lit(["nothing in common"]).alias("references")
        data = replace(data, outputs=data.outputs.with_columns(references))
    metassay.assay(data, metrics="bleu,chrf", seed=1, out=tmp_path / "after", **settings)
    action = yaml.safe_load((ROOT / ".github/actions/compare/action.yml").read_text(encoding="utf-8"))
    script = next(step["run"] for step in action["runs"]["steps"] if step.get("id") == "compare")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "metassay").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m metassay "$@"\n')
    (programs / "metassay").chmod(0o755)
    environment = os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(metassay.__file__).parents[1]),
        "BEFORE": "before",
        "AFTER": "after",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "output").read_text() == f"changed={changed}\n"
    assert "metassay compare" in (tmp_path / "summary.md").read_text()
