"""A finished run is read from its folder, unless something that decides the result has changed."""

from __future__ import annotations

import logging

import polars as pl
import pytest

from metassay.store import versions
from metassay.workflows.assay import assay
from metassay.workflows.read import read

HOW = {
    "metrics": "bleu,chrf",
    "perturbations": "removal,swapping,synonym",
    "resamples": 20,
    "permutations": 19,
}
UNPROMISED = {"timings.json", "call.json"}
PLACES = ("Paris", "Berlin", "Rome", "Madrid", "London")
ROWS = [
    {"seg_id": i, "system": system, "domain": "news" if i % 2 else "chat", "hyp": f"He saw {place} {system}{i} times.",
     "ref": f"He was in {place} {i} times."}
    for i, place in enumerate(PLACES * 3)
    for system in "abc"
]  # fmt: skip


def data(rows=ROWS, **more):
    return read(pl.DataFrame(rows), task="mt", language="de", **more)


def made(folder, source=None, **more):
    return assay(data() if source is None else source, **HOW | {"out": folder, "workers": 1} | more)


def contents(folder):
    files = [file for file in folder.rglob("*") if file.is_file() and file.name not in UNPROMISED]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.fixture
def folder(tmp_path):
    made(tmp_path / "run")
    return tmp_path / "run"


def test_repeated_run_is_read_from_its_folder(folder) -> None:
    before, written = contents(folder), (folder / "report.html").stat().st_mtime_ns
    shuffled = data(ROWS[::-1])
    again = made(folder, shuffled, workers=2)
    assert again.is_stored
    assert (folder / "report.html").stat().st_mtime_ns == written
    assert contents(folder) == before
    afresh = made(folder.parent / "other")
    assert not afresh.is_stored
    assert again.to_json() == afresh.to_json()
    assert again.collect_misordered_pairs() == afresh.collect_misordered_pairs()
    assert again.to_frame().equals(afresh.to_frame())
    assert (again.scored_pairs.better == afresh.scored_pairs.better).all(), (
        "what no file holds is computed when asked for"
    )
    assert contents(folder.parent / "other") == before


def _with_code(monkeypatch, _):
    monkeypatch.setattr(versions, "hash_metassay_code", lambda: "other code")
    return {}


def _with_version(monkeypatch, _):
    monkeypatch.setattr(versions, "_find_package_version", lambda name: f"{name} of another year")
    return {}


def _with_dictionary(monkeypatch, tmp_path):
    (tmp_path / "th_de_DE_v2.dat").write_text("UTF-8\nsah|1\n-|sah|schaute\n")
    monkeypatch.setenv("METASSAY_RESOURCES", str(tmp_path))
    return {}


def _with_rows_left_out(*_):
    more = data([*ROWS, {**ROWS[0], "system": "d"}])
    return {"source": more.filter_rows(more.outputs["system"] != "d", reason="too late")}


@pytest.mark.parametrize("change", [_with_code, _with_version, _with_dictionary, _with_rows_left_out])
def test_run_is_repeated_if_code_versions_dictionaries_or_rows_changed(
    folder, monkeypatch, tmp_path, change
) -> None:
    more = change(monkeypatch, tmp_path)
    assert not made(folder, **more).is_stored
    assert made(folder, **more).is_stored


def test_changed_context_function_of_the_same_name_repeats_the_run(tmp_path) -> None:
    def part(row):
        return row["domain"]

    first = made(tmp_path / "run", contexts=[part])

    def part(row):
        return "odd" if int(row["item"]) % 3 else "even"

    second = made(tmp_path / "run", contexts=[part])
    assert not second.is_stored
    assert first.to_dict()["contexts"] != second.to_dict()["contexts"]


@pytest.mark.parametrize(
    "name", ["results/assay.json", "pairs.parquet", "report.html", "scores/part-bleu-*", "texts/*"]
)
def test_damaged_file_is_written_again_with_a_warning(folder, name, caplog) -> None:
    before = contents(folder)
    file = min(folder.glob(name))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert not made(folder).is_stored
    assert file.name in caplog.text
    after = {name: kept for name, kept in contents(folder).items() if not name.endswith(".broken")}
    assert after == before
    assert made(folder).is_stored
