"""Run folders: used, resumed, refused; files that are whole or absent."""

from __future__ import annotations

import json
import os
import subprocess

import polars as pl
import pytest

from metassay.errors import InputError
from metassay.store.run_folder import RunFolder, read_manifest

IDENTITY = {"command": "assay", "configuration": {"seed": 1, "metrics": ("bleu",)}, "input": "abc"}


def test_an_absent_or_empty_folder_is_used_and_the_same_run_resumes_it(tmp_path) -> None:
    run = RunFolder.open_for_writing(tmp_path / "new" / "run", IDENTITY)
    assert read_manifest(run.path)["state"] == "running"
    (tmp_path / "empty").mkdir()
    RunFolder.open_for_writing(tmp_path / "empty", IDENTITY)
    assert RunFolder.open_for_writing(run.path, IDENTITY).path == run.path


def test_a_folder_of_another_run_is_refused_and_left_alone(tmp_path) -> None:
    RunFolder.open_for_writing(tmp_path / "run", IDENTITY)
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    with pytest.raises(InputError, match=r"holds another run \(its configuration differs\)"):
        RunFolder.open_for_writing(tmp_path / "run", IDENTITY | {"configuration": {"seed": 2}})
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before


def test_a_folder_with_other_things_is_refused(tmp_path) -> None:
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(InputError, match="this exists and is not a run folder"):
        RunFolder.open_for_writing(tmp_path, IDENTITY)
    with pytest.raises(InputError, match="this exists and is not a run folder"):
        RunFolder.open_for_writing(tmp_path / "thesis.tex", IDENTITY)


@pytest.mark.posix
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        RunFolder.open_for_writing(tmp_path / "run", IDENTITY)


def test_a_path_under_a_file_cannot_be_written(tmp_path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        RunFolder.open_for_writing(tmp_path / "file" / "run", IDENTITY)


def test_nothing_unfinished_carries_a_final_name(tmp_path) -> None:
    run = RunFolder.open_for_writing(tmp_path / "run", IDENTITY)
    run.write_table("pairs.parquet", pl.DataFrame({"a": [1]}))
    run.write_json("results/x.json", {"a": 1})
    names = subprocess.run(
        ["find", str(run.path), "-name", "*.part"], capture_output=True, text=True, check=True
    )
    assert names.stdout == ""


def test_nan_never_reaches_json(tmp_path) -> None:
    run = RunFolder.open_for_writing(tmp_path / "run", IDENTITY)
    with pytest.raises(ValueError, match="not JSON compliant"):
        run.write_json("x.json", {"a": float("nan")})
    assert not (run.path / "x.json").exists()


def test_what_is_no_run_says_so(tmp_path) -> None:
    with pytest.raises(InputError, match=r"not a run folder \(it has no manifest.json\)"):
        RunFolder.open_for_reading(tmp_path)
    run = RunFolder.open_for_writing(tmp_path / "run", IDENTITY)
    with pytest.raises(InputError, match="the run has not finished"):
        run.read_json("results/assay.json")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_json_number_is_refused_on_reading(tmp_path, number) -> None:
    run = RunFolder.open_for_writing(tmp_path / "run", {"command": "test"})
    (run.path / "x.json").write_text(f'{{"a": {number}}}')
    with pytest.raises(InputError, match="not a JSON number"):
        run.read_json("x.json")


@pytest.mark.parametrize("manifest", [[], {"identity": []}, {"identity": "x"}])
def test_a_manifest_is_an_object_with_an_identity(tmp_path, manifest) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="identity of a run was expected"):
        RunFolder.open_for_reading(tmp_path)
