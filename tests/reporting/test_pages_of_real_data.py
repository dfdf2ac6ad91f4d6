"""The pages of all verbs on real data: the verdict on the first screen, no errors, nothing that axe reports."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import metassay
from claim_check import find_contradictions
from metassay.reporting.pages import render_page
from metassay.results.verdict import Claim
from metassay.sample import get_bundled_sample_path
from metassay.serve.server import RunServer
from metassay.workflows.assay import demo

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.real_data]

WINDOWS = ((1400, 900, 1), (390, 844, 2))
"""Width and height of the window, and within how many screens the verdict must end."""
AXE = "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})"
VERDICT_END = """() => {
  const parts = [...document.querySelectorAll("#answer .answer, #answer .table, #answer .closing")];
  return Math.max(...parts.map((part) => part.getBoundingClientRect().bottom));
}"""
FEW_RESAMPLES = {"resamples": 100, "permutations": 99}


def assay_files(*names: str, **options: Any) -> Callable[..., Any]:
    """Return a function that assays files of the shared data into a folder."""

    def run(real_data: Callable[[str], Path], out: Path) -> Any:
        reading = {key: str(real_data(value)) if key == "qrels" else value for key, value in options.items()}
        dataset = metassay.read(*[str(real_data(name)) for name in names], **reading)
        return metassay.assay(dataset, out=out, **FEW_RESAMPLES)

    return run


def run_verb(verb: str, name: str, join: str | None = None, **options: Any) -> Callable[..., Any]:
    """Return a function that runs another verb on a file of the shared data into a folder."""

    def run(real_data: Callable[[str], Path], out: Path) -> Any:
        joined = {} if join is None else {"join": str(real_data(join))}
        return getattr(metassay, verb)(str(real_data(name)), out=out, **joined, **options)

    return run


WMT22 = "wmt22/wmt22_en-de.parquet"
WMT23 = ("wmt23/wmt23_en-de.parquet", "wmt23/wmt23_en-de_metrics.parquet")
RUNS: dict[str, Callable[..., Any]] = {
    "sample": lambda _, out: demo(out=out),
    "assay WMT22": assay_files(WMT22),
    "assay REALSumm": assay_files("text/realsumm.parquet"),
    "assay LibriSpeech": assay_files("asr/asr_librispeech_test_clean.parquet", task="asr"),
    "assay TREC-COVID": assay_files("trec_covid/runs_top100.parquet", qrels="trec_covid/qrels-round1.txt"),
    "rank WMT22": run_verb("rank", WMT22, human="mqm", draws=99),
    "rank WMT23": run_verb("rank", *WMT23, human="mqm", context="domain", draws=99),
    "depend WMT23": run_verb("depend", *WMT23, human="mqm", bootstraps=10, draws=49),
    "depend WMT22": run_verb("depend", WMT22, human="mqm", bootstraps=10, draws=49),
    "aggregate WMT22": run_verb("aggregate", WMT22, resamples=50, repeats=20),
    "score WMT22": run_verb("score", WMT22, metrics="bleu,chrf", test="bootstrap", draws=50),
    "rank REALSumm": run_verb("rank", "text/realsumm.parquet", human="litepyramid_recall", draws=99),
    "estimate WMT23": run_verb("estimate", *WMT23, human="mqm"),
    "annotate WMT23": run_verb("annotate", *WMT23, human="mqm", count=20),
    "judge LLMBar": run_verb("judge", "judges/llmbar_verdicts.parquet", "judges/llmbar_pairs.parquet"),
}


def get_verdict(result: Any) -> list[Claim]:
    """Return the claims of a result; those of an assay are in its content, and two verbs have none."""
    return getattr(getattr(result, "content", result), "verdict", [])


@pytest.mark.parametrize("name", RUNS)
def test_the_verdict_is_on_the_first_screen(name, real_data, browser, axe, tmp_path):
    result = RUNS[name](real_data, tmp_path / "run")
    assert find_contradictions(get_verdict(result)) == []
    check_page(browser, axe, (tmp_path / "run" / "report.html").as_uri())


@pytest.fixture(scope="module")
def sample_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with runs of four verbs on the sample."""
    folder = tmp_path_factory.mktemp("runs")
    sample = get_bundled_sample_path("mt")
    metassay.assay(metassay.read(sample), out=folder / "assay", **FEW_RESAMPLES)
    metassay.rank(sample, human="mqm", draws=99, out=folder / "rank")
    metassay.depend(sample, human="mqm", bootstraps=10, draws=49, out=folder / "depend")
    metassay.aggregate(sample, resamples=50, repeats=20, out=folder / "aggregate")
    return folder


def test_the_joined_page_begins_with_the_verdict(sample_runs, browser, axe, tmp_path):
    runs = [sample_runs / verb for verb in ("assay", "rank", "depend", "aggregate")]
    page = metassay.report(*runs, out=tmp_path / "joined.html")
    assert "Use " in check_page(browser, axe, page.as_uri())


def test_the_page_of_watch_begins_with_the_verdict(sample_runs, browser, axe, tmp_path):
    again = shutil.copytree(sample_runs / "assay", tmp_path / "again")
    page = tmp_path / "watch.html"
    page.write_text(render_page(metassay.watch(sample_runs / "assay", again).build_page()), "utf-8")
    assert "No change is shown in 2 runs." in check_page(browser, axe, page.as_uri())


def test_the_dashboard_shows_the_answer_of_a_run(sample_runs, browser, axe):
    with RunServer([sample_runs / "assay"], port=0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        for width, height, _ in WINDOWS:
            with open_page(browser, server.url, width, height) as page:
                assert page.get_by_text("Use chrF++").first.bounding_box()["y"] < height
                assert find_violations(page, axe) == []
        server.shutdown()
        thread.join()


@contextmanager
def open_page(browser: Any, url: str, width: int, height: int) -> Iterator[Any]:
    """Open a page in a window of a size; fail if it writes to the console or raises an error."""
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(url)
    yield page
    assert messages == []
    context.close()


def find_violations(page: Any, axe: str) -> list[str]:
    """Return the rules of axe that a page breaks."""
    page.evaluate(axe)
    return [violation["id"] for violation in page.evaluate(AXE)["violations"]]


def check_page(browser: Any, axe: str, url: str) -> str:
    """Check where the verdict ends and what axe reports, in a wide and a narrow window; return the verdict."""
    verdict = ""
    for width, height, screens in WINDOWS:
        with open_page(browser, url, width, height) as page:
            page.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
            assert page.evaluate(VERDICT_END) <= screens * height
            assert find_violations(page, axe) == []
            verdict = page.inner_text("#answer")
    return verdict
