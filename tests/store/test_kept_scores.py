"""Kept scores: what names a part, whose score is whose, and what is no JSON of ours."""

from __future__ import annotations

import json

import numpy as np
import pytest

from metassay.errors import InputError
from metassay.store.parts import ScoreParts, look_up, score_table
from metassay.store.run import RunFolder

DIGESTS = np.array([[7, 1], [3, 9], [7, 2], [1, 1]], dtype=np.uint64)
SCORES = np.array([0.7, 0.3, 0.72, 0.1])


def test_scores_are_found_by_metric_signature_and_batch_and_by_nothing_less(tmp_path) -> None:
    ScoreParts(tmp_path).keep("chrf", "chrf|beta:2", 0, DIGESTS, SCORES, ())
    parts = ScoreParts(tmp_path)
    np.testing.assert_array_equal(parts.find("chrf", "chrf|beta:2", 0, DIGESTS)[0], SCORES)
    for other in (("chrf", "chrf|beta:3", 0), ("chrf", "chrf|beta:2", 1), ("bleu", "bleu", 0)):
        assert np.isnan(parts.find(*other, DIGESTS)[0]).all()


def test_digests_that_begin_alike_are_told_apart() -> None:
    found = np.full(5, np.nan)
    asked = np.array([[7, 2], [7, 1], [7, 3], [3, 9], [2, 9]], dtype=np.uint64)
    look_up(score_table(DIGESTS, SCORES), asked, found)
    np.testing.assert_array_equal(found, [0.72, 0.7, np.nan, 0.3, np.nan])


def test_a_part_takes_the_place_of_what_there_was(tmp_path) -> None:
    parts = ScoreParts(tmp_path)
    parts.keep("chrf", "s", 0, DIGESTS, SCORES, ())
    parts.keep("chrf", "s", 0, DIGESTS, SCORES + 1, ())
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    np.testing.assert_array_equal(ScoreParts(tmp_path).find("chrf", "s", 0, DIGESTS)[0], SCORES + 1)


def test_a_broken_part_is_set_aside_and_its_scores_are_gone(tmp_path) -> None:
    ScoreParts(tmp_path).keep("chrf", "s", 0, DIGESTS, SCORES, ())
    (file,) = tmp_path.glob("*.parquet")
    other = tmp_path / "other"
    ScoreParts(other).keep("chrf", "s", 0, DIGESTS, SCORES + 1, ())
    (whole,) = other.glob("*.parquet")
    file.write_bytes(whole.read_bytes())  # a good table, but not the one that the name is of
    assert np.isnan(ScoreParts(tmp_path).find("chrf", "s", 0, DIGESTS)[0]).all()
    assert not file.exists()


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
