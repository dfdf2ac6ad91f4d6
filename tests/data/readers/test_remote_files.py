"""Data at an address is the same data: what is read through fsspec against what is read from the same files here."""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import fsspec
import polars as pl
import pytest
from fsspec.registry import known_implementations

from metassay.data.readers.remote_files import download_if_remote, get_relative_path
from metassay.errors import InputError, is_remote_path
from metassay.workflows.assay import assay
from metassay.workflows.rank import rank
from metassay.workflows.read import read, read_parallel_files

ROWS = [
    {
        "lp": "en-de",
        "seg_id": i,
        "system": s,
        "hyp": f"he went {s} {i} times",
        "ref": f"he went {i} times",
        "mqm": -i,
    }
    for i in range(6)
    for s in "abc"
]
FEW = {"metrics": "chrf", "perturbations": "removal", "resamples": 20, "permutations": 19}


@pytest.fixture
def folder(tmp_path) -> Path:
    """Files of many kinds."""
    frame = pl.DataFrame(ROWS)
    frame.write_csv(tmp_path / "data.csv")
    frame.write_parquet(tmp_path / "data.parquet")
    frame.write_ndjson(tmp_path / "data.jsonl")
    fsspec.filesystem("file").pipe(str(tmp_path / "raw.csv"), (tmp_path / "data.csv").read_bytes())
    with fsspec.open(str(tmp_path / "data.csv.gz"), "wb", compression="gzip") as file:
        file.write((tmp_path / "data.csv").read_bytes())
    return tmp_path


@pytest.mark.parametrize("name", ["data.csv", "data.parquet", "data.jsonl", "data.csv.gz"])
def test_a_file_in_memory_is_read_as_the_same_file_here(name, folder, there) -> None:
    there.pipe(f"/some/where/{name}", (folder / name).read_bytes())
    found, known = read(f"memory://some/where/{name}"), read(str(folder / name))
    assert found.outputs.equals(known.outputs)
    assert (found.content_hash, found.notes) == (known.content_hash, known.notes)
    assert found.input_files == (f"memory://some/where/{name}",)


def test_what_changed_there_is_read_anew(there) -> None:
    for rows in (ROWS, ROWS[:9]):
        there.pipe("/x/data.csv", pl.DataFrame(rows).write_csv().encode())
        assert len(read("memory://x/data.csv")) == len(rows)


def test_a_file_of_this_machine_may_have_an_address(folder) -> None:
    known = read(str(folder / "data.csv"))
    assert read(f"file://{folder}/data.csv").content_hash == known.content_hash
    assert download_if_remote(f"file://{folder}/data.csv") == str(folder / "data.csv")


def test_a_file_in_an_archive_may_have_an_address(folder) -> None:
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.write(folder / "data.csv", "inner/data.csv")
    known = read(str(folder / "data.csv"))
    assert read(f"zip://inner/data.csv::file://{folder}/all.zip").content_hash == known.content_hash
    assert read(f"simplecache::file://{folder}/data.csv").content_hash == known.content_hash


def test_a_folder_of_tables_is_read_as_the_same_folder_here(tmp_path, there) -> None:
    for half in (0, 1):
        own = pl.DataFrame(ROWS[half::2]).write_csv().encode()
        (tmp_path / f"{half}.csv").write_bytes(own)
        there.pipe(f"/folder/{half}.csv", own)
    assert read("memory://folder").content_hash == read(str(tmp_path)).content_hash


def test_a_tree_of_mt_metrics_eval_is_read_as_the_same_tree_here(tmp_path, there) -> None:
    files = {"documents/en-de.docs": ["news\tone"] * 5}
    for name, sign in (("human-scores/en-de.mqm", -1), ("metric-scores/en-de/bleu-refA", 1)):
        rated = [
            (system, number * weight) for weight, system in ((1, "a"), (2, "b")) for number in range(1, 6)
        ]
        files[f"{name}.seg.score"] = [f"{system}\t{sign * score}" for system, score in rated]
    for name, lines in files.items():
        content = "".join(f"{line}\n" for line in lines)
        (tmp_path / "wmt22" / name).parent.mkdir(parents=True)
        (tmp_path / "wmt22" / name).write_text(content)
        there.pipe(f"/trees/wmt22/{name}", content.encode())
    known = rank(str(tmp_path), meta="pa", significance="none").to_json()
    assert rank("memory://trees", meta="pa", significance="none").to_json() == known


