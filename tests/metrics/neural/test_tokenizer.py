"""Tokenising in the background gives the same tokens, and the same errors, as tokenising at once."""

from __future__ import annotations

import json

import pytest
from tests.metrics.neural.test_packed_encoder import TEXTS_OF_ALL_LENGTHS

from metassay.metrics.neural import batch_runner, tokenizer


@pytest.mark.parametrize("chunk_size", [1, 3])
def test_vectors_do_not_depend_on_tokenising_in_the_background(comet_folder, monkeypatch, chunk_size) -> None:
    from metassay.metrics.neural.comet import SeparateNetwork
    from metassay.metrics.neural.comet_checkpoint import find_comet_files

    folder, _ = comet_folder("regression_metric")
    network = SeparateNetwork(find_comet_files(str(folder)))
    expected, expected_truncated = network.compute_text_vectors(TEXTS_OF_ALL_LENGTHS)

    def tokenize_in_background(tokenize, texts, *, in_background):
        assert not in_background
        return tokenizer.tokenize_in_chunks(tokenize, texts, in_background=True)

    monkeypatch.setattr(tokenizer, "FIRST_CHUNK", chunk_size)
    monkeypatch.setattr(tokenizer, "CHUNK_GROWTH", 1 + chunk_size / 10)
    monkeypatch.setattr(batch_runner, "tokenize_in_chunks", tokenize_in_background)
    vectors, truncated = network.compute_text_vectors(TEXTS_OF_ALL_LENGTHS)
    assert vectors.numpy() == pytest.approx(expected.numpy(), abs=1e-6)
    assert expected_truncated.sum() > 5
    assert (truncated == expected_truncated).all()


def test_an_error_of_the_tokenizer_in_the_background_is_raised() -> None:
    def fail(texts):
        raise ValueError(texts[0])

    texts = ["a", "longest", *["b"] * tokenizer.LARGEST_CHUNK]
    with pytest.raises(ValueError, match="longest"):
        list(tokenizer.tokenize_in_chunks(fail, texts, in_background=True))


WORD_PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "The",
    "cat",
    "caf",
    "##e",
    "##\u00e9",
    "\u732b",
    "!",
]


@pytest.mark.parametrize(
    "settings",
    [
        None,
        {"do_lower_case": False},
        {"do_lower_case": True},
        {"do_lower_case": False, "strip_accents": True},
    ],
    ids=str,
)
def test_a_vocabulary_alone_gives_the_tokens_of_transformers(settings, tmp_path) -> None:
    """A cased BERT without `tokenizer.json` was lower-cased."""
    transformers = pytest.importorskip("transformers")
    (tmp_path / "vocab.txt").write_text("\n".join(WORD_PIECES) + "\n", encoding="utf-8")
    if settings is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    ours = tokenizer.Tokenizer(tmp_path / "vocab.txt", 512)
    theirs = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    texts = ["The cat!", "the cafe", "The caf\u00e9 \u732b\u732b", "", "[MASK] the [SEP]", "dog"]
    tokens = ours(texts)
    for number, text in enumerate(texts):
        assert tokens[number].tolist() == theirs(text)["input_ids"]
