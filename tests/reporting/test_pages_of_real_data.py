"""The pages of all verbs on real data: the verdict on the first screen, no errors, nothing that axe reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import metassay
from claim_check import find_contradictions
from metassay.results.verdict import Claim
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
    "judge LLMBar": run_verb("judge", "judges/llmbar_verdicts.parquet", "judges/llmbar_pairs.parquet"),
}


def get_verdict(result: Any) -> list[Claim]:
    """Return the claims of a result; those of an assay are in its content."""
    return result.content.verdict if hasattr(result, "content") else result.verdict


@pytest.mark.parametrize("name", RUNS)
def test_the_verdict_is_on_the_first_screen(name, real_data, browser, axe, tmp_path):
    result = RUNS[name](real_data, tmp_path / "run")
    assert find_contradictions(get_verdict(result)) == []
    for width, height, screens in WINDOWS:
        context = browser.new_context(offline=True, viewport={"width": width, "height": height})
        page = context.new_page()
        messages: list[str] = []
        page.on("console", lambda message, seen=messages: seen.append(message.text))
        page.on("pageerror", lambda error, seen=messages: seen.append(str(error)))
        page.goto((tmp_path / "run" / "report.html").as_uri())
        page.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
        assert page.evaluate(VERDICT_END) <= screens * height
        page.evaluate(axe)
        violations = page.evaluate(AXE)["violations"]
        assert [violation["id"] for violation in violations] == []
        assert messages == []
        context.close()
