"""Small models with random weights, made on the spot; the tests skip where torch is not installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metassay.metrics.base import Batch

TEXTS = [
    "the cat sat on the mat",
    "a dog ran over the hill",
    "we saw two red birds",
    "the red dog sat",
    "",
    "two cats, two dogs and a bird ran over the red hill and sat on the mat",
    "<pad> the cat </s> ran",
    "birds",
]

SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "vocab_size": 64,
    "initializer_range": 0.4,
}


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed: pip install 'metassay[neural]'")


@pytest.fixture(scope="session")
def transformers(torch):
    assert torch is not None
    return pytest.importorskip("transformers", reason="needs transformers: pip install 'metassay[neural]'")


@pytest.fixture(scope="session")
def batch() -> Batch:
    """Every text against two others, some of them twice."""
    outputs = [*TEXTS, *TEXTS[:3]]
    references = [[TEXTS[(i + 1) % len(TEXTS)], TEXTS[(i + 3) % len(TEXTS)]] for i in range(len(outputs))]
    sources = [TEXTS[(i * 5 + 2) % len(TEXTS)] for i in range(len(outputs))]
    return Batch.from_texts(outputs, references, source=sources)


@pytest.fixture(scope="session")
def encoder(tmp_path_factory, transformers) -> Path:
    """A folder with the configuration and tokenizer of a tiny XLM-R."""
    assert transformers is not None
    folder = tmp_path_factory.mktemp("encoder")
    words = sorted({word for text in TEXTS for word in text.replace(",", " ,").split()} | {"source", "ref"})
    write_tokenizer(folder, words)
    config = {
        "model_type": "xlm-roberta",
        "vocab_size": 64,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 22,
        "type_vocab_size": 1,
        "pad_token_id": 1,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def write_tokenizer(folder: Path, words: list[str]) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = ["<s>", "<pad>", "</s>", "<unk>"]
    plain = [word for word in words if word not in special]
    vocabulary = {token: number for number, token in enumerate([*special, *plain])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.add_special_tokens(special)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    made.enable_padding(length=128)  # what a file says of padding and truncation must not matter
    made.enable_truncation(3)
    made.save(str(folder / "tokenizer.json"))


@pytest.fixture(scope="session")
def comet_folder(tmp_path_factory, encoder, torch, transformers):
    """A function that writes a COMET checkpoint with random weights and returns its folder and state."""

    def write(kind: str, **settings):
        torch.manual_seed(7)
        config = json.loads((encoder / "config.json").read_text())
        model = transformers.AutoModel.from_config(transformers.XLMRobertaConfig(**config))
        features = {"regression_metric": 6, "referenceless_regression_metric": 4}.get(kind, 1)
        state = {f"encoder.model.{k}": torch.randn_like(v) * 0.3 for k, v in model.state_dict().items()}
        state |= {k: torch.ones_like(v) for k, v in state.items() if k.endswith("LayerNorm.weight")}
        for number, (i, o) in zip((0, 3, 6), ((16 * features, 12), (12, 8), (8, 1))):
            state[f"estimator.ff.{number}.weight"] = torch.randn(o, i) * 0.3
            state[f"estimator.ff.{number}.bias"] = torch.randn(o) * 0.1
        for k in range(3):
            state[f"layerwise_attention.scalar_parameters.{k}"] = torch.randn(1)
        state["layerwise_attention.gamma"] = torch.tensor([1.2])
        state |= {"hidden2tag.weight": torch.randn(4, 16), "hidden2tag.bias": torch.zeros(4)}
        folder = tmp_path_factory.mktemp("comet")
        hparams = {
            "class_identifier": kind,
            "pretrained_model": str(encoder),
            "activations": "Tanh",
            "layer_transformation": "softmax",
            "layer_norm": False,
            "word_layer": 2,
            **settings,
        }
        (folder / "checkpoints").mkdir()
        (folder / "hparams.yaml").write_text(json.dumps(hparams))
        content = {"state_dict": state, "hyper_parameters": hparams, "epoch": 3}
        torch.save(content, folder / "checkpoints" / "model.ckpt")
        return folder, state

    return write


@pytest.fixture(scope="session")
def tiny(tmp_path_factory, encoder, torch):
    """A function that saves a model beside the tiny tokenizer and returns the folder."""

    def save(model, **files):
        folder = tmp_path_factory.mktemp("model")
        model.save_pretrained(folder)
        (folder / "tokenizer.json").write_text((encoder / "tokenizer.json").read_text())
        for name, content in files.items():
            path = folder / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.with_suffix(".json").write_text(json.dumps(content))
        return folder

    torch.manual_seed(3)
    return save


@pytest.fixture(scope="session")
def bert(tiny, transformers):
    config = transformers.XLMRobertaConfig(**SMALL, max_position_embeddings=40, pad_token_id=1)
    model = transformers.XLMRobertaModel(config).eval()
    pooling = {"1_Pooling__config": {"pooling_mode_mean_tokens": True, "word_embedding_dimension": 16}}
    return tiny(model, **pooling), model
