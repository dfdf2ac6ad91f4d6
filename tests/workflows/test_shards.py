"""An assay in shards writes the same files as an assay of the whole data set at once."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from metassay.errors import InputError
from metassay.results.partial_run import PartialRun
from metassay.sample import get_bundled_sample_path
from metassay.workflows import score_sample, shards
from metassay.workflows.assay import assay, score_selected_assay_batches
from metassay.workflows.read import read

FEW: dict[str, Any] = {"resamples": 50, "permutations": 49, "workers": 2}
METHODS = "removal,insertion,swapping,negation,pronoun,removal_20"
TABLES = ("pairs.parquet", "outputs.parquet", "results/explorer.parquet", "results/judgements.parquet")


def count_words(output: str) -> float:
    """Count the words of an output: a metric that knows nothing of quality."""
    return float(len(output.split()))


def results(folder: Path) -> dict[str, Any]:
    files = ("results/assay.json", "results/examples.json", "resources.json")
    return {name: json.loads((folder / name).read_text()) for name in files}


def test_no_item_is_split_between_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD_SIZE", 3)
    items = np.array([0, 0, 1, 1, 1, 2, 3, 3], dtype=np.int32)
    assert shards.divide_items_into_shards(items) == [slice(0, 5), slice(5, 8)]


def test_results_equal_those_of_one_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With human scores, more perturbations than are sampled, two languages, and scores stored in parts."""
    data = read(get_bundled_sample_path("mt"))
    assay(data, metrics="bleu,chrf,wer", perturbations=METHODS, out=tmp_path / "one", **FEW)
    monkeypatch.setattr(shards, "SHARD_SIZE", 100)
    found = assay(data, metrics="bleu,chrf,wer", perturbations=METHODS, out=tmp_path / "many", **FEW)
    assert found.scored_pairs.spilled is not None
    assert len(found.scored_pairs.spilled.files[shards.ALL_PAIRS]) > 5
    assert results(tmp_path / "many") == results(tmp_path / "one")
    for name in TABLES:
        one, many = (pl.read_parquet(tmp_path / folder / name) for folder in ("one", "many"))
        assert_frame_equal(one, many, categorical_as_str=True)
    assert not (tmp_path / "many" / "shards").exists()
    assert_frame_equal(found.pairs.frame, pl.read_parquet(tmp_path / "one/pairs.parquet"))


def test_parts_are_numbered_over_all_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = read(get_bundled_sample_path("text"), language="en")
    monkeypatch.setattr(shards, "SHARD_SIZE", 60)
    settings = FEW | {
        "metrics": "rouge1,rougel",
        "perturbations": "removal,swapping",
        "out": tmp_path / "run",
    }
    assert score_selected_assay_batches(data, parts=[2], **settings) == PartialRun(
        part_numbers=(2,), part_count=4
    )
    kept = {path.name.split("-")[-2] for path in (tmp_path / "run/scores").glob("*.parquet")}
    assert kept == {"00002"}
    with pytest.raises(InputError, match="numbered from 0 to 3"):
        score_selected_assay_batches(data, parts=[4], **settings)
    before = sorted((tmp_path / "run/scores").iterdir())
    assay(data, **settings)
    assert set(before) < set((tmp_path / "run/scores").iterdir())


def test_temporary_files_are_deleted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = read(get_bundled_sample_path("text"), language="en")
    few = FEW | {"metrics": "rouge1,rougel"}
    whole = assay(data, **few)
    monkeypatch.setattr(shards, "SHARD_SIZE", 60)
    found = assay(data, **few)
    assert not list(tmp_path.iterdir())
    assert found.to_json() == whole.to_json()
    assert found.collect_misordered_pairs() == whole.collect_misordered_pairs()
    assert_frame_equal(found.pairs.frame, whole.pairs.frame)


def test_shard_without_pairs_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    """No perturbation can change the outputs of the shard, but they have human and metric scores."""
    rows = [
        {"seg_id": f"{n:03}", "system": name, "hyp": text, "ref": reference, "mqm": score}
        for n in range(60)
        for reference in ("word" if n < 30 else f"{n} small birds sat on a wall and sang",)
        # The outputs alone would suggest that their numbers of words determine WER; the pairs show otherwise.
        for size in ("small" if n % 2 else "tiny",)
        for name, score, text in (
            ("a", 1.0, reference),
            ("b", -float(n % 3), "x" if n < 30 else f"{n} {size} birds sat on a wall and sang z"),
            ("c", -float(n % 2), "xy" if n < 30 else f"some {n} small birds on the wall and sing"),
        )
    ]
    settings = FEW | {"metrics": "chrf,wer", "perturbations": "removal", "minimum_items": 5}
    whole = assay(read(rows, task="mt", language="en"), **settings)
    monkeypatch.setattr(shards, "SHARD_SIZE", 20)
    found = assay(read(rows, task="mt", language="en"), **settings)
    assert found.scored_pairs.spilled is not None
    assert found.scored_pairs.spilled.pair_tables[0].is_empty()
    assert found.to_json() == whole.to_json()
    assert whole.to_dict()["people"]["pairs"] > 30


def test_metrics_of_length_are_recognised_in_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without human scores; with shards, and a sample of every other output, as without shards."""
    outputs = pl.read_parquet(get_bundled_sample_path("text"))
    data = read(outputs.drop("coherence", "consistency", "fluency", "relevance"), language="en")
    assert not data.human
    settings = FEW | {"metrics": [count_words, "rouge1"], "perturbations": "removal,swapping"}
    monkeypatch.setattr(score_sample, "_MOST_OUTPUTS", len(data) - 1)
    whole = assay(data, **settings)
    monkeypatch.setattr(shards, "SHARD_SIZE", 60)
    found = assay(data, **settings)
    assert found.scored_pairs.spilled is not None
    assert found.to_json() == whole.to_json()
    assert sum("number of words" in note for note in found.to_dict()["notes"]) == 1
