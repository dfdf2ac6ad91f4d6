"""`rank --meta spans`: error spans of metrics are compared with error spans of people."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pytest

import metassay
from metassay.data.readers.error_spans import read_error_spans
from metassay.errors import InputError
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.span_ranking import match_human_and_metric_spans, rank_metrics_by_error_spans
from metassay.results.rank import RankContent


def write(path: Path, spans: dict[tuple[str, int], list[tuple[int, int]]], extra: str = "") -> Path:
    rows = [f"item,system,start,end{',domain' if extra else ''}"]
    for (system, item), own in spans.items():
        tail = f",{extra}{item % 2}" if extra else ""
        rows += [f"{item},{system},{a},{b}{tail}" for a, b in own] or [f"{item},{system},,{tail}"]
    path.write_text("\n".join(rows) + "\n")
    return path


PEOPLE = {("A", 1): [(0, 4)], ("A", 2): [(10, 20)], ("B", 1): [], ("B", 2): [(0, 2), (5, 9)]}
GOOD = {("A", 1): [(0, 4)], ("A", 2): [(10, 15)], ("B", 1): [], ("B", 2): [(5, 9)]}
POOR = {("A", 1): [(2, 8)], ("A", 2): [], ("B", 1): [(0, 10)], ("B", 2): [(0, 2)]}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return {
        "people": write(tmp_path / "people.csv", PEOPLE, "d"),
        "good": write(tmp_path / "good.csv", GOOD),
        "poor": write(tmp_path / "poor.csv", POOR),
    }


def test_precision_recall_and_f1_by_hand(files: dict[str, Path]) -> None:
    """People mark 4, 10, 0 and 6 characters. Good: 4, 5, 0, 4, all shared. Poor: 6, 0, 10, 2, shared 2 and 2."""
    result = metassay.rank(
        files["people"], meta="spans", spans={"good": files["good"], "poor": files["poor"]}
    )
    found = result.to_dict()
    jsonschema.validate(found, msgspec.json.schema(RankContent))
    (one,) = found["results"]
    assert (one["meta"], one["systems"], one["segments"], found["human"]) == ("spans", 2, 2, "marked errors")
    rows = {row["metric"]: row for row in one["metrics"]}
    assert (rows["good"]["precision"], rows["good"]["recall"]) == (1, 13 / 20)
    assert rows["good"]["value"] == pytest.approx(2 * 13 / (13 + 20))
    assert rows["good"]["macro_f1"] == pytest.approx((1 + 2 * 5 / 15 + 1 + 2 * 4 / 10) / 4)
    assert (rows["poor"]["precision"], rows["poor"]["recall"]) == (4 / 18, 4 / 20)
    assert rows["poor"]["macro_recall"] == pytest.approx((2 / 4 + 0 + 0 + 2 / 6) / 4)
    assert (rows["nothing"]["value"], rows["nothing"]["precision"]) == (0, None)
    assert [row["metric"] for row in one["metrics"]] == ["good", "poor", "nothing"]
    assert result.to_frame().height == 3


def test_draws_match_all_possible_swaps_of_segments(files: dict[str, Path]) -> None:
    people, metrics = (
        read_error_spans(str(files["people"])),
        {n: read_error_spans(str(files[n])) for n in ("good", "poor")},
    )
    ratings = match_human_and_metric_spans(people, metrics, dataset="x")
    (ranking,) = rank_metrics_by_error_spans(ratings, ComparisonSettings(draws=400))
    by_item = {
        item: [ratings.counts[m][[name == item for name in ratings.items]].sum(axis=0) for m in (0, 1)]
        for item in {*ratings.items}
    }

    def f1(parts: Any) -> float:
        shared, said, true = np.sum(parts, axis=0)
        return float(2 * shared / (said + true))

    expected = set()
    for sides in itertools.product((0, 1), repeat=len(by_item)):
        chosen = list(zip(sides, by_item.values()))
        expected.add(round(f1([own[s] for s, own in chosen]) - f1([own[1 - s] for s, own in chosen]), 5))
    assert ranking.differences is not None
    assert {round(float(value), 5) for value in ranking.differences.drawn[0]} == expected


def test_metric_with_human_spans_is_always_right(files: dict[str, Path]) -> None:
    spans = {"same": files["people"], "again": files["people"]}
    one = metassay.rank(files["people"], meta="spans", spans=spans).to_dict()["results"][0]
    assert [row["value"] for row in one["metrics"][:2]] == [1, 1]
    assert one["comparisons"][0]["p"] == 1
    assert {row["rank"] for row in one["metrics"][:2]} == {1}


def test_outputs_that_a_metric_left_out_count_for_the_others(files: dict[str, Path], tmp_path: Path) -> None:
    half = write(tmp_path / "half.csv", {key: own for key, own in GOOD.items() if key[1] == 1})
    found = metassay.rank(
        files["people"], meta="spans", spans={"half": half, "poor": files["poor"]}
    ).to_dict()
    rows = {row["metric"]: row for row in found["results"][0]["metrics"]}
    assert (rows["half"]["value"], rows["half"]["segments"], rows["poor"]["segments"]) == (1, 1, 2)
    assert any("half has spans for the outputs of 2 of 4" in note for note in found["notes"])


def test_contexts_tests_and_a_report(files: dict[str, Path], tmp_path: Path) -> None:
    asked: dict[str, Any] = {"meta": "spans", "spans": {"good": files["good"], "poor": files["poor"]}}
    found = metassay.rank(
        files["people"], context="domain", minimum_segments=1, out=tmp_path / "run", **asked
    )
    assert [one["context"] for one in found.to_dict()["results"]] == ["global", "d0", "d1"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "span F1" in page
    assert "good" in page
    for test in ("perm-systems", "cells", "bootstrap"):
        one = metassay.rank(files["people"], significance=test, **asked).to_dict()["results"][0]
        assert 0 < one["comparisons"][0]["p"] <= 1
    with pytest.raises(InputError, match="cannot be used with spans"):
        metassay.rank(files["people"], significance="perm-both", **asked)
    with pytest.raises(InputError, match="no metric has error spans"):
        metassay.rank(files["people"], meta="spans")


def test_error_for_ids_without_match_shows_them(files: dict[str, Path], tmp_path: Path) -> None:
    other = write(tmp_path / "other.csv", {("C", 9): [(0, 1)]})
    with pytest.raises(InputError, match=r"has no spans for any rated output.*1/A is missing"):
        metassay.rank(files["people"], meta="spans", spans={"other": other})


def test_command_ranks_by_spans_and_scores_together(files: dict[str, Path], tmp_path: Path) -> None:
    scores = tmp_path / "scores.csv"
    lines = [f"{item},{system},{len(own)},{-len(own)}" for (system, item), own in PEOPLE.items()]
    scores.write_text("\n".join(["seg_id,system,M,mqm", *lines]) + "\n")
    command = [
        sys.executable,
        "-m",
        "metassay",
        "rank",
        str(scores),
        "--meta",
        "pa,spans",
        "--json",
        "--quiet",
    ]
    command += ["--spans", f"human={files['people']}", "--spans", f"good={files['good']}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert [one["meta"] for one in found["results"]] == ["pa", "spans"]
    assert found["human"] == "mqm"


def test_human_major_errors_as_a_metric(real_data: Callable[[str], Path], tmp_path: Path) -> None:
    """WMT23 en-de: a metric that marks only people's major errors has precision 1 and a known recall."""
    source = real_data("mt-metrics-eval-v2/wmt23/human-scores/en-de.mqm.merged.seg.rating")
    lines, marked, found = [], 0, 0
    for line in source.read_text().splitlines():
        system, rating = line.split("\t")[:2]
        if rating != "None":
            errors = [e for e in json.loads(rating)["errors"] if not e["is_source_error"]]
            major = [e for e in errors if e["severity"] == "major"]
            if system != "refA":  # the reference, which is left out
                marked += sum(e["end"] - e["start"] for e in errors if e["severity"] in {"major", "minor"})
                found += sum(e["end"] - e["start"] for e in major)
            rating = json.dumps({"errors": major})
        lines.append(f"{system}\t{rating}")
    (tmp_path / "major.seg.rating").write_text("\n".join(lines) + "\n")
    tree = real_data("mt-metrics-eval-v2/wmt23")
    spans = {"major": tmp_path / "major.seg.rating"}
    one = metassay.rank(tree, human="mqm", meta="spans", spans=spans, draws=100).to_dict()["results"][0]
    row = one["metrics"][0]
    assert (one["systems"], one["segments"], row["precision"]) == (12, 460, 1)
    assert row["recall"] == pytest.approx(found / marked)
    assert row["value"] == pytest.approx(2 * found / (found + marked))
    assert row["low"] < row["value"] < row["high"]
    assert {entry["metric"] for entry in one["metrics"] if entry["baseline"]} == {"nothing", "everything"}


def test_without_a_test_metrics_are_not_compared(files: dict[str, Path]) -> None:
    spans = {"good": files["good"], "poor": files["poor"]}
    for significance, comparison_count in (("none", 0), ("perm-inputs", 1)):
        result = metassay.rank(files["people"], meta="spans", spans=spans, significance=significance)
        (ranking,) = result.to_dict()["results"]
        assert len(ranking["comparisons"]) == comparison_count
