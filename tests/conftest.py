"""Fixtures of all tests: real data, plug-ins, browsers, and a check of every verdict."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # several folders of tests share these

import metassay
from claim_check import find_contradictions
from fake_llm_server import server  # noqa: F401 - a fixture
from metassay.results.verdict import Claim
from real_llm import smollm  # noqa: F401 - a fixture
from s3_server import bucket, there  # noqa: F401 - fixtures

# Some virtual machines announce AMX instructions and then refuse them, which ends the process. oneDNN reads
# this variable when torch is imported; the tests need no AMX.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# Subprocesses import the code under test, from any folder, and not an installed version.
_package_folder = str(Path(metassay.__file__).parents[1])
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_package_folder, os.environ.get("PYTHONPATH")]))

settings.register_profile("any machine", deadline=None)  # a busy machine is no defect
settings.load_profile("any machine")

ROOT = Path(__file__).parents[1]
_ran: dict[str, int] = {"real": 0}


def data_folder() -> Path | None:
    """Return the folder of real data: `METASSAY_DATA`, or `../shared/data` beside the checkout. Returns None
    if there is none.
    """
    named = os.environ.get("METASSAY_DATA")
    candidates = [Path(named)] if named else [ROOT.parent / "shared" / "data"]
    return next((folder for folder in candidates if folder.is_dir()), None)


VERDICT_BUILDERS = {
    "assay_content": "list_main_findings_of_assay",
    "rank": "list_main_findings_on_metric_ranking",
    "depend": "list_main_findings_on_favoured_systems",
    "aggregate": "list_main_findings_on_aggregations",
    "judge": "list_main_findings_on_judges",
    "score": "list_main_findings_on_score_differences",
}
"""The function with which each workflow builds its verdict, by module."""


@pytest.fixture(scope="session", autouse=True)
def check_verdicts() -> Iterator[None]:
    """Check the claims of every result that a test computes for contradictions."""
    patch = pytest.MonkeyPatch()
    for module, name in VERDICT_BUILDERS.items():
        path = f"metassay.workflows.{module}.{name}"
        builder = getattr(importlib.import_module(f"metassay.workflows.{module}"), name)
        patch.setattr(path, _check_contradictions(builder))
    yield
    patch.undo()


def _check_contradictions(builder: Callable[[Any], list[Claim]]) -> Callable[[Any], list[Claim]]:
    def build_and_check(view: Any) -> list[Claim]:
        verdict = builder(view)
        assert find_contradictions(verdict) == []
        return verdict

    return build_and_check


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """A function that finds a file in the folder of real data. The test is skipped if the file is absent."""

    def find(name: str) -> Path:
        folder = data_folder()
        if folder is None or not (folder / name).exists():
            pytest.skip(f"real data absent: {name} (set METASSAY_DATA to the folder that holds it)")
        return folder / name

    return find


@pytest.fixture
def install_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that installs a package of one module for this test, with its entry points.

    `install_plugin("shouting", source_code, "metassay.readers", "ShoutingReader")` writes `shouting.py` and
    announces its `ShoutingReader` as the reader `shouting`.
    """
    site_packages = tmp_path / "site-packages"

    def install(module: str, source_code: str, group: str, attribute: str) -> None:
        metadata = site_packages / f"{module}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[{group}]\n{module} = {module}:{attribute}\n")
        (site_packages / f"{module}.py").write_text(source_code)
        monkeypatch.syspath_prepend(str(site_packages))
        monkeypatch.delitem(sys.modules, module, raising=False)

    return install


@pytest.fixture(scope="session")
def some_words() -> list[str]:
    """Fifteen words from which tests make sentences."""
    return [
        "the",
        "a",
        "cat",
        "dog",
        "sat",
        "ran",
        "on",
        "over",
        "mat",
        "hill",
        "we",
        "saw",
        "two",
        "red",
        "birds",
    ]


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium. The test is skipped if it is not installed."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium here: `make system-packages` installs it on Debian")
    return found


FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run")  # fmt: skip
WATCH = """
window.trouble = [];
addEventListener("securitypolicyviolation", (e) => window.trouble.push(`policy: ${e.violatedDirective} ${e.blockedURI}`));
addEventListener("error", (e) => window.trouble.push(`error: ${e.message}`));
addEventListener("unhandledrejection", (e) => window.trouble.push(`rejection: ${e.reason}`));
for (const name of ["alert", "confirm", "prompt"]) window[name] = () => { window.hacked = name; };
"""
"""Runs before a page does: what a strict reader would object to ends up in `window.trouble`."""


class Watched:
    """A browser in whose pages errors are recorded."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def new_context(self, **options: Any) -> Any:
        context = self.browser.new_context(**options)
        context.add_init_script(WATCH)
        return context


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Watched]:
    """A real browser, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield Watched(launched)
        launched.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which checks the accessibility of pages. The test is skipped if it
    is absent.
    """
    file = ROOT / ".oracles" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
    if not file.is_file():
        pytest.skip("no axe-core here: `make axe` brings it, with npm")
    return file.read_text("utf-8")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests on Windows that need what only POSIX systems have."""
    if os.name != "nt":
        return
    skip = pytest.mark.skip(reason="needs signals, links or a shell of POSIX systems")
    for item in items:
        if item.get_closest_marker("posix") is not None:
            item.add_marker(skip)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    result = yield
    if "real_data" in getattr(item, "fixturenames", ()):
        item.user_properties.append(("real_data", True))
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    on_real_data = any(tuple(entry) == ("real_data", True) for entry in report.user_properties)
    if report.when == "call" and report.passed and on_real_data:
        _ran["real"] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    folder = data_folder()
    where = "found" if folder else "absent: those tests were skipped (set METASSAY_DATA)"
    terminalreporter.write_line(f"real data {where}; {_ran['real']} tests on real data passed")
