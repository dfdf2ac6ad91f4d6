"""Plug-ins of other packages, by entry point or by file."""

from __future__ import annotations

import types
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from metassay import plugins
from metassay.errors import InputError
from metassay.metrics import registry
from metassay.metrics.base import Metric
from metassay.workflows.read import read


@dataclass(frozen=True)
class Vowels(Metric):
    """Metric that counts the vowels of an output."""

    letters: str = "aeiou"
    name: ClassVar[str] = "vowels"
    task: ClassVar[str] = "mt"
    needs: ClassVar[frozenset[str]] = frozenset({"output"})

    def score(self, batch):
        return np.array([sum(c in self.letters for c in text) for text in batch.output], dtype=float)


@pytest.fixture
def announced(monkeypatch):
    """Pretend that an installed package has these entry points."""

    def announce(group: str, **found: object) -> None:
        points = [
            types.SimpleNamespace(name=name, load=lambda thing=thing: thing) for name, thing in found.items()
        ]
        monkeypatch.setattr(plugins, "find_entry_points", lambda group: points if group == wanted else [])
        registry.load_plugin_metric_classes.cache_clear()

        nonlocal wanted
        wanted = f"metassay.{group}"

    wanted = ""
    yield announce
    registry.load_plugin_metric_classes.cache_clear()


def test_a_metric_of_another_package_parses_by_name(announced) -> None:
    announced("metrics", vowels=Vowels)
    metric = registry.parse_metric("Vowels(letters=xyz)")
    assert metric == Vowels("xyz")
    assert registry.parse_metric(str(metric)) == metric


def test_a_reader_of_another_package_is_asked_first(announced, tmp_path) -> None:
    class Shouting:
        def sniff(self, path: str) -> bool:
            return path.endswith(".shout")

        def read(self, path: str) -> pl.DataFrame:
            return pl.DataFrame(
                {"id": [1], "system": ["s"], "hyp": [Path(path).read_text().upper()], "ref": ["R"]}
            )

    announced("readers", shouting=Shouting())
    (tmp_path / "a.shout").write_text("hello")
    assert read(tmp_path / "a.shout").outputs["output"].to_list() == ["HELLO"]


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("mine.py", "does not say which object"),
        ("absent.py:X", "no such file"),
        ("{here}/m.py:Y", "it defines no Y"),
    ],
)
def test_files_that_do_not_hold_what_is_named(tmp_path, location, expected) -> None:
    (tmp_path / "m.py").write_text("X = 1\n")
    with pytest.raises(InputError, match=expected):
        plugins.load_object_from_python_file(location.format(here=tmp_path))


def test_installed_packages_are_scanned_once(monkeypatch) -> None:
    scans: list[int] = []
    scan = plugins.entry_points
    monkeypatch.setattr(plugins, "entry_points", lambda: scans.append(1) or scan())
    plugins._find_entry_points_of_installed_packages.cache_clear()
    for group in ("metrics", "readers", "tasks", "metrics"):
        plugins.list_entry_points(group)
        plugins.load_entry_points(group)
    assert len(scans) == 1
    monkeypatch.syspath_prepend("another-folder")  # may hold other packages
    plugins.list_entry_points("metrics")
    assert len(scans) == 2
