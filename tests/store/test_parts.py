"""Files that are whole or absent: killed writers, full disks."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from metassay.cli import run
from metassay.errors import InputError
from metassay.store import write_bytes
from metassay.store.parts import ScoreParts
from metassay.store.run import RunFolder, read_manifest

IDENTITY = {"command": "assay", "configuration": {"seed": 1}, "input": "abc"}
KILLED_WHILE_WRITING = """
import os, sys
from pathlib import Path
import metassay.store as store
store.os.fsync = lambda _: os.kill(os.getpid(), 9)
store.write_bytes(Path(sys.argv[1]), b"half")
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


DIGESTS = np.array([[5, 1], [2, 9], [2, 3], [2, 7]], dtype=np.uint64)
SCORES = np.array([1.0, 2.0, np.nan, 4.0])


def test_parts_are_the_same_bytes_whatever_the_order(tmp_path) -> None:
    one, two = ScoreParts(tmp_path / "one"), ScoreParts(tmp_path / "two")
    one.keep("chrf(word_order=2)", "signature", 3, DIGESTS, SCORES, ())
    two.keep("chrf(word_order=2)", "signature", 3, DIGESTS[::-1], SCORES[::-1], ())
    (first,), (second,) = (tmp_path / "one").iterdir(), (tmp_path / "two").iterdir()
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_scores_are_found_by_content_signature_and_number_alone(tmp_path) -> None:
    ScoreParts(tmp_path).keep("chrf", "signature", 3, DIGESTS, SCORES, ((2, "were long"),))
    parts = ScoreParts(tmp_path)
    other = np.array([[2, 7], [2, 3], [0, 0], [2, 8], [9, 9], [5, 1], [2, 9]], dtype=np.uint64)
    scores, notes = parts.find("chrf", "signature", 3, other)
    np.testing.assert_array_equal(scores, [4, np.nan, np.nan, np.nan, np.nan, 1, 2])
    assert notes == ((2, "were long"),)
    for place in (("chrf", "signaturf", 3), ("chrf", "signature", 4), ("bleu", "signature", 3)):
        assert np.isnan(parts.find(*place, DIGESTS)[0]).all()


def test_a_part_that_grew_replaces_what_there_was(tmp_path) -> None:
    parts = ScoreParts(tmp_path)
    parts.keep("chrf", "s", 0, DIGESTS[:2], SCORES[:2], ())
    parts.keep("chrf", "s", 0, DIGESTS, SCORES, ())
    assert len(list(tmp_path.iterdir())) == 1
    np.testing.assert_array_equal(ScoreParts(tmp_path).find("chrf", "s", 0, DIGESTS)[0], SCORES)


def broken_ways(content: bytes) -> dict[str, bytes]:
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    return {"truncated": content[:-9], "altered": flipped, "empty": b"", "short": b"PAR1"}


@pytest.mark.parametrize("how", ["truncated", "altered", "empty", "short"])
def test_a_broken_part_is_set_aside_named_and_made_again(tmp_path, how, caplog) -> None:
    ScoreParts(tmp_path).keep("chrf", "s", 0, DIGESTS, SCORES, ())
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(broken_ways(whole)[how])
    parts = ScoreParts(tmp_path)
    assert np.isnan(parts.find("chrf", "s", 0, DIGESTS)[0]).all()
    assert caplog.messages == [
        f"Note: {file}: broken (its checksum differs), now {file.name}.broken; what it held is computed again."
    ]
    parts.keep("chrf", "s", 0, DIGESTS, SCORES, ())
    assert file.read_bytes() == whole
    np.testing.assert_array_equal(ScoreParts(tmp_path).find("chrf", "s", 0, DIGESTS)[0], SCORES)


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