def test_texts_line_by_line_judgements_scores_and_pairs_have_addresses_too(tmp_path, there) -> None:
    files = {
        "ref.txt": "one\ntwo\n",
        "a.txt": "one\ntoo\n",
        "run": "1 Q0 d1 1 2.5 a\n1 Q0 d2 2 1.5 a\n",
        "qrels": "1 0 d1 1\n1 0 d2 0\n",
        "pairs.csv": "item,system,output,worse,ref\n"
        + "".join(f"{i},a,good {i},bad,good {i}\n" for i in range(30)),
        "beside.csv": "lp,seg_id,system,m\n"
        + "".join(f"en-de,{row['seg_id']},{row['system']},{len(row['hyp'])}\n" for row in ROWS),
        "data.csv": pl.DataFrame(ROWS).write_csv(),
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
        there.pipe(f"/all/{name}", content.encode())

    def both(make) -> None:
        assert make("memory://all").content_hash == make(str(tmp_path)).content_hash

    both(lambda at: read_parallel_files([f"{at}/ref.txt"], [f"{at}/a.txt"], f"{at}/ref.txt"))
    both(lambda at: read(f"{at}/run", qrels=f"{at}/qrels"))
    both(lambda at: read(f"{at}/data.csv", join=f"{at}/beside.csv"))
    found, known = (
        assay(None, pairs=f"{at}/pairs.csv", metrics="chrf", resamples=20, permutations=19).to_json()
        for at in ("memory://all", str(tmp_path))
    )
    assert found == known


def test_messages_name_the_address(there) -> None:
    there.pipe("/x/data.csv", b"seg_id,system,hyp,ref\n1,a,b,c\n,a,b,c\n")
    there.pipe("/x/empty.csv", b"")
    there.pipe("/x/comma.csv", b"seg_id;system;hyp;ref;mqm\n1;a;b;c;0,5\n")
    there.pipe("/folder/one.csv", b"seg_id,system,hyp,ref\n,a,b,c\n")
    with pytest.raises(InputError, match=r"^memory://x/data\.csv, row 2, column seg_id: "):
        read("memory://x/data.csv")
    assert read("memory://x/comma.csv").notes[0].startswith("memory://x/comma.csv: commas in these columns")
    with pytest.raises(InputError, match=r"^memory://x/empty\.csv, line 1: the file is empty"):
        read("memory://x/empty.csv")
    with pytest.raises(InputError, match=r"^memory://folder/one\.csv, row 1"):
        read("memory://folder")
    with pytest.raises(InputError, match=r"^memory://x/none\.csv: there is no such file"):
        read("memory://x/none.csv")


def test_results_say_nothing_of_the_copy(folder, there) -> None:
    there.pipe("/x/data.csv", (folder / "data.csv").read_bytes())
    found, known = (
        assay(source, contexts=["system"], **FEW).to_json()
        for source in ("memory://x/data.csv", str(folder / "data.csv"))
    )
    assert found == known


def test_what_is_no_address() -> None:
    assert not any(
        map(
            is_remote_path,
            ["C:\\data.csv", "C:/data.csv", "data.csv", "/a/b", "-", "own.py:Metric", "a:b", "a::b"],
        )
    )
    with pytest.raises(InputError, match="Pass addresses as text"):
        read(Path("s3://bucket/data.csv"))


def test_an_unknown_kind_of_address_and_one_without_its_package_are_refused() -> None:
    with pytest.raises(InputError, match=r"^nowhere://x: cannot be read \(ValueError: Protocol not known"):
        read("nowhere://x")
    missing = next(name for name in known_implementations if _is_missing(name))
    with pytest.raises(InputError, match=r"a package for such addresses is not installed"):
        read(f"{missing}://x/y.csv")


def _is_missing(protocol: str) -> bool:
    try:
        fsspec.get_filesystem_class(protocol)
    except ImportError:
        return True
    return False


def test_without_fsspec_it_is_said_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(
        InputError,
        match=r"fsspec, for s3://b/x\.csv, is not installed\.\nInstall it with: pip install 'metassay\[remote\]'",
    ):
        read("s3://b/x.csv")


def test_fsspec_is_not_imported_for_paths(folder) -> None:
    code = f"import sys, metassay; metassay.read({str(folder / 'data.csv')!r}); assert 'fsspec' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_leads_out_of_its_folder_is_refused() -> None:
    assert get_relative_path("bucket/run", "bucket/run/scores/a") == "scores/a"
    with pytest.raises(InputError, match="leads out of its folder"):
        get_relative_path("bucket/run", "bucket/run/../../etc/passwd")


@pytest.mark.posix
def test_copies_go_with_the_program_and_those_of_a_killed_one_with_the_next(tmp_path) -> None:
    code = (
        "import fsspec, os, signal, sys, tempfile; from metassay.data.readers.remote_files import download_if_remote;"
        "fsspec.filesystem('memory').pipe('/x/a.csv', b'a'); print(download_if_remote('memory://x/a.csv'), flush=True);"
        "print(len(os.listdir(tempfile.gettempdir())));"
        "os.kill(os.getpid(), signal.SIGKILL) if sys.argv[1:] else None"
    )
    own = os.environ | {"TMPDIR": str(tmp_path)}
    killed = subprocess.run(
        [sys.executable, "-c", code, "now"], env=own, check=False, stdout=subprocess.PIPE, text=True
    )
    assert Path(killed.stdout.split()[0]).read_bytes() == b"a"
    again = subprocess.run(
        [sys.executable, "-c", code], env=own, check=True, stdout=subprocess.PIPE, text=True
    )
    assert again.stdout.split()[1] == "1"
    assert not list(tmp_path.iterdir())


class _Server(http.server.SimpleHTTPRequestHandler):
    def send_head(self):
        if "secret" in self.path:
            self.send_error(403)
            return None
        return super().send_head()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web(folder):
    pytest.importorskip("aiohttp", reason="addresses of the web need: pip install aiohttp")
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Server, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_data_on_the_web(web, folder) -> None:
    for name in ("data.csv", "data.parquet", "data.csv.gz"):
        assert read(f"{web}/{name}?version=1").content_hash == read(str(folder / name)).content_hash
    with pytest.raises(InputError, match=rf"^{web}/none\.csv: there is no such file"):
        read(f"{web}/none.csv")
    with pytest.raises(InputError, match=rf"^{web}/secret\.csv: access is refused"):
        read(f"{web}/secret.csv")


def test_a_file_whose_name_has_colons_is_a_file(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(ROWS).write_csv("run::1.csv")
    assert (
        read("run::1.csv", task="mt").content_hash
        == read(str(tmp_path / "run::1.csv"), task="mt").content_hash
    )
    with pytest.raises(InputError, match=r"^none::here\.csv: there is no such file"):
        read("none::here.csv", task="mt")
