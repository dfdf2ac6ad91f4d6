"""A run folder at an address holds the bytes of one here, and any machine goes on from what has arrived there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import fsspec
import numpy as np
import pyarrow.fs
import pytest
from fsspec.implementations.arrow import ArrowFSWrapper

from fake_llm_server import answer
from metassay.cli import run_command_line as run
from metassay.engine import batches
from metassay.errors import InputError
from metassay.llm.settings import LlmSettings
from metassay.metrics.registry import parse_metric
from metassay.store import remote
from metassay.store.cached_scores import CachedScores, open_cached_scores
from metassay.store.remote import (
    convert_to_local_path,
    list_files,
    upload_file_in_background,
    upload_growing_files,
)
from metassay.store.run_folder import RunFolder
from metassay.workflows.assay import assay
from metassay.workflows.perturb import perturb
from metassay.workflows.read import read
from metassay.workflows.recommend import recommend

UNPROMISED = {"timings.json", "call.json"}
TABLE = "seg_id,system,domain,hyp,ref\n" + "".join(
    f"{i},{system},{'news' if i % 2 else 'chat'},Yesterday he did not go {system} {i} times.,He went {i} times.\n"
    for i in range(30)
    for system in "abc"
)
OPTIONS = [
    *("--task", "mt", "--language", "en", "--metrics", "chrf,ter", "--context", "domain", "--workers", "1"),
    *("--perturbations", "removal,swapping", "--resamples", "20", "--permutations", "19", "--quiet"),
]
OWN = """
from dataclasses import dataclass
import os
import numpy as np
from metassay.metrics.base import Metric

