"""`models` lists the neural models on this machine with their licences."""

from __future__ import annotations

import hashlib
import json

from metassay.cli import run_command_line as run
from metassay.workflows.models import list_installed_models


def cached(folder, name: str, files: dict[str, str]):
    snapshot = folder / f"models--{name.replace('/', '--')}" / "snapshots" / "abc"
    for file, content in files.items():
        (snapshot / file).parent.mkdir(parents=True, exist_ok=True)
        (snapshot / file).write_text(content)
    return snapshot


def test_models_in_the_hub_cache_have_hash_and_licence(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    hparams = json.dumps({"class_identifier": "unified_metric"})
    kiwi = cached(
        tmp_path, "Unbabel/wmt22-cometkiwi-da", {"hparams.yaml": hparams, "checkpoints/model.ckpt": "w"}
    )
    cached(
        tmp_path, "me/own", {"config.json": '{"model_type": "bert"}', "README.md": "---\nlicense: mit\n---"}
    )
    cached(tmp_path, "some/chatbot", {"config.json": '{"model_type": "llama"}', "model.safetensors": "w"})
    installed = {model.model: model for model in list_installed_models().models}
    assert "some/chatbot" not in installed
    comet_kiwi = installed["Unbabel/wmt22-cometkiwi-da"]
    assert comet_kiwi.weights == hashlib.sha256(hashlib.sha256(b"w").digest()).hexdigest()[:16]
    assert comet_kiwi.commercial_use is False
    assert comet_kiwi.folder == str(kiwi)
    assert {"de", "zh"} <= set(comet_kiwi.languages)
    assert installed["me/own"].licence == "mit"
    assert installed["me/own"].languages is None
    assert installed["me/own"].note == "me/own has no model.safetensors or pytorch_model.bin or model.ckpt."


def test_lfs_pointer_is_noted_and_has_no_size(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    pointer = "version https://git-lfs.github.com/spec/v1\nsize 9\n"
    cached(tmp_path, "me/own", {"config.json": '{"model_type": "bert"}', "model.safetensors": pointer})
    model = next(model for model in list_installed_models().models if model.model == "me/own")
    assert model.megabytes is None
    assert "git-lfs pointer" in model.note


def test_command_prints_json(monkeypatch, tmp_path, capfd) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "none"))
    assert run(["models", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["schema_version"]
