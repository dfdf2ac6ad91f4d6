"""Files that are whole or absent: killed writers, full disks."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from metassay.cli import run
from metassay.errors import InputError
from metassay.store.parts import write_bytes
from metassay.store.run import RunFolder, read_manifest

IDENTITY = {"command": "assay", "configuration": {"seed": 1}, "input": "abc"}
KILLED_WHILE_WRITING = """
import os, sys
from pathlib import Path
import metassay.store.parts as parts
parts.os.fsync = lambda _: os.kill(os.getpid(), 9)
parts.write_bytes(Path(sys.argv[1]), b"half")
"""


def killed_while_writing(path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(path)], check=False)
    assert done.returncode == -9
    assert not path.exists()
    assert len(list(path.parent.glob(f".{path.name}.*.part"))) == 1


def test_a_folder_left_by_a_kill_during_the_first_manifest_is_used(tmp_path) -> None:
    killed_while_writing(tmp_path / "run" / "manifest.json")
    run = RunFolder.open(tmp_path / "run", IDENTITY)
    assert read_manifest(run.path)["state"] == "running"
    assert [path.name for path in run.path.iterdir()] == ["manifest.json"]


def test_such_a_file_of_any_writer_does_not_keep_a_run_out(tmp_path) -> None:
    (tmp_path / ".manifest.json.1.part").write_text("{")
    assert RunFolder.open(tmp_path, IDENTITY).path == tmp_path
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(InputError, match="this exists and is no run folder"):
        RunFolder.open(tmp_path, IDENTITY)


def test_a_resumed_run_frees_what_the_killed_one_was_writing_and_leaves_the_living_alone(tmp_path) -> None:
    run = RunFolder.open(tmp_path, IDENTITY)
    killed_while_writing(tmp_path / "scores" / "part.parquet")
    (dead,) = (tmp_path / "scores").iterdir()
    writer = dead.name.split(".")[-2]
    living = dead.with_name(dead.name.replace(writer.partition("@")[0], str(os.getpid())))
    elsewhere = dead.with_name(dead.name.replace(writer, "7@another-machine"))
    for other in (living, elsewhere):
        other.write_text("in the making")
    RunFolder.open(run.path, IDENTITY)
    assert sorted((tmp_path / "scores").iterdir()) == sorted([living, elsewhere])


def test_a_disk_that_is_full_is_said_in_one_line_and_keeps_no_orphan(tmp_path) -> None:
    resource_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource_limit[1]))
    try:
        with pytest.raises(InputError, match=r"big.bin: cannot be written \(File too large\)"):
            write_bytes(tmp_path / "big.bin", b"x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, resource_limit)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def tiny_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24k", "none", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_an_assay_on_a_full_disk_is_no_defect_of_ours(tiny_disk, tmp_path, capsys) -> None:
    table = tmp_path / "data.csv"
    rows = [f"{item},{system},the cat {system} sat {item},the cat sat {item}" for item in range(40) for system in "ab"]  # fmt: skip
    table.write_text("\n".join(["seg_id,system,hyp,ref", *rows]))
    options = ["--metrics", "chrf", "--language", "en", "--perturbations", "removal", "--resamples", "9"]
    assert run(["assay", str(table), *options, "--out", str(tiny_disk / "run"), "--quiet"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert "cannot be written (No space left on device)." in said[-2]
    assert said[-2].startswith(str(tiny_disk / "run"))
    assert not list(tiny_disk.rglob("*.part"))
