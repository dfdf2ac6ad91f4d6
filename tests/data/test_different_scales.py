"""Human scores of one system on another scale than those of the other systems are noticed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import metassay
from metassay.data.score_cautions import warn_if_score_scales_differ, warn_if_score_scales_differ_in_table

FEW_DRAWS = {"resamples": 20, "permutations": 19, "workers": 1}


def make_outputs(count: int = 60) -> pl.DataFrame:
    """Return outputs of four systems with human scores from 5 to 100, and a metric."""
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for item in range(count):
        for system in "ABCD":
            human = float(rng.uniform(5, 100))
            texts = {"hyp": f"a red fox {item}", "ref": f"the red fox {item}"}
            scores = {"human": human, "M": human + float(rng.normal(0, 10))}
            rows.append({"seg_id": str(item), "system": system, **texts, **scores})
    return pl.DataFrame(rows)


def rescale(outputs: pl.DataFrame, scale: Callable[[pl.Expr], pl.Expr]) -> pl.DataFrame:
    """Put the human scores of system C on another scale."""
    human = pl.col("human")
    return outputs.with_columns(
        pl.when(pl.col("system") == "C").then(scale(human)).otherwise(human).alias("human")
    )


VERBS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "rank": lambda table: metassay.rank(table, draws=10),
    "depend": lambda table: metassay.depend(table, bootstraps=2, draws=9),
    "estimate": lambda table: metassay.estimate(table.drop("hyp", "ref"), resamples=100),
    "check": lambda table: metassay.check(table, metrics="chrf"),
    "assay": lambda table: metassay.assay(table, metrics="chrf", **FEW_DRAWS),
}


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_name_the_system_with_another_scale(verb: str) -> None:
    notes = VERBS[verb](rescale(make_outputs(), lambda human: human / 100)).to_dict()["notes"]
    assert [note.partition(" may be")[0] for note in notes if "another scale" in note] == ["human of C"]


@pytest.mark.parametrize("count", [10, 40])
@pytest.mark.parametrize(
    "scale",
    [
        lambda human: 1 + (human / 20).floor(),  # 1 to 5, next to 0 to 100
        lambda human: human / 100,
        lambda human: human * 100,
        lambda human: human - 125,  # penalties below 0
        lambda human: human + 200,
    ],
)
def test_other_scales_are_noticed(scale: Callable[[pl.Expr], pl.Expr], count: int) -> None:
    outputs = make_outputs(count)
    assert warn_if_score_scales_differ_in_table(outputs, "human") == []
    (note,) = warn_if_score_scales_differ_in_table(rescale(outputs, scale), "human")
    assert note.startswith("human of C may be on another scale")


def test_one_wrong_scale_does_not_accuse_the_other_systems() -> None:
    rng = np.random.default_rng(0)
    scores = {name: -rng.integers(0, 20, size=46).astype(float) for name in "ABC"}
    (note,) = warn_if_score_scales_differ("mqm", scores | {"C": 20 * scores["C"]})
    assert note.startswith("mqm of C may be on another scale: its scores lie between -380 and 0, ")
    assert "those of the other 2 systems between -19 and 0." in note
    (note,) = warn_if_score_scales_differ("mqm", {"A": scores["A"], "B": 20 * scores["B"]})
    assert note.count("may be on another scale") == 1


def test_two_groups_of_systems_on_different_scales_give_one_note() -> None:
    rng = np.random.default_rng(0)
    scores = {name: rng.uniform(0, 100 if name in "ACE" else 1, size=50) for name in "ABCDEF"}
    (note,) = warn_if_score_scales_differ("human", scores)
    assert "of A, C, E may be" in note or "of B, D, F may be" in note
    by_item = {name: np.where(np.arange(50) % 2, 1, 100) * rng.uniform(size=50) for name in "ABCDEF"}
    assert warn_if_score_scales_differ("human", by_item) == []


def test_few_equal_or_missing_scores_are_no_other_scale() -> None:
    rng = np.random.default_rng(0)
    others = {name: rng.uniform(0, 100, size=50) for name in "AB"}
    for scores in (np.array([0.5] * 9), np.full(50, 100.0), np.full(50, np.nan), np.zeros(0)):
        assert warn_if_score_scales_differ("human", others | {"C": scores}) == []
    assert warn_if_score_scales_differ("human", {"C": np.arange(50.0)}) == []


FILES_WITH_HUMAN_SCORES = {
    **{f"wmt21/wmt21_{pair}.parquet": ("mqm",) for pair in ("en-de", "zh-en")},
    **{f"wmt22/wmt22_{pair}.parquet": ("mqm",) for pair in ("en-de", "en-ru", "zh-en")},
    **{f"wmt23/wmt23_{pair}.parquet": ("mqm", "da_sqm") for pair in ("en-de", "zh-en")},
    "wmt23/wmt23_he-en.parquet": ("mqm",),
    "text/realsumm.parquet": ("litepyramid_recall",),
}


@pytest.mark.parametrize("file", FILES_WITH_HUMAN_SCORES)
def test_published_human_scores_raise_no_alarm(file: str, real_data: Callable[[str], Path]) -> None:
    outputs = pl.read_parquet(real_data(file))
    for human_score in FILES_WITH_HUMAN_SCORES[file]:
        assert outputs[human_score].count() > 0
        assert warn_if_score_scales_differ_in_table(outputs, human_score) == []


def test_official_scores_of_wmt23_raise_no_alarm(real_data: Callable[[str], Path]) -> None:
    folder = real_data("mt-metrics-eval-v2/wmt23") / "human-scores"
    files = sorted(folder.glob("*.seg.score"))
    assert files
    for file in files:
        rows = pl.read_csv(
            file, separator="\t", has_header=False, new_columns=["system", "score"], null_values="None"
        )
        assert warn_if_score_scales_differ_in_table(rows, "score") == [], file.name
