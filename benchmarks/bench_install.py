"""Measure what a plain installation takes: megabytes, packages and seconds.

python benchmarks/bench_install.py [--extras neural,serve]

Installs this checkout into a new virtual environment with pip, from the index that pip is configured for, and
lists the packages above 50 MB. The seconds include downloads that are not in the cache of pip.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from importlib.metadata import distributions
from pathlib import Path

LARGE = 50


def measure_packages(site_packages: Path) -> dict[str, float]:
    """Return the size in megabytes of each installed package, by name."""
    sizes: dict[str, float] = {}
    for distribution in distributions(path=[str(site_packages)]):
        paths = [Path(str(distribution.locate_file(file))) for file in distribution.files or []]
        size = sum(path.stat().st_size for path in paths if path.is_file())
        sizes[distribution.metadata["Name"]] = size / 2**20
    return sizes


def main() -> None:
    """Install and print the sizes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--extras", default="")
    options = parser.parse_args()
    checkout = Path(__file__).parents[1]
    target = f"{checkout}[{options.extras}]" if options.extras else str(checkout)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder) / "bin" / "python"
        start = time.perf_counter()
        subprocess.run([python, "-m", "pip", "install", "--quiet", target], check=True)
        seconds = time.perf_counter() - start
        question = "import json, sysconfig; print(json.dumps(sysconfig.get_paths()['purelib']))"
        answer = subprocess.run([python, "-c", question], capture_output=True, check=True)
        sizes = measure_packages(Path(json.loads(answer.stdout)))
    for name in ("pip", "setuptools"):
        sizes.pop(name, None)
    print(f"{sum(sizes.values()):.0f} MB, {len(sizes)} packages, {seconds:.0f} s")
    for name, size in sorted(sizes.items(), key=lambda entry: -entry[1]):
        if size >= LARGE:
            print(f"{name:24} {size:6.0f} MB")


if __name__ == "__main__":
    main()
