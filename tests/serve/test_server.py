"""Runs in the browser: what is shown, and what is not."""

from __future__ import annotations

import http.client
import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metassay.errors import InputError
from metassay.reporting.pages import render_overview
from metassay.sample import sample_path
from metassay.serve.server import RunServer
from metassay.workflows.assay import assay
from metassay.workflows.overview import overview
from metassay.workflows.read import read

FAST = {"resamples": 60, "permutations": 39, "perturbations": "removal,swapping"}
Ask = Callable[..., tuple[int, dict[str, str], str]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    dataset = read(sample_path("mt"))
    for seed in (1, 2):
        assay(dataset, metrics="bleu,chrf", seed=seed, out=folder / f"run-{seed}", **FAST)
    return folder


@pytest.fixture
def ask(runs: Path) -> Iterator[Ask]:
    with RunServer([runs], port=0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()

        def request(
            path: str, *, method: str = "GET", host: str = "localhost"
        ) -> tuple[int, dict[str, str], str]:
            connection = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
            connection.request(method, path, headers={"Host": host})
            answer = connection.getresponse()
            body = answer.read().decode()
            connection.close()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, body

        yield request
        server.shutdown()
        thread.join()


def test_the_overview_shows_every_run_and_leads_to_its_report(ask: Ask, runs: Path) -> None:
    status, headers, page = ask("/")
    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert '<a href="/runs/0/">run-1</a>' in page
    assert "run-1 → run-2" in page
    assert "data:image/svg+xml" in page
    assert ask("/runs/1/")[2] == (runs / "run-2" / "report.html").read_text()


def test_the_overview_as_data(ask: Ask, runs: Path) -> None:
    found = json.loads(ask("/api/overview")[2])
    assert next(iter(found)) == "schema_version"
    stored = json.loads((runs / "run-1" / "results" / "assay.json").read_text())
    accuracies = {row["metric"]: row["accuracy"] for row in stored["global"]}
    assert {row["metric"]: row["accuracy"] for row in found["runs"][0]["metrics"]} == accuracies
    assert [entry["after"] for entry in found["comparisons"]] == ["run-2"]
    assert overview(runs).to_frame().height == 2 * len(accuracies)


def test_a_new_run_appears_and_an_unfinished_one_is_named(ask: Ask, runs: Path) -> None:
    later = runs / "run-3"
    shutil.copytree(runs / "run-2", later)
    unfinished = runs / "run-4"
    unfinished.mkdir()
    (unfinished / "manifest.json").write_text('{"identity": {"command": "assay"}, "state": "running"}')
    try:
        page = ask("/")[2]
        assert "run-2 → run-3" in page
        assert "not finished yet" in page
        assert ask("/runs/3/")[0] == 404
    finally:
        shutil.rmtree(later)
        shutil.rmtree(unfinished)


@pytest.mark.parametrize(
    "path",
    [
        "/runs/2/",
        "/runs/-1/",
        "/runs/0",
        "/runs/0/../../manifest.json",
        "/run-1/manifest.json",
        "//etc/passwd",
    ],
)
def test_nothing_else_can_be_read(ask: Ask, path: str) -> None:
    status, _, body = ask(path)
    assert status == 404
    assert "identity" not in body


def test_other_names_and_other_methods_are_refused(ask: Ask) -> None:
    assert ask("/", host="evil.example")[0] == 421
    assert ask("/", host="")[0] == 421
    assert ask("/", host="127.0.0.1:99")[0] == 200
    assert ask("/", method="POST")[0] == 501
    status, headers, body = ask("/", method="HEAD")
    assert (status, body) == (200, "")
    assert headers["x-frame-options"] == "DENY"


def test_open_to_others_it_goes_by_addresses_but_by_no_foreign_name(runs: Path) -> None:
    with RunServer([runs], host="0.0.0.0", port=0) as server:
        assert server.is_called("192.0.2.7")
        assert server.is_called(socket.gethostname().lower())
        assert not server.is_called("evil.example")
    with RunServer([runs], port=0) as server:
        assert not server.is_called("192.0.2.7")


def test_hostile_names_of_runs_are_escaped(ask: Ask, runs: Path) -> None:
    hostile = runs / "x<img src=x onerror=alert(1)>"
    shutil.copytree(runs / "run-2", hostile)
    try:
        page = ask("/")[2]
    finally:
        shutil.rmtree(hostile)
    assert "<img src=x" not in page
    assert "x&lt;img src=x" in page
    assert "script-src" not in page.partition("</head>")[0]
    assert "default-src &#39;none&#39;" in page


def test_metrics_that_the_chart_has_no_room_for_are_named() -> None:
    rows = [{"metric": f"m{n}", "accuracy": 0.5, "low": 0.4, "high": 0.6} for n in range(10)]
    common = {"task": "mt", "state": "finished", "command": "assay", "answer": "m0.", "metrics": rows}
    runs = [{"name": name, "folder": name, **common} for name in ("one", "two")]
    page = render_overview({"runs": runs, "comparisons": []}, {})
    assert "Not drawn: m8, m9." in page


def test_a_port_in_use_and_a_folder_without_runs_are_said(runs: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="in use"):
        RunServer([runs], port=taken.getsockname()[1])
    with pytest.raises(InputError, match="no run in this folder"):
        RunServer([tmp_path])


def test_the_command_serves_until_it_is_told_to_stop(runs: Path) -> None:
    command = [sys.executable, "-m", "metassay", "serve", str(runs), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        connection = http.client.HTTPConnection(url.removeprefix("http://").rstrip("/"), timeout=20)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.stdout.close()