@dataclass(frozen=True)
class Logged(Metric):
    name = "logged"
    task = "any"
    can_be_timed = False
    needs = frozenset({"output"})
    def score(self, batch):
        log = os.open(os.environ["LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(log, b"x\\n")
        os.close(log)
        return np.array([len(text) for text in batch.output], dtype=float)
"""


def here(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file() and file.name not in UNPROMISED]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def away(system, folder: str) -> dict[str, bytes]:
    names = [name for name in system.find(folder) if name.rpartition("/")[2] not in UNPROMISED]
    return {name.partition(folder)[2].lstrip("/"): system.cat_file(name) for name in names}


def forget() -> None:
    """As on another machine: nothing that was brought here is here any more."""
    for path in list(remote._mirrors):
        for file in [file for file in path.rglob("*") if file.is_file()]:
            file.unlink()


@pytest.fixture
def data(tmp_path, monkeypatch) -> str:
    monkeypatch.setattr(batches, "BATCH_ROWS", 40)
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    return str(tmp_path / "data.csv")


@pytest.fixture
def options(tmp_path, data) -> list[str]:
    own = f"{tmp_path / 'own.py'}:Logged"
    assert run(["assay", data, *OPTIONS, "--metric-file", own, "--out", str(tmp_path / "run")]) == 0
    (tmp_path / "log").unlink()
    return ["assay", data, *OPTIONS, "--metric-file", own]


def test_a_run_in_memory_holds_the_bytes_of_one_here_and_is_gone_on_with(
    tmp_path, options, there, capsys
) -> None:
    assert run([*options, "--out", "memory://runs/one"]) == 0
    assert "Report: memory://runs/one/report.html" in capsys.readouterr().out
    known = here(tmp_path / "run")
    assert len(known) > 20
    assert away(there, "/runs/one") == known
    pieces = len((tmp_path / "log").read_text().split())
    parts = [name for name in known if "part-logged" in name][:2]
    for gone, again in (([], 0), (["report.html"], 0), (["report.html", *parts], 2)):
        forget()
        for name in gone:
            there.rm_file(f"/runs/one/{name}")
        (tmp_path / "log").write_text("")
        assert run(["resume", "memory://runs/one", "--quiet", "--trust"]) == 0
        assert len((tmp_path / "log").read_text().split()) == again < pieces
        assert away(there, "/runs/one") == known


@pytest.mark.usefixtures("options")
def test_work_by_parts_from_a_file_at_an_address(tmp_path, there) -> None:
    whole = sorted(
        number
        for number in range(99)
        if list_files(tmp_path / "run" / "scores", f"part-ter-*-{number:05d}-*")
    )
    told = json.loads((tmp_path / "run" / "call.json").read_text()) | {"out": "memory://runs/two"}
    there.pipe("/runs/two.json", json.dumps(told).encode())
    for number in reversed(whole):
        forget()
        assert (
            run(
                [
                    "work",
                    "memory://runs/two.json" if number == whole[-1] else "memory://runs/two",
                    "--part",
                    str(number),
                    "--trust",
                ]
            )
            == 0
        )
        assert len(there.glob("/runs/two/scores/part-logged-*")) == len(whole) - number
    forget()
    assert run(["resume", "memory://runs/two", "--trust"]) == 0
    assert away(there, "/runs/two") == here(tmp_path / "run")
    assert len((tmp_path / "log").read_text().split()) == len(whole)


def test_a_broken_part_is_set_aside_there_and_made_again(tmp_path, options, there, caplog) -> None:
    assert run([*options, "--out", "memory://runs/one"]) == 0
    (part,) = there.glob("/runs/one/scores/part-ter-*-00001-*")
    known = there.cat_file(part)
    there.pipe(part, bytes([known[0] ^ 1]) + known[1:])
    forget()
    assert run([*options, "--out", "memory://runs/one"]) == 0
    assert f"memory:/{part}: its checksum is wrong, and it was renamed to" in caplog.text
    found = away(there, "/runs/one")
    aside = [name for name in found if name.endswith(".broken")]
    assert len(aside) == 1
    assert {name: own for name, own in found.items() if name not in aside} == here(tmp_path / "run")


def test_what_is_no_run_or_another_is_left_alone(data, there) -> None:
    there.pipe("/data/x.csv", b"x")
    there.pipe("/one/manifest.json", b'{"identity": {"command": "rank"}}')
    for place, what in (
        ("data", "this exists and is not a run folder"),
        ("one", "this folder holds another run"),
    ):
        with pytest.raises(InputError, match=rf"^memory://{place}: {what}"):
            assay(data, metrics="chrf", out=f"memory://{place}")
    for place in ("data", "nothing"):
        with pytest.raises(InputError, match=rf"^memory://{place}: "):
            recommend(f"memory://{place}")
    assert sorted(there.find("/")) == ["/data/x.csv", "/one/manifest.json"]


def test_what_is_removed_there_is_gone(there) -> None:
    for command in ("rank", "score"):
        opened = RunFolder.open_for_writing("memory://runs/one", {"command": command})
        assert not opened.is_resumed
        assert RunFolder.open_for_writing("memory://runs/one", {"command": command}).is_resumed
        there.rm("/runs/one", recursive=True)


def test_finished_runs_are_read_and_their_pages_written_there(options, there, capsys) -> None:
    for name in ("old", "new"):
        assert run([*options, "--out", f"memory://runs/{name}"]) == 0
    page = there.cat_file("/runs/old/report.html")
    there.rm("/runs/old/report.html")
    forget()
    capsys.readouterr()
    assert run(["report", "memory://runs/old", "--tables", "csv"]) == 0
    assert (
        "Report: memory://runs/old/report.html\nTables: memory://runs/old/tables" in capsys.readouterr().out
    )
    assert there.cat_file("/runs/old/report.html") == page
    assert there.glob("/runs/old/tables/*.csv")
    assert run(["compare", "memory://runs", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["comparisons"]
    assert [(each["before"], each["after"]) for each in said] == [("memory://runs/new", "memory://runs/old")]
    assert run(["score", *options[1:2], "--metrics", "chrf", "--per-segment", "memory://x/scores.csv"]) == 0
    assert there.cat_file("/x/scores.csv").count(b"\n") == 91


def test_a_cache_elsewhere_serves_scores(there) -> None:
    metric = parse_metric("chrf")
    digests = np.arange(12, dtype=np.uint64).reshape(6, 2)
    scores = np.linspace(0, 1, 6)
    CachedScores(None, convert_to_local_path("memory://cache"), [metric]).save_batch_scores(
        metric, 0, digests, scores, ()
    )
    assert there.glob("/cache/*/*/part-*.parquet")
    forget()
    found, _ = open_cached_scores(None, "memory://cache", [metric]).load_batch_scores(metric, 0, digests)
    assert (found == scores).all()


def test_a_file_that_grows_is_put_from_time_to_time(there) -> None:
    path = convert_to_local_path("memory://runs/asking") / "answers.jsonl"
    path.parent.mkdir(parents=True)
    upload_file_in_background(path)
    for text in ("one\n", "one\ntwo\n"):
        path.write_text(text)
        upload_growing_files()
        assert there.cat_file("/runs/asking/answers.jsonl") == text.encode()


def test_a_growing_file_is_put_in_the_background(there, monkeypatch) -> None:
    monkeypatch.setattr(remote, "_UPLOAD_INTERVAL", 0.02)
    monkeypatch.setattr(remote, "_growing_files", {})
    path = convert_to_local_path("memory://runs/background") / "answers.jsonl"
    path.parent.mkdir(parents=True)
    upload_file_in_background(path)
    for text in ("one\n", "one\ntwo\n"):
        path.write_text(text)
        wait_until_uploaded(there, "/runs/background/answers.jsonl", text.encode())


def wait_until_uploaded(file_system, path: str, content: bytes) -> None:
    ends_at = time.monotonic() + 20
    while not file_system.exists(path) or file_system.cat_file(path) != content:
        assert time.monotonic() < ends_at
        time.sleep(0.02)


def test_answers_of_a_model_are_there_and_not_asked_for_again(data, server, there) -> None:
    running = server(
        lambda handler, body: handler.reply(answer(body["messages"][-1]["content"][-40:] + " not"))
    )
    llm = LlmSettings(running.url, "m")
    perturb(data, perturbations="llm", llm=llm, out="memory://runs/asked")
    asked, pairs = len(running.asked), there.cat_file("/runs/asked/pairs.parquet")
    assert there.cat_file("/runs/asked/llm-answers.jsonl").count(b"\n") == asked > 20
    forget()
    perturb(data, perturbations="llm", llm=llm, out="memory://runs/asked")
    assert (len(running.asked), there.cat_file("/runs/asked/pairs.parquet")) == (asked, pairs)


class Plain(ArrowFSWrapper):
    """Arrow's own filesystem of this machine: one where files are there before they are whole."""

    protocol = "plain"

    def __init__(self, **more) -> None:
        super().__init__(pyarrow.fs.LocalFileSystem(), **more)


def test_where_a_file_is_not_put_as_a_whole_it_gets_its_name_at_the_end(tmp_path, options) -> None:
    fsspec.register_implementation("plain", Plain, clobber=True)
    folder = tmp_path / "plain"
    (folder / "one").mkdir(parents=True)
    (folder / "one" / ".manifest.json.0123.partial").write_text("{")  # of one that was killed
    assert run([*options, "--out", f"plain://{folder}/one"]) == 0
    (folder / "one" / ".manifest.json.0123.partial").unlink()
    assert here(folder / "one") == here(tmp_path / "run")


S3 = """
import os, signal, sys
import numpy, polars
from metassay.cli import run_command_line as run
from metassay.engine import batches

batches.BATCH_ROWS = 40
steps = int(sys.argv[1])

def count(event, arguments):
    global steps
    if event == "os.rename" and "/runs/" in str(arguments[1]):
        steps -= 1
        if steps == 0:
            os.kill(os.getpid(), signal.SIGKILL)

if steps:
    sys.addaudithook(count)
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.posix
@pytest.mark.slow
def test_killed_again_and_again_a_run_on_s3_goes_on_from_other_machines(tmp_path, options, bucket) -> None:
    bucket.pipe_file("bucket/data.csv", TABLE.encode())
    options = ["assay", "s3://bucket/data.csv", *options[2:]]
    computed, seen = 0, {}
    for machine, steps in enumerate((2, 9, 12, 7, 0)):
        own = tmp_path / str(machine)
        (own / "tmp").mkdir(parents=True)
        asked = (
            ["resume", "s3://bucket/runs/one", "--quiet", "--trust"]
            if machine > 1
            else [*options, "--out", "s3://bucket/runs/one"]
        )
        (tmp_path / "log").unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", S3, str(steps), *asked],
            cwd=own,
            env=os.environ | {"TMPDIR": str(own / "tmp"), "POLARS_MAX_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (-signal.SIGKILL if steps else 0), done.stderr[-2000:]
        computed += len((tmp_path / "log").read_text().split()) if (tmp_path / "log").exists() else 0
        now = {
            name: about["LastModified"]
            for name, about in bucket.find("bucket/runs/one", detail=True).items()
            if name.endswith(".parquet") and "/scores/" in name
        }
        assert seen.items() <= now.items()
        seen = now
        if not steps:
            assert not list((own / "tmp").iterdir())
    assert away(bucket, "bucket/runs/one") == here(tmp_path / "run")
    pieces = len([name for name in seen if "part-logged" in name])
    assert pieces <= computed <= pieces + 4


def test_what_s3_says_is_said_with_the_address(data, bucket, monkeypatch) -> None:
    with pytest.raises(InputError, match=r"^s3://nowhere/x\.csv: there is no such file"):
        read("s3://nowhere/x.csv")
    with pytest.raises(
        InputError, match=r"^s3://nowhere/run/manifest\.json: cannot be written .*bucket does not exist"
    ):
        assay(data, metrics="chrf", out="s3://nowhere/run")
    bucket.pipe_file("bucket/data.csv", TABLE.encode())
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    type(bucket).clear_instance_cache()
    with pytest.raises(InputError, match=r"^s3://bucket/data\.csv: .*(access is refused|redentials)"):
        read("s3://bucket/data.csv")
