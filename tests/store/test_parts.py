"""Parts of scores: what names a file, and what is refused in one."""

from __future__ import annotations

import json

import polars as pl
import pytest

from metassay.errors import InputError
from metassay.metrics.registry import parse_metric
from metassay.store.run import RunFolder, ScoreParts


def test_scores_of_the_same_metric_under_another_signature_are_not_found(tmp_path) -> None:
    """The spec is the same, but what was done to the texts is not."""
    parts, metric = ScoreParts(tmp_path), parse_metric("chrf")
    parts.save(metric.on(["en"], "lowercased"), 0, {b"key": 1.0})
    assert parts.load(metric.on(["en"], "lowercased"), 0) == {b"key": 1.0}
    assert parts.load(metric, 0) == {}


def test_every_batch_has_a_part_of_its_own(tmp_path) -> None:
    parts, metric = ScoreParts(tmp_path), parse_metric("chrf")
    for number in (0, 1):
        parts.save(metric, number, {b"key": float(number)})
    assert [parts.load(metric, number)[b"key"] for number in (0, 1)] == [0.0, 1.0]


def test_another_table_in_the_place_of_a_part_is_refused(tmp_path) -> None:
    parts, metric = ScoreParts(tmp_path), parse_metric("chrf")
    parts.save(metric, 0, {b"key": 1.0})
    (file,) = tmp_path.iterdir()
    pl.DataFrame({"key": ["text"], "score": [1]}).write_parquet(file)
    with pytest.raises(InputError, match="this is no part of scores"):
        parts.load(metric, 0)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_json_number_is_refused_on_reading(tmp_path, number) -> None:
    run = RunFolder.open(tmp_path / "run", {"command": "test"})
    (run.path / "x.json").write_text(f'{{"a": {number}}}')
    with pytest.raises(InputError, match="no JSON number"):
        run.read_json("x.json")


@pytest.mark.parametrize("manifest", [[], {"identity": []}, {"identity": "x"}])
def test_a_manifest_is_an_object_with_an_identity(tmp_path, manifest) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="identity of a run was expected"):
        RunFolder.existing(tmp_path)
