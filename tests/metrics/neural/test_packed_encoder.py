"""Packed batches give the scores of padded ones, which other tests compare with slow transcriptions."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from metassay.metrics.neural.base import NetworkInput
from metassay.metrics.shared_cache import SharedCache

TEXTS_OF_ALL_LENGTHS = [
    " ".join(["birds", "the", "<pad>", "cat", "red"][i % 5] for i in range(length)) for length in range(30)
]


def enable_packed_batches(network) -> None:
    """Pack texts on the CPU; on a GPU networks do so by themselves."""
    from metassay.metrics.neural.packed_encoder import PackedEncoder

    assert not network.runner.packs_texts
    assert PackedEncoder.create_for_supported_model(network.encoder) is None
    network.packed_encoder = PackedEncoder(network.encoder)
    network.runner.enable_packed_batches()
    network.runner.token_budget = 40


@pytest.mark.parametrize("pool", ["avg", "cls", "max"])
@pytest.mark.parametrize("layer_norm", [False, True])
def test_comet_vectors_of_packed_texts_equal_those_of_padded_ones(comet_folder, pool, layer_norm) -> None:
    from metassay.metrics.neural.comet import SeparateNetwork
    from metassay.metrics.neural.comet_checkpoint import find_comet_files

    folder, _ = comet_folder("regression_metric", pool=pool, layer_norm=layer_norm)
    network = SeparateNetwork(find_comet_files(str(folder)))
    padded = network.compute_text_vectors(TEXTS_OF_ALL_LENGTHS)[0].numpy()
    enable_packed_batches(network)
    packed = network.compute_text_vectors(TEXTS_OF_ALL_LENGTHS)[0].numpy()
    assert len({tuple(row) for row in padded.round(4).tolist()}) > 15
    assert packed == pytest.approx(padded, abs=1e-5)


def test_unified_scores_of_packed_texts_equal_those_of_padded_ones(comet_folder) -> None:
    from metassay.metrics.neural.comet_checkpoint import find_comet_files
    from metassay.metrics.neural.unified_network import FIELDS_OF_INPUT, UnifiedNetwork

    folder, _ = comet_folder("unified_metric", layer_transformation="sparsemax_patch")
    network = UnifiedNetwork(find_comet_files(str(folder)))
    texts = TEXTS_OF_ALL_LENGTHS
    inputs = [NetworkInput(*row) for row in zip(texts, texts[3:], texts[7:])]
    padded = network.predict_scores_and_error_tags(inputs, tuple(FIELDS_OF_INPUT), SharedCache())
    enable_packed_batches(network)
    packed = network.predict_scores_and_error_tags(inputs, tuple(FIELDS_OF_INPUT), SharedCache())
    for kind, predictions in padded.items():
        scores = [prediction.score for prediction in predictions]
        assert np.std(scores) > 0.003
        assert [prediction.score for prediction in packed[kind]] == pytest.approx(scores, abs=1e-5)


def test_bertscore_of_packed_texts_equals_that_of_padded_ones(encoder, torch, transformers, tmp_path) -> None:
    from metassay.metrics.neural.bertscore import TokenEncoder, score_text_pairs

    torch.manual_seed(0)
    config = transformers.XLMRobertaConfig(
        **json.loads((encoder / "config.json").read_text()), initializer_range=0.4
    )
    transformers.XLMRobertaModel(config).save_pretrained(tmp_path)
    shutil.copy(encoder / "tokenizer.json", tmp_path)
    texts = TEXTS_OF_ALL_LENGTHS
    pairs = list(zip(texts, texts[4:] + texts[:4]))
    network = TokenEncoder(tmp_path, "tiny", 2, "float32")
    padded = score_text_pairs(network, pairs, None, SharedCache()).scores
    enable_packed_batches(network)
    packed = score_text_pairs(network, pairs, None, SharedCache()).scores
    assert padded.std() > 0.05
    assert packed == pytest.approx(padded, abs=1e-5)


def test_bleurt_of_packed_texts_equals_that_of_padded_ones(encoder, torch, transformers, tmp_path) -> None:
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
    tokenizer = (encoder / "tokenizer.json").read_text()
    tokenizer = tokenizer.replace('"<s>"', '"[CLS]"').replace('"</s>"', '"[SEP]"')
    (tmp_path / "tokenizer.json").write_text(tokenizer)
    texts = TEXTS_OF_ALL_LENGTHS
    pairs = list(zip(texts, texts[4:] + texts[:4]))
    network = BleurtNetwork(tmp_path, "tiny", "float32", None)
    padded = network.score(pairs).scores
    enable_packed_batches(network)
    packed = network.score(pairs).scores
    assert padded.std() > 0.05
    assert packed == pytest.approx(padded, abs=1e-5)


@pytest.mark.parametrize(
    ("dtype", "split_products"), [("float32", False), ("float32", True), ("bfloat16", False)]
)
def test_packed_states_of_rembert_equal_those_of_transformers(
    torch, transformers, dtype, split_products
) -> None:
    from metassay.metrics.neural.batch_runner import BatchRunner
    from metassay.metrics.neural.packed_encoder import PackedEncoder
    from metassay.metrics.neural.token_batches import build_packed_batch
    from metassay.metrics.neural.tokenizer import TokenizedTexts

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
    texts = TokenizedTexts.from_token_sequences(
        [rng.integers(1, 50, length).tolist() for length in (9, 5, 5, 2, 1)]
    )
    segment_ids = texts.copy_with_token_ids(rng.integers(0, 2, len(texts.ids)))
    to_device = BatchRunner(device="cpu").move_to_device
    batch = build_packed_batch(texts, np.arange(5), 0, to_device, segment_ids)
    tolerance = 1e-5 if dtype == "float32" else 0.06
    with torch.inference_mode():
        states = PackedEncoder(model, split_products=split_products)(batch).float()
        for text in range(5):
            expected = model(
                input_ids=torch.from_numpy(texts[text])[None],
                token_type_ids=torch.from_numpy(segment_ids[text])[None],
            ).last_hidden_state[0]
            computed = states[texts.offsets[text] : texts.offsets[text + 1]]
            assert computed.numpy() == pytest.approx(expected.float().numpy(), abs=tolerance)
