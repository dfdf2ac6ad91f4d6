"""The files that `make lock` writes: versions of all dependencies, with hashes for all but torch."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements/build.lock", "requirements/product.lock", "requirements/dev.lock")
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def normalize(requirement: str) -> str:
    """Return the name of the package that a requirement names, as the locks write it."""
    name = re.split(r"[\s<>=!;\[]", requirement, maxsplit=1)[0]
    return name.lower().replace("_", "-")


def list_product_requirements() -> set[str]:
    """List the packages that every installation of metassay needs."""
    project = tomllib.loads(read("pyproject.toml"))["project"]
    return {normalize(requirement) for requirement in project["dependencies"]}


def list_requirements() -> set[str]:
    """List the packages that `.[dev]` names directly."""
    project = tomllib.loads(read("pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    requirements = set(project["dependencies"])
    pending = list(extras["dev"])
    while pending:
        requirement = pending.pop()
        if requirement.startswith("metassay["):
            names = requirement.removeprefix("metassay[").removesuffix("]").split(",")
            pending += [part for name in names for part in extras[name]]
        else:
            requirements.add(requirement)
    return {normalize(requirement) for requirement in requirements}


@pytest.mark.parametrize("lock", LOCKS)
def test_each_locked_package_has_the_version_of_the_constraints_and_hashes(lock: str) -> None:
    versions = dict(PINNED.findall(read("constraints.txt")))
    entries = re.split(r"^(?=\S+==)", read(lock), flags=re.MULTILINE)[1:]
    assert entries
    for entry in entries:
        name, version = PINNED.findall(entry)[0]
        assert versions[name] == version
        assert "--hash=sha256:" in entry


def test_everything_that_the_project_requires_is_locked_but_torch() -> None:
    locked = {name for name, _ in PINNED.findall(read("requirements/dev.lock"))}
    assert list_requirements() - locked == {"torch"}
    assert "torch" in dict(PINNED.findall(read("constraints.txt")))


def test_the_demo_installs_the_product_without_test_tools() -> None:
    locked = {name for name, _ in PINNED.findall(read("requirements/product.lock"))}
    assert list_product_requirements() <= locked
    assert not locked & {"pytest", "torch", "mypy", "playwright"}
    assert "\ndemo: $(PRODUCT)\n" in read("Makefile")


@pytest.mark.parametrize("name", [*LOCKS, "constraints.txt"])
def test_no_address_of_a_package_index_is_written(name: str) -> None:
    assert "://" not in read(name)
