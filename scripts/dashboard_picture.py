"""Make the picture in docs/dashboard.md: `python -m scripts.dashboard_picture` (needs Chromium)."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

from metassay.sample import sample_path
from metassay.serve.server import RunServer
from metassay.workflows.assay import assay
from metassay.workflows.read import read

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "dashboard.png"
PAGE = "runs/october/?metric=bleu&outcome=wrong&column=domain&order=worst"


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("There is no Chromium here: make system-packages")
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "october"
        assay(read(sample_path("mt")), metrics="bleu,chrf,ter,rougel", seed=1, out=run)
        with RunServer([run], port=0) as server, sync_playwright() as playwright:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 860}, color_scheme="light")
            page.goto(server.url + PAGE)
            page.screenshot(path=PICTURE)
            browser.close()
            server.shutdown()
            thread.join()
    print(PICTURE, PICTURE.stat().st_size)


if __name__ == "__main__":
    main()
