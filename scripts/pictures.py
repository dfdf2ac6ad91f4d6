"""Make the pictures of README and documentation: `python -m scripts.pictures` (needs Chromium)."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from metassay.sample import get_sample_path
from metassay.serve.server import RunServer
from metassay.workflows.assay import assay
from metassay.workflows.read import read

IMAGES = Path(__file__).parents[1] / "docs" / "images"
DASHBOARD_PAGE = "runs/october/?metric=bleu&outcome=wrong&column=domain&order=worst"
SIZE = {"width": 1280, "height": 860}


def take_report_picture(browser: Any, run: Path) -> None:
    """Take a picture of the first screen of a report."""
    page = browser.new_page(viewport=SIZE, color_scheme="light")
    page.goto((run / "report.html").as_uri())
    page.screenshot(path=IMAGES / "report.png")
    page.close()


def take_dashboard_picture(browser: Any, run: Path) -> None:
    """Take a picture of the pairs of a run that BLEU got wrong."""
    with RunServer([run], port=0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(server.url + DASHBOARD_PAGE)
        page.screenshot(path=IMAGES / "dashboard.png")
        page.close()
        server.shutdown()
        thread.join()


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("There is no Chromium here: make system-packages")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        demo = Path(folder) / "demo"
        assay(read(get_sample_path("mt")), out=demo)
        run = Path(folder) / "october"
        assay(read(get_sample_path("mt")), metrics="bleu,chrf,ter,rougel", seed=1, out=run)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        take_report_picture(browser, demo)
        take_dashboard_picture(browser, run)
        browser.close()


if __name__ == "__main__":
    main()
