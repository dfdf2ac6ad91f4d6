"""Stored scores are found by metric, signature, batch and content; broken parts are computed again."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.metrics.registry import parse_metric
from metassay.store.run_scores import RunScores
from metassay.store.score_tables import copy_scores_from_table, make_score_table

DIGESTS = np.array([[5, 1], [2, 9], [2, 3], [2, 7]], dtype=np.uint64)
SCORES = np.array([1.0, 2.0, np.nan, 4.0])
CHRF = parse_metric("chrf")


def load_scores(folder, metric=CHRF, batch_number=0, digests=DIGESTS):
    return RunScores(folder).load_batch_scores(metric, batch_number, digests)[0]


def test_parts_have_the_same_bytes_for_any_order_of_rows(tmp_path) -> None:
    metric = parse_metric("chrf(word_order=2)")
    RunScores(tmp_path / "one").save_batch_scores(metric, 3, DIGESTS, SCORES, ())
    RunScores(tmp_path / "two").save_batch_scores(metric, 3, DIGESTS[::-1], SCORES[::-1], ())
    (first,) = (tmp_path / "one").iterdir()
    (second,) = (tmp_path / "two").iterdir()
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_scores_are_found_by_content(tmp_path) -> None:
    RunScores(tmp_path).save_batch_scores(CHRF, 3, DIGESTS, SCORES, ((2, "were long"),))
    digests = np.array([[2, 7], [2, 3], [0, 0], [2, 8], [9, 9], [5, 1], [2, 9]], dtype=np.uint64)
    scores, recorded_warnings = RunScores(tmp_path).load_batch_scores(CHRF, 3, digests)
    np.testing.assert_array_equal(scores, [4, np.nan, np.nan, np.nan, np.nan, 1, 2])
    assert recorded_warnings == ((2, "were long"),)


def test_scores_of_another_signature_metric_or_batch_are_not_found(tmp_path) -> None:
    RunScores(tmp_path).save_batch_scores(CHRF, 3, DIGESTS, SCORES, ())
    np.testing.assert_array_equal(load_scores(tmp_path, batch_number=3), SCORES)
    assert np.isnan(load_scores(tmp_path, CHRF.copy_metric_for_languages(["de"], "lower-cased"), 3)).all()
    assert np.isnan(load_scores(tmp_path, parse_metric("chrf(beta=3)"), 3)).all()
    assert np.isnan(load_scores(tmp_path, parse_metric("bleu"), 3)).all()
    assert np.isnan(load_scores(tmp_path, batch_number=4)).all()


def test_digests_with_the_same_upper_half_are_told_apart() -> None:
    digests = np.array([[7, 1], [3, 9], [7, 2], [1, 1]], dtype=np.uint64)
    table = make_score_table(digests, np.array([0.7, 0.3, 0.72, 0.1]))
    wanted = np.array([[7, 2], [7, 1], [7, 3], [3, 9], [2, 9]], dtype=np.uint64)
    scores = np.full(5, np.nan)
    copy_scores_from_table(table, wanted, scores)
    np.testing.assert_array_equal(scores, [0.72, 0.7, np.nan, 0.3, np.nan])


def test_a_part_with_more_scores_replaces_the_earlier_one(tmp_path) -> None:
    run_scores = RunScores(tmp_path)
    run_scores.save_batch_scores(CHRF, 0, DIGESTS[:2], SCORES[:2], ())
    run_scores.save_batch_scores(CHRF, 0, DIGESTS, SCORES, ())
    assert len(list(tmp_path.iterdir())) == 1
    np.testing.assert_array_equal(load_scores(tmp_path), SCORES)


def test_a_part_with_other_scores_replaces_the_earlier_one(tmp_path) -> None:
    run_scores = RunScores(tmp_path)
    run_scores.save_batch_scores(CHRF, 0, DIGESTS, SCORES, ())
    run_scores.save_batch_scores(CHRF, 0, DIGESTS, SCORES + 1, ())
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    np.testing.assert_array_equal(load_scores(tmp_path), SCORES + 1)


def damage(content: bytes, damage_kind: str) -> bytes:
    middle = len(content) // 2
    if damage_kind == "truncated":
        return content[:-9]
    if damage_kind == "altered":
        return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    return {"empty": b"", "short": b"PAR1"}[damage_kind]


@pytest.mark.parametrize("damage_kind", ["truncated", "altered", "empty", "short"])
def test_a_broken_part_is_renamed_reported_and_written_again(tmp_path, damage_kind, caplog) -> None:
    RunScores(tmp_path).save_batch_scores(CHRF, 0, DIGESTS, SCORES, ())
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    file.write_bytes(damage(content, damage_kind))
    run_scores = RunScores(tmp_path)
    assert np.isnan(run_scores.load_batch_scores(CHRF, 0, DIGESTS)[0]).all()
    assert len(caplog.messages) == 1
    assert caplog.messages[0] == (
        f"Note: {file}: its checksum is wrong, and it was renamed to {file.name}.broken. "
        "Its contents are computed again."
    )
    run_scores.save_batch_scores(CHRF, 0, DIGESTS, SCORES, ())
    assert file.read_bytes() == content
    np.testing.assert_array_equal(load_scores(tmp_path), SCORES)


def test_a_valid_table_under_the_name_of_another_part_is_refused(tmp_path) -> None:
    RunScores(tmp_path).save_batch_scores(CHRF, 0, DIGESTS, SCORES, ())
    (file,) = tmp_path.glob("*.parquet")
    RunScores(tmp_path / "other").save_batch_scores(CHRF, 0, DIGESTS, SCORES + 1, ())
    (other_file,) = (tmp_path / "other").glob("*.parquet")
    file.write_bytes(other_file.read_bytes())
    assert np.isnan(load_scores(tmp_path)).all()
    assert not file.exists()
