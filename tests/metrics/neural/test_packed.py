"""Texts end to end against texts in rectangles, which the other tests compare with slow transcriptions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from metassay.errors import Counted
from metassay.metrics.registry import parse_metric

MORE = [" ".join(["birds", "the", "<pad>", "cat", "red"][i % 5] for i in range(n)) for n in range(30)]


def packs(network, torch) -> None:
    """What happens by itself in half precision on a GPU."""
    from metassay.metrics.neural.packed import PackedEncoder

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
    from metassay.metrics.neural.layers import comet_files

    folder, _ = comet_folder("regression_metric", pool=pool, layer_norm=norm)
    network = SeparateNetwork(comet_files(str(folder)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Counted)
        padded = network.vectors(MORE).numpy()
        packs(network, torch)
        packed = network.vectors(MORE).numpy()
    assert len({tuple(row) for row in padded.round(4).tolist()}) > 15
    assert packed == pytest.approx(padded, abs=1e-5)


def test_packed_unified_scores_are_the_padded_ones(comet_folder, torch) -> None:
    from metassay.metrics.neural.layers import comet_files
    from metassay.metrics.neural.unified import UnifiedNetwork

    folder, _ = comet_folder("unified_metric", layer_transformation="sparsemax_patch")
    network = UnifiedNetwork(comet_files(str(folder)))
    cases = [(a, b, c) for a, b, c in zip(MORE, MORE[3:], MORE[7:])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Counted)
        padded = network.scores(cases, ("src", "ref", "all"))
        packs(network, torch)
        packed = network.scores(cases, ("src", "ref", "all"))
    for name, scores in padded.items():
        assert packed[name] == pytest.approx(scores, abs=1e-5)


@pytest.mark.parametrize("size", [1, 3])
def test_tokens_made_ahead_are_those_made_at_once(comet_folder, monkeypatch, size) -> None:
    from metassay.metrics.neural import encoder, tokens
    from metassay.metrics.neural.comet import SeparateNetwork
    from metassay.metrics.neural.layers import comet_files

    folder, _ = comet_folder("regression_metric")
    network = SeparateNetwork(comet_files(str(folder)))
    with pytest.warns(Counted, match="inputs were longer") as at_once:
        whole = network.vectors(MORE).numpy()
    monkeypatch.setattr(tokens, "FIRST_TEXTS", size)
    monkeypatch.setattr(tokens, "NEXT_TEXTS", size)
    monkeypatch.setattr(encoder, "tokenised", lambda *a, ahead: tokens.tokenised(*a, ahead=not ahead))
    with pytest.warns(Counted, match="inputs were longer") as ahead:
        some = network.vectors(MORE).numpy()
    assert some == pytest.approx(whole, abs=1e-6)
    assert [str(one.message) for one in ahead] == [str(one.message) for one in at_once]


def test_an_error_of_the_tokenizer_made_ahead_is_raised() -> None:
    from metassay.metrics.neural.tokens import NEXT_TEXTS, tokenised

    def broken(texts):
        raise ValueError(texts[0])

    with pytest.raises(ValueError, match="longest"):
        list(tokenised(broken, ["a", "longest", *["b"] * NEXT_TEXTS], ahead=True))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_packed_states_of_rembert_are_those_of_transformers(torch, transformers, dtype) -> None:
    from metassay.metrics.neural.encoder import Batches
    from metassay.metrics.neural.packed import PackedEncoder
    from metassay.metrics.neural.tokens import Tokens, packed

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
        states = PackedEncoder(model)(packed(texts, np.arange(5), 0, moved, kinds)).float()
        for text in range(5):
            ids, own = (torch.from_numpy(part[text])[None] for part in (texts, kinds))
            alone = model(input_ids=ids, token_type_ids=own).last_hidden_state[0].float()
            here = states[texts.offsets[text] : texts.offsets[text + 1]]
            assert here.numpy() == pytest.approx(alone.numpy(), abs=1e-5 if dtype == "float32" else 0.06)


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
    from metassay.metrics.neural import bertscore, bleurt, comet, embedding, seq2seq, unified

    rooms = (bertscore, bleurt, comet, embedding, seq2seq, unified)
    labels = [metric().label for room in rooms for metric in room.METRICS]
    assert len(set(labels)) == len(labels) == 15
    assert not any("_" in label for label in labels)
