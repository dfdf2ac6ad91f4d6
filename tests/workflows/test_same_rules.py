"""Rules that hold for every command: systems that are references, reader plug-ins, perturbations
as objects.
"""

from __future__ import annotations

import types

import numpy as np
import polars as pl

from metassay import plugins
from metassay.perturbations.words import Removal
from metassay.workflows.assay import assay
from metassay.workflows.check import check
from metassay.workflows.list import list_readers
from metassay.workflows.perturb import perturb
from metassay.workflows.rank import rank


def table(reference: str) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        {
            "lp": "xx-en",
            "seg_id": item,
            "system": system,
            "hyp": f"the cat number {item} sat" if system == "refA" else f"{system} cat {item} sat on it",
            reference: f"the cat number {item} sat",
            "mqm": float(rng.normal()),
            "score1": float(rng.normal()),
        }
        for item in range(30)
        for system in ("a", "b", "c", "refA")
    ]
    return pl.DataFrame(rows)


def test_check_and_rank_leave_out_the_same_references() -> None:
    for reference in ("ref", "ref1"):
        frame = table(reference)
        assert check(frame, metrics="chrf").to_dict()["own_references"] == ["refA"]
        found = rank(frame, human="mqm", draws=10)
        assert found.to_dict()["results"][0]["systems"] == 3
        assert any("refA" in note for note in found.notes)


def test_reader_plugin_is_used_by_rank_and_listed(monkeypatch, tmp_path) -> None:
    class Shouting:
        """Tables that shout."""

        def sniff(self, path: str) -> bool:
            return path.endswith(".shout")

        def read(self, path: str) -> pl.DataFrame:
            assert path.endswith("a.shout")
            return table("ref")

    points = [types.SimpleNamespace(name="shouting", load=Shouting)]
    monkeypatch.setattr(
        plugins, "find_entry_points", lambda group: points if group == "metassay.readers" else []
    )
    (tmp_path / "a.shout").write_text("!")
    assert rank(str(tmp_path / "a.shout"), human="mqm", draws=10).to_dict()["results"][0]["systems"] == 3
    names = {entry.reader for entry in list_readers().readers}
    assert {"shouting", "mt-metrics-eval", "table"} <= names


def test_perturbation_object_is_recorded_in_the_run_folder(tmp_path) -> None:
    frame = table("ref")
    found = perturb(frame, perturbations=[Removal(strength=2)], out=tmp_path / "pairs").to_dict()
    assert [row["perturbation"] for row in found["perturbations"]] == ["removal(strength=2)"]
    options = {"metrics": "chrf", "contexts": ["system"], "resamples": 20, "permutations": 19}
    result = assay(frame, perturbations=Removal(strength=2), out=tmp_path / "run", **options).to_dict()
    assert list(result["perturbations"]) == ["removal(strength=2)"]
