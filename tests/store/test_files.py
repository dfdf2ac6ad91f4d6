"""Files are complete or absent when their writer is killed or the disk is full."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from metassay.cli import run_command_line as run
from metassay.errors import InputError
from metassay.store.files import write_bytes
from metassay.store.run_folder import RunFolder, read_manifest

IDENTITY = {"command": "assay", "configuration": {"seed": 1}, "input": "abc"}
WRITE_AND_DIE = """
import os, sys
from pathlib import Path
import metassay.store.files as files
files.os.fsync = lambda _: os.kill(os.getpid(), 9)
files.write_bytes(Path(sys.argv[1]), b"half")
"""


def kill_a_writer(path: Path) -> None:
    process = subprocess.run([sys.executable, "-c", WRITE_AND_DIE, str(path)], check=False)
    assert process.returncode == -9
    assert not path.exists()
    assert len(list(path.parent.glob(f".{path.name}.*.part"))) == 1


def test_a_folder_with_half_a_manifest_is_used(tmp_path) -> None:
    kill_a_writer(tmp_path / "run" / "manifest.json")
    run = RunFolder.open_for_writing(tmp_path / "run", IDENTITY)
    assert read_manifest(run.path)["state"] == "running"
    assert [path.name for path in run.path.iterdir()] == ["manifest.json"]


def test_half_a_manifest_of_any_writer_does_not_block_a_folder(tmp_path) -> None:
    (tmp_path / ".manifest.json.1.part").write_text("{")
    assert RunFolder.open_for_writing(tmp_path, IDENTITY).path == tmp_path
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(InputError, match="this exists and is not a run folder"):
        RunFolder.open_for_writing(tmp_path, IDENTITY)


def test_resuming_deletes_files_of_dead_writers_only(tmp_path) -> None:
    run = RunFolder.open_for_writing(tmp_path, IDENTITY)
    kill_a_writer(tmp_path / "scores" / "part.parquet")
    (abandoned,) = (tmp_path / "scores").iterdir()
    writer = abandoned.name.split(".")[-2]
    process = writer.partition("-")[0]
    of_living_process = abandoned.with_name(abandoned.name.replace(process, str(os.getpid())))
    of_other_machine = abandoned.with_name(abandoned.name.replace(writer, "7-1@another-machine"))
    for file in (of_living_process, of_other_machine):
        file.write_text("unfinished")
    RunFolder.open_for_writing(run.path, IDENTITY)
    assert sorted((tmp_path / "scores").iterdir()) == sorted([of_living_process, of_other_machine])


@pytest.mark.posix
def test_a_full_disk_is_reported_in_one_line_and_leaves_no_file(tmp_path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(InputError, match=r"big.bin: cannot be written \(File too large\)"):
            write_bytes(tmp_path / "big.bin", b"x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def tiny_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=24k", "none", str(disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_an_assay_on_a_full_disk_is_a_usage_error(tiny_disk, tmp_path, capsys) -> None:
    rows = ["seg_id,system,hyp,ref"]
    for item in range(40):
        rows += [f"{item},{system},the cat {system} sat {item},the cat sat {item}" for system in "ab"]
    table = tmp_path / "data.csv"
    table.write_text("\n".join(rows))
    options = ["--metrics", "chrf", "--language", "en", "--perturbations", "removal", "--resamples", "9"]
    assert run(["assay", str(table), *options, "--out", str(tiny_disk / "run"), "--quiet"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert "cannot be written (No space left on device)." in lines[-2]
    assert lines[-2].startswith(str(tiny_disk / "run"))
    assert not list(tiny_disk.rglob("*.part"))
