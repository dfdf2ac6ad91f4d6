"""Files: what is missing says what to fetch, what is dangerous is refused, what is read is in the signature."""

from __future__ import annotations

import argparse
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from metassay.errors import InputError
from metassay.metrics.neural.base import NeuralMetric
from metassay.metrics.neural.checkpoints import (
    check_not_lfs_pointer,
    find_model_folder,
    read_model_weights,
    read_torch_file,
)
from metassay.metrics.registry import load_metric_classes, parse_metric

NEURAL_METRICS = sorted(
    name for name, metric in load_metric_classes().items() if issubclass(metric, NeuralMetric)
)
SCORE_WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from metassay.errors import InputError
from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric
try:
    parse_metric(sys.argv[1]).score(Batch.from_texts(["a"], [["b"]], source=["c"]))
except InputError as error:
    print(type(error).__name__, error)
"""


class MaliciousObject:
    def __reduce__(self):
        return Path("touched").write_text, ("code ran",)


def test_a_malicious_pickle_is_refused_and_does_not_run(torch, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"state_dict": {"weight": torch.ones(2)}, "extra": MaliciousObject()}, "model.ckpt")
    with pytest.raises(InputError, match=r"this pickle asks for .*could run arbitrary code"):
        read_torch_file(Path("model.ckpt"))
    Path("old.bin").write_bytes(pickle.dumps({"weight": MaliciousObject()}, protocol=2))
    with pytest.raises(InputError):
        read_model_weights([Path("old.bin")])
    assert not Path("touched").exists()


def test_settings_in_a_namespace_are_read(torch, tmp_path) -> None:
    file = tmp_path / "model.ckpt"
    torch.save({"state_dict": {"a": torch.ones(2)}, "hyper_parameters": argparse.Namespace(layers=2)}, file)
    assert torch.equal(read_torch_file(file)["state_dict"]["a"], torch.ones(2))


def test_safetensors_and_pickles_give_the_same_tensors(torch, tmp_path) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(1)}
    torch.save(tensors, tmp_path / "x.bin")
    safetensors.save_file(tensors, tmp_path / "x.safetensors")
    one, two = read_model_weights([tmp_path / "x.bin"]), read_model_weights([tmp_path / "x.safetensors"])
    assert all(torch.equal(one[name], two[name]) for name in tensors)


def test_an_lfs_pointer_is_refused(tmp_path) -> None:
    file = tmp_path / "model.ckpt"
    file.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2260739\n")
    with pytest.raises(InputError, match="git-lfs pointer"):
        check_not_lfs_pointer(file)


def test_a_missing_model_names_both_downloads(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InputError) as caught:
        find_model_folder("Unbabel/wmt22-comet-da")
    assert "hf download Unbabel/wmt22-comet-da ;" in str(caught.value)
    assert "hf download FacebookAI/xlm-roberta-large config.json tokenizer.json" in str(caught.value)


def test_a_missing_encoder_names_its_download(comet_folder, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    folder, _ = comet_folder("regression_metric")
    hparams = json.loads((folder / "hparams.yaml").read_text())
    (folder / "hparams.yaml").write_text(json.dumps({**hparams, "pretrained_model": "xlm-roberta-large"}))
    with pytest.raises(InputError, match=r"hf download xlm-roberta-large config\.json tokenizer\.json"):
        _ = parse_metric(f"comet(model={folder})").signature


def test_models_are_found_in_the_hub_cache_by_old_and_new_names(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--FacebookAI--xlm-roberta-large"
    for revision in ("abc", "def"):
        (folder / "snapshots" / revision).mkdir(parents=True)
    with pytest.raises(InputError, match="2 revisions"):
        find_model_folder("FacebookAI/xlm-roberta-large")
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("def")
    assert find_model_folder("FacebookAI/xlm-roberta-large").name == "def"
    assert find_model_folder("xlm-roberta-large").name == "def"  # the name before the hub moved it


def test_signatures_contain_hashes_of_weights_and_tokenizer(comet_folder, encoder, tmp_path) -> None:
    folder, _ = comet_folder("regression_metric")
    metric = parse_metric(f"comet(model={folder})")
    before = metric.signature
    assert "|weights:" in before
    assert "|tokenizer:" in before
    assert "|dtype:float32|" in before
    other = tmp_path / "encoder"
    other.mkdir()
    (other / "config.json").write_text((encoder / "config.json").read_text())
    (other / "tokenizer.json").write_text((encoder / "tokenizer.json").read_text().replace('"cat"', '"cats"'))
    changed = parse_metric(f"comet(model={folder},encoder={other})").signature
    parts, others = before.split("|"), changed.split("|")
    assert [p for p in parts if p.startswith("weights")] == [p for p in others if p.startswith("weights")]
    assert [p for p in parts if p.startswith("tokenizer")] != [p for p in others if p.startswith("tokenizer")]


@pytest.mark.parametrize("name", NEURAL_METRICS)
def test_specs_parse_back_to_the_same_metric(name) -> None:
    metric = parse_metric(name)
    assert parse_metric(str(metric)) == metric
    other = parse_metric(f"{name}(model=a/b,dtype=bfloat16)")
    assert parse_metric(str(other)) == other != metric


@pytest.mark.parametrize("name", [n for n in NEURAL_METRICS if not n.startswith("embedding")])
def test_without_torch_the_error_names_the_extra(name) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCORE_WITHOUT_TORCH, name],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.startswith("MissingBackend")
    assert "metassay[neural]" in done.stdout


def test_a_language_that_the_model_was_not_trained_on_warns() -> None:
    metric = parse_metric("bertscore(model=FacebookAI/roberta-large)")
    with pytest.warns(UserWarning, match="was not trained on texts in the language 'de'"):
        metric._warn_if_language_not_supported("de")
    metric._warn_if_language_not_supported("en")
    parse_metric("comet")._warn_if_language_not_supported("de")
