"""`score --meaning`: how often people agree with a difference, from a run of `rank`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from metassay import rank, score
from metassay.cli import run_command_line as run_command
from metassay.errors import InputError
from metassay.reporting.agreement_curves import describe_how_often_people_agree
from metassay.results.score import OtherLanguagePair

WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "near", "an", "old", "bridge")
RATED_SYSTEMS = {"a": 0.1, "b": 0.13, "c": 0.16, "d": 0.2, "e": 0.3}


def build_table(seed: int, lost_shares: dict[str, float], items: int = 80) -> pl.DataFrame:
    """Outputs that lost a share of the words of the reference, and human scores of the loss, with noise."""
    generator = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        reference = [str(word) for word in generator.permutation(WORDS)]
        for system, share in lost_shares.items():
            is_lost = generator.random(len(reference)) < share
            output = [word for word, lost in zip(reference, is_lost) if not lost]
            row = {
                "seg_id": item,
                "system": system,
                "hyp": " ".join(output) or "nothing",
                "ref": " ".join(reference),
                "human": -float(is_lost.mean()) + generator.normal() * 0.3,
            }
            rows.append(row)
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def rank_run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("rank") / "run"
    table = build_table(0, RATED_SYSTEMS)
    rank(table, human="human", metrics="chrf,ter", significance="none", analysis="thresholds", out=folder)
    return folder


@pytest.mark.parametrize("metric", ["chrf", "ter"])
def test_people_agree_more_often_with_larger_differences(rank_run: Path, metric: str) -> None:
    table = build_table(1, {"x": 0.1, "y": 0.16, "z": 0.25})
    result = score(table, metrics=metric, meaning=rank_run)
    assert len(result.meanings) == 3
    meanings = sorted(result.meanings, key=lambda meaning: meaning.difference)
    agreements = [meaning.agreement for meaning in meanings]
    assert agreements == sorted(agreements)
    for meaning in meanings:
        assert (meaning.better, meaning.worse) in {("x", "y"), ("x", "z"), ("y", "z")}
        assert meaning.low <= meaning.agreement <= meaning.high
        means = {row.system: row.segment for row in result.systems}
        expected = abs(means[meaning.better] - means[meaning.worse])
        assert meaning.difference == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("systems", "items", "metrics", "reason"),
    [
        ({"x": 0.0, "y": 0.9}, 80, "chrf", "the largest difference in the run"),
        ({"x": 0.1, "y": 0.1}, 80, "chrf", "the noise of the metric"),
        ({"x": 0.1, "y": 0.2}, 20, "chrf", "only 20 segments, and 80 in the run"),
        ({"x": 0.1, "y": 0.2}, 80, "bleu", "no curve for this metric"),
    ],
)
def test_differences_outside_the_data_have_no_agreement(
    rank_run: Path, systems, items, metrics, reason
) -> None:
    result = score(build_table(2, systems, items), metrics=metrics, meaning=rank_run)
    (meaning,) = result.meanings
    assert meaning.agreement is None
    assert reason in describe_how_often_people_agree(meaning)


def test_only_the_same_language_pair_has_an_agreement(tmp_path: Path) -> None:
    rated = build_table(0, RATED_SYSTEMS).with_columns(year=pl.lit("2022"), lp=pl.lit("en-de"))
    settings = {"metrics": "chrf", "significance": "none", "analysis": "thresholds"}
    rank(rated, human="human", out=tmp_path / "run", **settings)
    table = build_table(1, {"x": 0.1, "y": 0.25})
    meanings = {}
    for lp in ("en-de", "en-ru"):
        new = table.with_columns(year=pl.lit("2023"), lp=pl.lit(lp))
        (meanings[lp],) = score(new, metrics="chrf", meaning=tmp_path / "run").meanings
    assert meanings["en-de"].agreement is not None
    assert meanings["en-ru"].agreement is None
    assert meanings["en-ru"].reason == OtherLanguagePair(of_run="en-de", of_data="en-ru")


def test_the_screen_and_the_page_say_how_often_people_agree(rank_run: Path, tmp_path: Path, capsys) -> None:
    table = build_table(3, {"x": 0.1, "y": 0.25})
    for system in ("x", "y"):
        outputs = table.filter(pl.col("system") == system)["hyp"]
        (tmp_path / f"{system}.txt").write_text("".join(f"{output}\n" for output in outputs))
    references = table.filter(pl.col("system") == "x")["ref"]
    (tmp_path / "ref.txt").write_text("".join(f"{reference}\n" for reference in references))
    files = [str(tmp_path / name) for name in ("x.txt", "y.txt")]
    arguments = ["score", *files, "--reference", str(tmp_path / "ref.txt"), "--metrics", "chrf"]
    assert run_command([*arguments, "--meaning", str(rank_run), "--out", str(tmp_path / "out")]) == 0
    screen = " ".join(capsys.readouterr().out.split())
    assert "How often people agree with such differences" in screen
    assert "% (95 % interval" in screen.replace("\u202f", " ")
    assert "How often people agree with such differences" in (tmp_path / "out/report.html").read_text()


def test_a_run_without_curves_is_refused_with_a_remedy(tmp_path: Path) -> None:
    table = build_table(4, {"a": 0.1, "b": 0.2, "c": 0.3}, items=30)
    rank(table, human="human", metrics="chrf", significance="none", out=tmp_path / "run")
    with pytest.raises(InputError, match=r"Repeat that run of rank with .*analysis=.?thresholds"):
        score(table, metrics="chrf", meaning=tmp_path / "run")
