"""Texts end to end against texts in rectangles, which the other tests compare with slow transcriptions."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from metassay.metrics.registry import parse_metric
from metassay.metrics.shared_work import SharedWork

MORE = [" ".join(["birds", "the", "<pad>", "cat", "red"][i % 5] for i in range(n)) for n in range(30)]


def packs(network, torch) -> None:
    """What happens by itself on a GPU."""
    from metassay.metrics.neural.packed_encoder import PackedEncoder

    assert not network.batches.packs
    assert PackedEncoder.suiting(network.encoder) is None
    network.packed = PackedEncoder(network.encoder)
    network.batches.pack()
    network.batches.budget = 40
    assert torch is not None


@pytest.mark.parametrize("pool", ["avg", "cls", "max"])
@pytest.mark.parametrize("norm", [False, True])
def test_packed_vectors_are_the_padded_ones(comet_folder, torch, pool, norm) -> None:
    from metassay.metrics.neural.comet import SeparateNetwork
    from metassay.metrics.neural.comet_network import find_comet_files

    folder, _ = comet_folder("regression_metric", pool=pool, layer_norm=norm)
    network = SeparateNetwork(find_comet_files(str(folder)))
    padded = network.vectors(MORE)[0].numpy()
    packs(network, torch)
    packed = network.vectors(MORE)[0].numpy()
    assert len({tuple(row) for row in padded.round(4).tolist()}) > 15
    assert packed == pytest.approx(padded, abs=1e-5)


def test_packed_unified_scores_are_the_padded_ones(comet_folder, torch) -> None:
    from metassay.metrics.neural.comet_network import find_comet_files
    from metassay.metrics.neural.unified_network import UnifiedNetwork

    folder, _ = comet_folder("unified_metric", layer_transformation="sparsemax_patch")
    network = UnifiedNetwork(find_comet_files(str(folder)))
    cases = [(a, b, c) for a, b, c in zip(MORE, MORE[3:], MORE[7:])]
    padded = network.read(cases, ("src", "ref", "all"), SharedWork())
    packs(network, torch)
    packed = network.read(cases, ("src", "ref", "all"), SharedWork())
    for name, readings in padded.items():
        scores = [one.score for one in readings]
        assert np.std(scores) > 0.003
        assert [one.score for one in packed[name]] == pytest.approx(scores, abs=1e-5)


def test_packed_bertscore_is_the_padded_one(encoder, torch, transformers, tmp_path) -> None:
    from metassay.metrics.neural.bertscore import TokenVectors, matched

    torch.manual_seed(0)
    config = transformers.XLMRobertaConfig(
        **json.loads((encoder / "config.json").read_text()), initializer_range=0.4
    )
    transformers.XLMRobertaModel(config).save_pretrained(tmp_path)
    shutil.copy(encoder / "tokenizer.json", tmp_path)
    pairs = list(zip(MORE, MORE[4:] + MORE[:4]))
    network = TokenVectors(tmp_path, "tiny", 2, "float32")
    padded = matched(network, pairs, None, SharedWork()).scores
    packs(network, torch)
    packed = matched(network, pairs, None, SharedWork()).scores
    assert padded.std() > 0.05
    assert packed == pytest.approx(padded, abs=1e-5)


def test_packed_bleurt_is_the_padded_one(encoder, torch, transformers, tmp_path) -> None:
    from safetensors.torch import save_file

    from metassay.metrics.neural.bleurt import BleurtNetwork

    torch.manual_seed(0)
    sizes = {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 32, "max_position_embeddings": 40, "type_vocab_size": 2}
    config = transformers.RemBertConfig(
        **sizes, input_embedding_size=8, initializer_range=0.4, pad_token_id=0
    )
    state = transformers.RemBertModel(config).state_dict()
    tensors = {f"bleurt.{name}": tensor.contiguous() for name, tensor in state.items()}
    tensors |= {"classifier.weight": torch.randn(1, 16), "classifier.bias": torch.zeros(1)}
    save_file(tensors, tmp_path / "model.safetensors")
    settings = {**sizes, "embedding_size": 8, "layer_norm_eps": 1e-12, "hidden_act": "gelu"}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    text = (encoder / "tokenizer.json").read_text()
    (tmp_path / "tokenizer.json").write_text(text.replace('"<s>"', '"[CLS]"').replace('"</s>"', '"[SEP]"'))
    pairs = list(zip(MORE, MORE[4:] + MORE[:4]))
    network = BleurtNetwork(tmp_path, "tiny", "float32", None)
    padded = network.score(pairs).scores
    packs(network, torch)
    packed = network.score(pairs).scores
    assert padded.std() > 0.05
    assert packed == pytest.approx(padded, abs=1e-5)


@pytest.mark.parametrize("size", [1, 3])
def test_tokens_made_ahead_are_those_made_at_once(comet_folder, monkeypatch, size) -> None:
    from metassay.metrics.neural import encoder
    from metassay.metrics.neural import token_batches as tokens
    from metassay.metrics.neural.comet import SeparateNetwork
    from metassay.metrics.neural.comet_network import find_comet_files

    folder, _ = comet_folder("regression_metric")
    network = SeparateNetwork(find_comet_files(str(folder)))
    whole, cut = network.vectors(MORE)
    monkeypatch.setattr(tokens, "FIRST_TEXTS", size)
    monkeypatch.setattr(tokens, "GROWTH", 1 + size / 10)
    monkeypatch.setattr(encoder, "tokenised", lambda *a, ahead: tokens.tokenised(*a, ahead=not ahead))
    some, ahead = network.vectors(MORE)
    assert some.numpy() == pytest.approx(whole.numpy(), abs=1e-6)
    assert cut.sum() > 5
    assert (ahead == cut).all()


def test_an_error_of_the_tokenizer_made_ahead_is_raised() -> None:
    from metassay.metrics.neural.token_batches import MOST_TEXTS, tokenised

    def broken(texts):
        raise ValueError(texts[0])

    with pytest.raises(ValueError, match="longest"):
        list(tokenised(broken, ["a", "longest", *["b"] * MOST_TEXTS], ahead=True))


@pytest.mark.parametrize(("dtype", "split"), [("float32", False), ("float32", True), ("bfloat16", False)])
def test_packed_states_of_rembert_are_those_of_transformers(torch, transformers, dtype, split) -> None:
    from metassay.metrics.neural.encoder import Batches
    from metassay.metrics.neural.packed_encoder import PackedEncoder
    from metassay.metrics.neural.token_batches import Tokens, packed

    torch.manual_seed(0)
    config = transformers.RemBertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        input_embedding_size=8,
        pad_token_id=0,
    )
    model = transformers.RemBertModel(config).eval().to(getattr(torch, dtype))
    rng = np.random.default_rng(0)
    texts = Tokens.of([rng.integers(1, 50, length).tolist() for length in (9, 5, 5, 2, 1)])
    kinds = Tokens(rng.integers(0, 2, len(texts.ids)), texts.offsets)
    moved = Batches(device="cpu").moved
    with torch.inference_mode():
        states = PackedEncoder(model, split=split)(packed(texts, np.arange(5), 0, moved, kinds)).float()
        for text in range(5):
            ids, own = (torch.from_numpy(part[text])[None] for part in (texts, kinds))
            alone = model(input_ids=ids, token_type_ids=own).last_hidden_state[0].float()
            here = states[texts.offsets[text] : texts.offsets[text + 1]]
            assert here.numpy() == pytest.approx(alone.numpy(), abs=1e-5 if dtype == "float32" else 0.06)


def test_products_of_halves_are_those_of_float64(torch) -> None:
    """TF32 as a GPU reads it, all bits after the upper ten dropped, is imitated on both operands."""
    from metassay.metrics.neural.tf32_products import UPPER, halves, split_linear, split_weights

    generator = torch.Generator().manual_seed(0)
    states, weight = (torch.randn((40, 1024), generator=generator) for _ in range(2))
    upper, lower = halves(states)
    assert torch.equal(upper.double() + lower.double(), states.double())
    assert not (upper.view(torch.int32) & ~UPPER).any()
    assert (lower.abs() < states.abs() * 2.0**-10).all()
    exact = states.double() @ weight.double().T + 3
    size = exact.abs().max()

    def off(found) -> float:
        return float((found - exact).abs().max() / size)

    def read(tensor):
        return halves(tensor)[0]

    bias = torch.full((40,), 3.0)
    above, below, bias = split_weights(weight, bias)
    assert off(split_linear(states, above, below, bias)) < 2e-6
    three = read(lower) @ above.T + upper @ read(below).T + upper @ above.T + bias
    assert off(three) < 2e-6
    assert off(upper @ above.T + bias) > 1e-4  # one product in TF32 alone


ON_CPU = """
import numpy as np
import torch
from metassay.metrics.neural.packed_encoder import SHORT, among_short, by_length
from metassay.metrics.neural.token_batches import Tokens, packed

