"""The bundled sample: its size, shape and honesty, and that its script makes it again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import sacrebleu

from metassay.errors import UnknownName
from metassay.sample import sample_path, sample_tasks

ROOT = Path(__file__).parents[2]
SAMPLE = sample_path("mt").parent


@pytest.fixture(scope="module")
def mt() -> pl.DataFrame:
    return pl.read_parquet(sample_path("mt"))


def rebuild(part: str, folder: Path) -> None:
    command = [sys.executable, "-m", "scripts.make_sample", part, "--out", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=600)


def debian_version(package: str) -> str:
    if shutil.which("dpkg-query") is None:
        return ""
    query = ["dpkg-query", "-W", "-f", "${Version}", package]
    return subprocess.run(query, check=False, capture_output=True, text=True).stdout


def test_an_unknown_task_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="mt"):
        sample_path("summarisation")


@pytest.mark.parametrize("task", sample_tasks())
def test_every_task_has_its_sample(task: str) -> None:
    assert sample_path(task).exists()


def test_it_is_smaller_than_a_megabyte() -> None:
    data = [file for file in SAMPLE.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    assert 0 < sum(file.stat().st_size for file in data) < 1_000_000


def test_the_translations_are_a_full_table(mt: pl.DataFrame) -> None:
    names = ["lp", "domain", "doc_id", "seg_id", "system", "src", "ref", "hyp", "mqm", "rater", "human_kind"]
    assert mt.columns == names
    assert mt.null_count().row(0) == (0,) * len(names)
    items, systems = mt["seg_id"].n_unique(), mt["system"].n_unique()
    assert items >= 150
    assert systems >= 6
    assert mt.select("seg_id", "system").n_unique() == mt.height == items * systems
    per_item = mt.group_by("seg_id").agg(pl.col("src", "ref", "domain", "doc_id", "rater").n_unique())
    assert per_item.drop("seg_id").max().row(0) == (1,) * 5
    assert mt.group_by("domain").agg(pl.col("seg_id").n_unique())["seg_id"].to_list() == [54, 54, 54]
    assert mt["hyp"].str.strip_chars().str.len_chars().min() > 0


def test_the_scores_are_called_simulated_and_look_like_mqm(mt: pl.DataFrame) -> None:
    assert mt["human_kind"].unique().to_list() == ["simulated"]
    assert mt["mqm"].max() == 0
    assert -25 <= mt["mqm"].min() < -10
    same_output = mt.group_by("seg_id", "hyp").agg(pl.col("mqm").n_unique())
    assert same_output["mqm"].max() == 1


def test_no_system_is_its_own_reference(mt: pl.DataFrame) -> None:
    equal = mt.group_by("system").agg((pl.col("hyp") == pl.col("ref")).mean().alias("equal"))
    assert equal["equal"].max() < 0.5


def test_the_translators_differ_in_quality(mt: pl.DataFrame) -> None:
    bleu, mqm = {}, {}
    for (system,), rows in mt.group_by("system"):
        bleu[system] = sacrebleu.corpus_bleu(rows["hyp"].to_list(), [rows["ref"].to_list()]).score
        mqm[system] = rows["mqm"].mean()
    assert bleu["gloss"] < bleu["apertium"] < bleu["postedit"]
    assert max(bleu.values()) - min(bleu.values()) > 30
    # The freest translation is the best one and the last for BLEU: what people and the metric disagree on.
    assert max(mqm, key=mqm.__getitem__) == min(bleu, key=bleu.__getitem__) == "second"
    assert mqm["gloss"] < mqm["apertium"] < mqm["postedit"]


def test_the_domains_disagree_on_the_best_channel(mt: pl.DataFrame) -> None:
    channels = mt.filter(pl.col("system").is_in(["brief", "mixup", "jumble"]))
    means = channels.group_by("domain", "system").agg(pl.col("mqm").mean()).sort("mqm")
    best = dict(means.group_by("domain", maintain_order=True).agg(pl.col("system").last()).iter_rows())
    assert best["news"] == best["howto"] == "jumble"
    assert best["conversation"] != "jumble"


@pytest.mark.skipif(debian_version("apertium-eng-spa") != "0.8.1-2", reason="needs apertium-eng-spa 0.8.1-2")
def test_the_script_makes_the_translations_again(mt: pl.DataFrame, tmp_path: Path) -> None:
    rebuild("mt", tmp_path)
    assert pl.read_parquet(tmp_path / "mt.parquet").equals(mt)


def test_the_readme_describes_every_system(mt: pl.DataFrame) -> None:
    described = (SAMPLE / "README.md").read_text(encoding="utf-8")
    for system in mt["system"].unique():
        assert f"| `{system}` |" in described
