"""Token sequences of a batch, made once for all metrics that read them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from metassay.metrics.base import Batch, Metric
from metassay.metrics.kernels.packing import Packed, Tokens, pack, unpack
from metassay.metrics.kernels.tokenize import AT_SPACES, character_ids, token_ids
from metassay.metrics.pairing import pairing
from metassay.text.tokenizers import Scheme, bleu_scheme, plain_classes, primary
from metassay.text.words import WITHOUT_SPACES

SPACES = Scheme(plain_classes)
"""Split at white space and nothing else."""


def tokenized(texts: Sequence[str], scheme: Scheme, splitting: int = AT_SPACES) -> tuple[Tokens, Packed]:
    """The texts as token sequences, and the words that the integers stand for."""
    return _tokenized(pack(scheme.prepared(texts)), scheme, splitting)


def batch_words(batch: Batch, name: str, *, lowercase: bool = False) -> Tokens:
    """The texts of the batch under a tokeniser that sacrebleu knows by name."""

    def tokenize() -> Tokens:
        scheme, texts = bleu_scheme(name), batch_texts(batch, lowercase=lowercase)
        prepared = scheme.prepared(texts)
        packed = _packed(batch, lowercase=lowercase) if prepared is texts else pack(prepared)
        return _tokenized(packed, scheme, AT_SPACES)[0]

    return batch.derived(("words", name, lowercase), tokenize)


def batch_split(batch: Batch, splitting: int, *, lowercase: bool = False) -> Tokens:
    """The texts of the batch, split in one of the ways of `kernels.tokenize`."""
    return batch.derived(
        ("split", splitting, lowercase),
        lambda: _tokenized(_packed(batch, lowercase=lowercase), SPACES, splitting)[0],
    )


def batch_characters(batch: Batch, *, lowercase: bool, with_spaces: bool, stripped: bool) -> Tokens:
    """The texts of the batch as sequences of characters."""

    def tokenize() -> Tokens:
        packed = _packed(batch, lowercase=lowercase)
        ids, offsets = character_ids(*packed, plain_classes(), with_spaces, stripped)
        return Tokens(ids, offsets, int(ids.max(initial=0)) + 1)

    return batch.derived(("characters", lowercase, with_spaces, stripped), tokenize)


def batch_texts(batch: Batch, *, lowercase: bool) -> Sequence[str]:
    """The distinct texts of the batch, in lower case on request."""
    texts = pairing(batch).texts
    if not lowercase:
        return texts
    return batch.derived("lowercase", lambda: [text.lower() for text in texts])


def warn_of_words(metric: Metric, language: str | None) -> None:
    """A note that a metric of words split at spaces says little about a language written without any."""
    if primary(language) in WITHOUT_SPACES:
        warnings.warn(
            f"{metric.label} compares words split at spaces, and {language} is written without them, so most "
            "pairs tie: prefer a metric of characters, such as chrF or CER.",
            stacklevel=3,
        )


def mapped(tokens: Tokens, words: Packed, function: Callable[[str], str]) -> Tokens:
    """The same sequences after each distinct word was replaced by `function` of it."""
    index: dict[str, int] = {}
    numbers = [index.setdefault(function(word), len(index)) for word in unpack(words)]
    table = np.array(numbers, dtype=np.int32)
    return Tokens(table[tokens.ids] if len(table) else tokens.ids, tokens.offsets, len(index))


def _packed(batch: Batch, *, lowercase: bool) -> Packed:
    return batch.derived(("packed", lowercase), lambda: pack(batch_texts(batch, lowercase=lowercase)))


def _tokenized(packed: Packed, scheme: Scheme, splitting: int) -> tuple[Tokens, Packed]:
    passes = np.array(scheme.passes, dtype=np.int64).reshape(-1, 3)
    ids, offsets, pool, starts = token_ids(
        *packed, scheme.classes(), passes, scheme.padded, scheme.stripped_left, splitting
    )
    return Tokens(ids, offsets, len(starts) - 1), Packed(pool[: starts[-1]], starts)