long = []
otherwise = lambda projected, batch: long.append(batch.packing.longest) or by_length(projected, batch)
attend = among_short(torch.zeros(1), 16, otherwise)
assert attend is not otherwise
for lengths in ([SHORT, 70, 17, 1], [3, 1], [SHORT + 1, 2]):
    drawn = torch.randn((sum(lengths), 3, 2, 16), generator=torch.Generator().manual_seed(1))
    batch = packed(Tokens.of([[5] * n for n in lengths]), np.arange(len(lengths)), 0, torch.from_numpy)
    np.testing.assert_allclose(attend(drawn, batch), by_length(drawn, batch), atol=1e-5)
assert long == [SHORT + 1]
"""


def test_attention_among_short_texts_is_attention_of_each(torch) -> None:
    assert torch is not None
    if importlib.util.find_spec("triton") is None:
        pytest.skip("triton comes with torch for GPUs")
    # it must be told before torch loads it that there is no GPU
    subprocess.run([sys.executable, "-c", ON_CPU], env={**os.environ, "TRITON_INTERPRET": "1"}, check=True)


def test_metrics_are_labelled_as_the_field_spells_them() -> None:
    specs = [
        "bertscore",
        "comet",
        "comet_qe",
        "unite",
        "xcomet",
        "bleurt",
        "metricx",
        "bartscore",
        "embedding_cosine",
    ]
    labels = [parse_metric(spec).label for spec in specs]
    field = ["BERTScore", "COMET", "COMET-QE", "UniTE", "XCOMET", "BLEURT", "MetricX", "BARTScore"]
    assert labels == [*field, "embedding cosine"]
    assert parse_metric("comet(dtype=bfloat16)").label == "COMET (dtype=bfloat16)"


def test_no_two_neural_metrics_share_a_label() -> None:
    from metassay.metrics.neural import bertscore, bleurt, comet, embedding_cosine, metricx, unified_network

    rooms = (bertscore, bleurt, comet, embedding_cosine, metricx, unified_network)
    labels = [metric().label for room in rooms for metric in room.METRICS]
    assert len(set(labels)) == len(labels) == 15
    assert not any("_" in label for label in labels)
