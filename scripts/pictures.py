"""Make the pictures of README and documentation: `python -m scripts.pictures [--check]` (needs Chromium).

Beside each picture lies a file with the text that it shows. `--check` changes nothing and exits with 1 if a
page shows another text now.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from metassay.sample import get_bundled_sample_path
from metassay.serve.server import RunServer
from metassay.workflows.assay import assay
from metassay.workflows.read import read

IMAGES = Path(__file__).parents[1] / "docs" / "images"
DASHBOARD_PAGE = "runs/october/?metric=bleu&outcome=wrong&column=domain&order=worst"
SIZE = {"width": 1280, "height": 860}
SHOWN_ELEMENTS = {"report": "#answer", "dashboard": "main"}
"""The element of each page whose text its picture shows, whatever the fonts are."""
MOST_LINES = 60


def open_report(browser: Any, run: Path) -> Any:
    """Open the report of a run in a window of the size of the picture."""
    page = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
    page.goto((run / "report.html").as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


def picture_report(browser: Any, run: Path, *, check: bool) -> bool:
    """Take or check the picture of the first screen of a report; return whether it was up to date."""
    page = open_report(browser, run)
    is_current = _write_or_compare(page, "report", check=check)
    page.close()
    return is_current


def picture_dashboard(browser: Any, run: Path, *, check: bool) -> bool:
    """Take or check the picture of the pairs of a run that BLEU got wrong."""
    with RunServer([run], port=0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        page = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
        page.goto(server.url + DASHBOARD_PAGE)
        is_current = _write_or_compare(page, "dashboard", check=check)
        page.close()
        server.shutdown()
        thread.join()
    return is_current


def read_shown_text(page: Any, name: str) -> str:
    """Read the first lines of the text that a picture shows."""
    lines = page.inner_text(SHOWN_ELEMENTS[name]).splitlines()
    filled_lines = [line.strip() for line in lines if line.strip()]
    return "\n".join(filled_lines[:MOST_LINES]) + "\n"


def _write_or_compare(page: Any, name: str, *, check: bool) -> bool:
    """Write a picture and its text, or compare the text that the page shows with the stored one."""
    text = read_shown_text(page, name)
    path = IMAGES / f"{name}.txt"
    is_current = path.exists() and path.read_text("utf-8") == text
    if not check:
        path.write_text(text, "utf-8")
        page.screenshot(path=IMAGES / f"{name}.png")
    elif not is_current:
        print(f"docs/images/{name}.png shows an old page: python -m scripts.pictures")
    return is_current


def make_demo_run(folder: Path) -> Path:
    """Run the assay whose report README shows."""
    run = folder / "demo"
    assay(read(get_bundled_sample_path("mt")), out=run)
    return run


def make_dashboard_run(folder: Path) -> Path:
    """Run the assay whose pairs the documentation of the dashboard shows."""
    run = folder / "october"
    assay(read(get_bundled_sample_path("mt")), metrics="bleu,chrf,ter,rougel", seed=1, out=run)
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the pictures of README and documentation.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if one is old")
    check = parser.parse_args().check
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("There is no Chromium here: make system-packages")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        is_current = [
            picture_report(browser, make_demo_run(folder), check=check),
            picture_dashboard(browser, make_dashboard_run(folder), check=check),
        ]
        browser.close()
    if check and not all(is_current):
        sys.exit(1)


if __name__ == "__main__":
    main()
