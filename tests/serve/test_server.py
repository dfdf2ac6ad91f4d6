"""Runs in the browser: what is shown, to whom, and what is not."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from metassay.errors import InputError
from metassay.sample import get_bundled_sample_path
from metassay.serve import application, timeouts
from metassay.serve.host_check import HostCheck
from metassay.serve.server import RunServer
from metassay.workflows import run_collection
from metassay.workflows.assay import assay
from metassay.workflows.dashboard import Dashboard
from metassay.workflows.read import read
from metassay.workflows.run_collection import RunCollection

FAST = {"resamples": 60, "permutations": 39, "perturbations": "removal,swapping"}
Ask = Callable[..., tuple[int, dict[str, str], str]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    dataset = read(get_bundled_sample_path("mt"))
    for number, seed in ((1, 1), (2, 3)):
        assay(dataset, metrics="bleu,chrf", seed=seed, out=folder / f"run-{number}", **FAST)
    return folder


@pytest.fixture
def runs(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "runs")
    return tmp_path / "runs"


@pytest.fixture
def ask(runs: Path) -> Iterator[Ask]:
    with RunServer([runs], port=0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()

        def request(
            path: str, *, method: str = "GET", host: str = "localhost", body: str | None = None
        ) -> tuple[int, dict[str, str], str]:
            connection = http.client.HTTPConnection(*server.socket.getsockname()[:2], timeout=20)
            connection.request(method, path, body=body, headers={"Host": host})
            answer = connection.getresponse()
            content = answer.read().decode()
            connection.close()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, content

        request.server = server  # type: ignore[attr-defined]
        yield request
        server.shutdown()
        thread.join()


def address(ask: Ask) -> tuple[str, int]:
    return ask.server.socket.getsockname()[:2]  # type: ignore[attr-defined]


def test_the_overview_shows_every_run_and_leads_to_pairs_and_report(ask: Ask, runs: Path) -> None:
    status, headers, page = ask("/")
    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert '<a href="/runs/run-1/">run-1</a>' in page
    assert 'href="/runs/run-1/report"' in page
    assert "1 comparison of a run" in page
    assert ask("/runs/run-2/report")[2] == (runs / "run-2" / "report.html").read_text()


def test_changes_over_all_runs_have_a_page_with_a_chart(ask: Ask, runs: Path) -> None:
    assert '<a href="/watch">' in ask("/")[2]
    status, headers, page = ask("/watch")
    assert status == 200
    assert headers["content-security-policy"].startswith("sandbox")
    assert "No change is shown in 2 runs." in page
    assert "Agreement with people in every run, oldest first." in page
    assert str(runs) not in page
    shutil.rmtree(runs / "run-2")
    status, _, page = ask("/watch")
    assert status == 500
    assert "there is only one run" in page


def test_the_overview_as_data(ask: Ask, runs: Path) -> None:
    found = json.loads(ask("/api/overview")[2])
    assert next(iter(found)) == "schema_version"
    stored = json.loads((runs / "run-1" / "results" / "assay.json").read_text())
    accuracies = {row["metric"]: row["accuracy"] for row in stored["global"]}
    assert {row["metric"]: row["accuracy"] for row in found["runs"][0]["metrics"]} == accuracies
    assert [entry["after"] for entry in found["comparisons"]] == ["run-2"]


def test_an_overview_of_very_many_runs_reads_those_of_one_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1000):
        folder = tmp_path / f"run-{number:04d}"
        folder.mkdir()
        (folder / "manifest.json").write_text('{"identity": {"command": "score"}, "state": "finished"}')
    summarized: list[Path] = []
    summarize = run_collection._summarize_run
    monkeypatch.setattr(
        run_collection, "_summarize_run", lambda folder: summarized.append(folder) or summarize(folder)
    )
    dashboard = Dashboard([tmp_path], writable=False)
    page = dashboard.render_run_list()
    assert len(summarized) == run_collection.RUNS_PER_PAGE
    assert "Page 20 of 20 with " in page
    assert "run-0999" in page
    assert 'href="/?page=19"' in page
    assert "run-0049" in dashboard.render_run_list("1")
    assert json.loads(dashboard.build_run_list_json("2"))["runs"][0]["name"] == "run-0050"
    assert RunCollection([tmp_path]).summarize_runs_on_page().total == 1000


def test_a_page_of_the_overview_that_does_not_exist_is_refused(ask: Ask) -> None:
    assert ask("/?page=1")[0] == 200
    for page in ("0", "2", "x", "-1", "9" * 30):
        assert ask(f"/?page={page}")[0] == 400
        assert ask(f"/api/overview?page={page}")[0] == 400


def test_runs_come_and_go_and_names_stay(ask: Ask, runs: Path) -> None:
    shutil.copytree(runs / "run-2", runs / "run-0")
    unfinished = runs / "run-4"
    unfinished.mkdir()
    (unfinished / "manifest.json").write_text('{"identity": {"command": "assay"}, "state": "running"}')
    page = ask("/")[2]
    assert "run-0" in page
    assert "not finished yet" in page
    assert ask("/runs/run-4/report")[0] == 404
    assert ask("/runs/run-2/")[0] == 200
    shutil.rmtree(runs / "run-0")
    assert "run-0" not in ask("/")[2]
    assert ask("/runs/run-0/")[0] == 404


BROKEN = {
    "manifest.json": ("[]", "{", "\xff", "[" * 100_000, '{"identity": 5}'),
    "results/assay.json": ("[]", "{}", "{", "NaN", '{"schema_version": 1}'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_run_is_one_red_line(ask: Ask, runs: Path, name: str) -> None:
    for content in BROKEN[name]:
        (runs / "run-1" / name).write_text(content, encoding="latin-1")
        status, _, page = ask("/")
        assert status == 200
        assert page.count('<tr class="broken">') == 1
        assert '<a href="/runs/run-2/">run-2</a>' in page
        runs_as_data = json.loads(ask("/api/overview")[2])["runs"]
        assert [bool(run["error"]) for run in runs_as_data] == [True, False]


@pytest.mark.parametrize("name", ["results/explorer.parquet", "pairs.parquet", "outputs.parquet"])
def test_broken_tables_are_said_and_nothing_else_breaks(ask: Ask, runs: Path, name: str) -> None:
    file = runs / "run-1" / name
    whole = file.read_bytes()
    for content in (b"", b"PAR1", whole[:-100], whole[:200] + bytes(2000) + whole[2200:], b"no table" * 100):
        file.write_bytes(content)
        status, _, page = ask("/runs/run-1/?metric=bleu&outcome=wrong&order=worst&text=the")
        assert status in {200, 500}  # a table may be broken where nobody looks
        assert "Traceback" not in page
        assert "This cannot be shown" in page or 'class="pair"' in page
        assert ask("/")[0] == ask("/runs/run-2/")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/runs/0/",
        "/runs/run-1",
        "/runs/../",
        "/runs/%2e%2e/report",
        "/runs/run-1/../../manifest.json",
        "/runs/run-1%2Fmanifest.json/report",
        "/runs/run-1/manifest.json",
        "/run-1/manifest.json",
        "/runs/%00/",
        "/runs/%ff/",
        "//etc/passwd",
    ],
)
def test_nothing_else_can_be_read(ask: Ask, path: str) -> None:
    status, headers, body = ask(path)
    assert status == 404
    assert "identity" not in body
    assert "default-src 'none'" in headers["content-security-policy"]


@pytest.mark.posix
@pytest.mark.parametrize(
    "name",
    ["report.html", "pairs.parquet", "outputs.parquet", "results/explorer.parquet", "results/assay.json",
     "manifest.json", "notes.txt", "results/local_accuracy.parquet"],
)  # fmt: skip
def test_nothing_is_read_through_links_that_lead_out(ask: Ask, runs: Path, name: str) -> None:
    secret = runs.parent / "secret"
    original = runs / "run-1" / name
    secret.write_bytes((original.read_bytes() if original.exists() else b"") + b"\ntop secret")
    original.unlink(missing_ok=True)
    original.symlink_to(secret)
    for page in ("/", "/runs/run-1/?column=domain", "/runs/run-1/report", "/api/overview"):
        assert "top secret" not in ask(page)[2]
    seen = ask("/runs/run-1/report" if name == "report.html" else "/runs/run-1/?column=domain")
    assert seen[0] == 403
    assert "leads out of the run folder" in seen[2]


@pytest.mark.posix
def test_a_folder_of_results_that_is_a_link_leads_out_too(ask: Ask, runs: Path) -> None:
    shutil.move(runs / "run-1" / "results", runs.parent / "elsewhere")
    (runs / "run-1" / "results").symlink_to(runs.parent / "elsewhere")
    assert "leads out of the run folder" in ask("/")[2]
    assert ask("/runs/run-1/")[0] == 403


def test_other_names_and_other_methods_are_refused(ask: Ask) -> None:
    assert ask("/", host="evil.example")[0] == 421
    assert ask("/", host="127.0.0.1:99")[0] == 200
    assert ask("/", host="[::1]:99")[0] == 200
    for malformed in (
        "",
        "a b",
        "evil.example/",
        "localhost:port",
        "[::1",
        "[zz]",
        "loc\xe4l",
        "u@localhost",
    ):
        assert ask("/", host=malformed)[0] == 400, malformed
    assert ask("/", method="POST")[0] == 405
    assert ask("/runs/run-1/notes")[0] == 405
    status, headers, body = ask("/", method="HEAD")
    assert (status, body) == (200, "")
    assert headers["x-frame-options"] == "DENY"


def test_open_to_others_it_goes_by_addresses_but_by_no_foreign_name() -> None:
    everywhere, here = HostCheck(None, "0.0.0.0"), HostCheck(None, "127.0.0.1")  # type: ignore[arg-type]
    assert everywhere.is_host_accepted("192.0.2.7")
    assert everywhere.is_host_accepted(socket.gethostname().lower())
    assert not everywhere.is_host_accepted("evil.example")
    assert not here.is_host_accepted("192.0.2.7")


def test_every_answer_has_a_policy_and_reports_are_in_a_sandbox(ask: Ask) -> None:
    for page in (
        "/",
        "/runs/run-1/",
        "/api/overview",
        "/nothing",
        "/runs/run-1/report",
        "/runs/run-1/?metric=x",
    ):
        headers = ask(page)[1]
        assert "server" not in headers  # it would tell the version of the web server
        rules = headers["content-security-policy"]
        assert "default-src 'none'" in rules, page
        assert "frame-ancestors 'none'" in rules
        assert ("unsafe" in rules) == ("sandbox" in rules) == page.endswith("report")
    assert "allow-same-origin" not in ask("/runs/run-1/report")[1]["content-security-policy"]


def test_a_page_in_the_policy_is_the_page_that_is_sent(ask: Ask) -> None:
    for path in ("/", "/runs/run-1/"):
        _, headers, page = ask(path)
        assert headers["content-security-policy"].startswith(
            re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
        )


def test_questions_without_sense_are_said_to_be(ask: Ask) -> None:
    for query in (
        "metric=nope",
        "outcome=maybe",
        "column=nope",
        "order=up",
        "shown=nope",
        "other_run=nope",
        "other_metric=x",
    ):
        status, _, page = ask(f"/runs/run-1/?{query}")
        assert status in {400, 404}, query
        assert "unknown" in page or "no run of this name" in page
    assert ask("/runs/run-1/?page=-5&part=zero&page=99999999999")[0] == 200
    assert ask("/runs/run-1/?page=99999")[0] == 200
    assert "No pair fits" in ask("/runs/run-1/?system=nobody")[2]
    assert ask(f"/runs/run-1/?text={'x' * 501}")[0] == 400


def test_the_errors_of_a_metric_page_by_page_are_those_of_the_judgements(ask: Ask, runs: Path) -> None:
    """What the pages list is what the assay wrote elsewhere, pair for pair."""
    import polars as pl

    judged = pl.read_parquet(runs / "run-1" / "results" / "judgements.parquet").filter("sampled")
    wrong = judged.filter(pl.col("bleu") == -1)
    listed: list[tuple[str, str, str]] = []
    place = re.compile(
        r"<b>item</b> <a [^>]*>([^<]*)</a>.*?<b>system</b> <a [^>]*>([^<]*)</a>.*?<b>perturbation</b> <a [^>]*>([^<]*)</a>"
    )
    for page in range(1, wrong.height // 20 + 2):
        listed += place.findall(ask(f"/runs/run-1/?metric=bleu&outcome=wrong&page={page}")[2])
    assert listed == wrong.select("item", "system", "perturbation").rows()


def test_notes_are_kept_shown_as_text_and_never_lost(ask: Ask, runs: Path) -> None:
    page = ask("/runs/run-1/")[2]
    token, version = (
        re.search(f'name="{name}" value="([^"]*)"', page)[1] for name in ("token", "seen_version")
    )
    text = "</textarea><script>window.hacked = 1</script> found a bug"
    sent = {"token": token, "seen_version": version, "text": text, "back": "/runs/run-1/?metric=bleu"}
    status, headers, _ = ask("/runs/run-1/notes", method="POST", body=urlencode(sent))
    assert (status, headers["location"]) == (303, "/runs/run-1/?metric=bleu")
    assert (runs / "run-1" / "notes.txt").read_text() == text
    assert "&lt;script&gt;window.hacked" in ask("/runs/run-1/")[2]
    assert "<script>window.hacked" not in ask("/runs/run-1/")[2]
    again = ask("/runs/run-1/notes", method="POST", body=urlencode(sent | {"text": "mine"}))
    assert again[0] == 400
    assert "in the meantime" in again[2]
    assert (runs / "run-1" / "notes.txt").read_text() == text


def test_notes_from_elsewhere_are_refused(ask: Ask, runs: Path) -> None:
    page = ask("/runs/run-1/")[2]
    token, version = (
        re.search(f'name="{name}" value="([^"]*)"', page)[1] for name in ("token", "seen_version")
    )
    good = {"token": token, "seen_version": version, "text": "x", "back": "//evil.example/"}
    for wrong in ({"token": ""}, {"token": "ü"}, {"text": "x" * 30_000}):
        assert ask("/runs/run-1/notes", method="POST", body=urlencode(good | wrong))[0] == 400
    assert ask("/runs/run-1/notes", method="POST", body="text=" + "x" * 300_000)[0] == 413
    assert ask("/runs/run-1/notes", method="POST", body="&".join(["text=x"] * 11))[0] == 400
    assert not (runs / "run-1" / "notes.txt").exists()
    assert ask("/runs/run-1/notes", method="POST", body=urlencode(good))[1]["location"] == "/runs/run-1/"


@pytest.mark.posix
def test_notes_are_not_written_through_a_link_that_leads_out(ask: Ask, runs: Path) -> None:
    page = ask("/runs/run-1/")[2]
    token, version = (
        re.search(f'name="{name}" value="([^"]*)"', page)[1] for name in ("token", "seen_version")
    )
    secret = runs.parent / "secret"
    secret.write_text("old")
    (runs / "run-1" / "notes.txt").symlink_to(secret)
    sent = {"token": token, "seen_version": version, "text": "new"}
    assert ask("/runs/run-1/notes", method="POST", body=urlencode(sent))[0] == 400
    assert secret.read_text() == "old"


def test_hostile_names_of_runs_are_escaped(ask: Ask, runs: Path) -> None:
    hostile = "x<img src=x onerror=alert(1)>?&#'\""
    shutil.copytree(runs / "run-2", runs / hostile)
    page = ask("/")[2]
    assert "<img src=x" not in page
    assert "x&lt;img src=x" in page
    found = ask(f"/runs/{quote(hostile, safe='')}/")
    assert found[0] == 200
    assert "<img src=x" not in found[2]


def test_a_name_that_is_no_text_is_one_red_line(ask: Ask, runs: Path) -> None:
    shutil.copytree(runs / "run-2", os.fsdecode(os.fsencode(runs) + b"/\xff-run"))
    page = ask("/")[2]
    assert page.count('<tr class="broken">') == 1
    assert "\\udcff-run: the name is not valid UTF-8" in page
    assert ask("/runs/%5Cudcff-run/")[0] == 500


def test_error_pages_say_what_the_status_means(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "There is no such page." in ask("/nowhere")[2]
    assert "<h1>This cannot be shown</h1>" in ask("/runs/run-1/?metric=x")[2]
    assert "does not accept requests of this kind" in ask("/", method="POST")[2]
    too_large = ask("/runs/run-1/notes", method="POST", body="text=" + "x" * 300_000)
    assert (too_large[0], "The form is larger than 256 KiB." in too_large[2]) == (413, True)
    too_many = ask("/runs/run-1/notes", method="POST", body="&".join(["text=x"] * 11))
    assert (too_many[0], "The form has more fields" in too_many[2]) == (400, True)
    monkeypatch.setattr(application, "FORM_TIMEOUT", 0.2)
    with socket.create_connection(address(ask)) as client:
        client.settimeout(20)
        client.sendall(b"POST /runs/run-1/notes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\ntext")
        answer = client.makefile("rb").read().decode()
    assert answer.startswith("HTTP/1.1 408 ")
    assert "Request too slow" in answer
    assert all("Page not found" not in page for page in (too_large[2], too_many[2], answer))


def test_slow_clients_are_hung_up_on_and_nobody_waits_for_them(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "CLIENT_TIMEOUT", 0.5)
    slow = [socket.create_connection(address(ask)) for _ in range(50)]
    for number, client in enumerate(slow):
        client.settimeout(20)
        client.sendall(
            (b"", b"G", b"GET / HTTP/1.1\r\nHost: local", b"POST /runs/run-1/notes HT")[number % 4]
        )
    assert ask("/")[0] == 200
    for client in slow:
        try:
            while client.recv(4096):
                pass
        except ConnectionResetError:
            pass
        client.close()
    second = socket.create_connection(address(ask))
    second.settimeout(20)
    second.sendall(b"GET /api/overview HTTP/1.1\r\nHost: localhost\r\n\r\n")
    time.sleep(0.2)
    assert second.recv(12) == b"HTTP/1.1 200"
    second.sendall(b"GET /api/over")  # the second request on a connection is due too
    try:
        while second.recv(65536):
            pass
    except ConnectionResetError:
        pass
    second.close()


def test_a_client_that_reads_after_a_pause_keeps_its_connection(
    ask: Ask, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "CLIENT_TIMEOUT", 1.0)
    # Small buffers, so that the server has to wait for the client.
    ask.server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**14)  # type: ignore[attr-defined]
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**14)
    client.settimeout(20)
    client.connect(address(ask))
    request = b"GET /runs/run-1/report HTTP/1.1\r\nHost: localhost\r\n\r\n"
    report_size = (runs / "run-1" / "report.html").stat().st_size
    for _ in range(2):
        client.sendall(request)
        time.sleep(0.3)
        with client.makefile("rb") as answer:
            assert answer.readline().startswith(b"HTTP/1.1 200")
            headers = http.client.parse_headers(answer)
            assert len(answer.read(int(headers["content-length"]))) >= report_size
        time.sleep(1.5)  # the time of the pause is over
    client.close()


def test_a_hundred_requests_at_once_are_all_answered(ask: Ask) -> None:
    found: list[int] = []
    pages = ("/", "/api/overview", "/runs/run-1/?metric=bleu&outcome=wrong", "/runs/run-2/report")
    threads = [
        threading.Thread(target=lambda page=pages[n % 4]: found.append(ask(page)[0])) for n in range(100)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200] * 100


def test_a_port_in_use_and_a_folder_without_runs_are_said(runs: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="in use"):
        RunServer([runs], port=taken.getsockname()[1])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no run in this folder"):
        RunServer([tmp_path / "empty"])
    with pytest.raises(InputError, match="run-3: there is no such file"):
        RunServer([runs / "run-1", runs / "run-3"])
    with pytest.raises(InputError, match="this is not a run folder"):
        RunServer([runs / "run-1", runs / "run-1" / "results"])


def test_without_the_extra_the_extra_is_named(runs: Path) -> None:
    hidden = "import sys; sys.modules['starlette'] = None; from metassay.cli import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", hidden, "serve", str(runs)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 2
    assert "pip install 'metassay[serve]'" in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.posix
def test_the_command_serves_until_it_is_told_to_stop(runs: Path) -> None:
    command = [sys.executable, "-m", "metassay", "serve", str(runs), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        connection = http.client.HTTPConnection(url.removeprefix("http://").rstrip("/"), timeout=20)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert (answer.status, answer.read()[:15]) == (200, b"<!doctype html>")
        connection.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.stdout.close()
