"""requirements/*.lock: what the Makefile installs, each version with the hashes of all files of its release.

    python -m scripts.lock INDEX

INDEX is the address of a package index with the simple interface. pip resolves under constraints.txt; the
index names the files. torch is left out: which build of it fits depends on the machine.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
LOCKS = {"build": ["pip", "build", "hatchling", "editables"], "dev": [".[dev]"]}
"""What each file is to install."""
LEFT_OUT = {"metassay", "torch"}
MARKERS = {"dawg2": "platform_machine != 'aarch64'"}
"""Packages without which some machines do, as in pyproject.toml."""
FILE = re.compile(r'#sha256=([0-9a-f]{64})"[^>]*>\s*([^<\s]+)')
"""A link to a file: its hash and its name."""
HEAD = "# Made by `python -m scripts.lock INDEX` from constraints.txt: hashes of all files of each release.\n"


def main() -> None:
    for name, wanted in LOCKS.items():
        entries = [entry(package, hashes(sys.argv[1], *package)) for package in resolved(wanted)]
        (ROOT / "requirements" / f"{name}.lock").write_text(HEAD + "".join(entries), encoding="utf-8")


def resolved(wanted: list[str]) -> list[tuple[str, str]]:
    """Names and versions that pip would install into an empty environment."""
    command = ["install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    shown = subprocess.run(
        [sys.executable, "-m", "pip", *command, "-c", "constraints.txt", *wanted],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    packages = [entry["metadata"] for entry in json.loads(shown)["install"]]
    found = {package["name"].lower().replace("_", "-"): package["version"] for package in packages}
    return sorted((name, version) for name, version in found.items() if name not in LEFT_OUT)


def hashes(index: str, name: str, version: str) -> list[str]:
    """Those of all files of one release: wheels for every machine, and the source."""
    with urlopen(f"{index.rstrip('/')}/{name.replace('.', '-')}/", timeout=60) as answer:
        files = FILE.findall(answer.read().decode())
    found = {value for value, filename in files if version_of(filename) == version}
    if not found:
        sys.exit(f"the index has no files of {name} {version}")
    return sorted(found)


def version_of(filename: str) -> str:
    """Version in the name of a wheel or of a source archive."""
    if filename.endswith(".whl"):
        return filename.split("-")[1]
    for ending in (".tar.gz", ".zip", ".tar.bz2"):
        filename = filename.removesuffix(ending)
    return filename.rpartition("-")[2]


def entry(package: tuple[str, str], known: list[str]) -> str:
    name, version = package
    marker = f" ; {MARKERS[name]}" if name in MARKERS else ""
    lines = [f"{name}=={version}{marker}", *(f"    --hash=sha256:{value}" for value in known)]
    return " \\\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
