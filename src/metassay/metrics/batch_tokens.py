"""The texts of a batch, made ready once for all metrics: which meet which, and as token sequences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.base import Batch, Metric, Scores
from metassay.metrics.kernels.text_arrays import Packed, Tokens, pack, unpack
from metassay.metrics.kernels.tokenization import AT_SPACES, character_ids, token_ids
from metassay.text.tokenizers import Scheme, bleu_scheme, plain_classes, primary
from metassay.text.words import WITHOUT_SPACES

Index = NDArray[np.int64]
SPACES = Scheme(plain_classes)
"""Split at white space and nothing else."""


@dataclass(frozen=True)
class Pairing:
    """The distinct texts of a batch, and the distinct (output, references) pairs to score.

    Pairs are sorted by their references, so that a kernel prepares each set of references once.
    """

    texts: Sequence[str]
    """Distinct texts, outputs and references alike; the arrays below hold positions in it."""
    outputs: Index
    """For each pair, its output."""
    sets: Index
    """For each pair, its set of references."""
    set_offsets: Index
    set_members: Index
    """References of set k: `set_members[set_offsets[k] : set_offsets[k + 1]]`, in the order given."""
    rows: Index
    """For each row of the batch, its pair."""

    def couples(self) -> Couples:
        """Each output with each of its references, for metrics that look at one reference at a time."""
        sizes = np.diff(self.set_offsets)[self.sets]
        pair_offsets = np.concatenate(([0], np.cumsum(sizes)))
        within = np.arange(pair_offsets[-1]) - np.repeat(pair_offsets[:-1], sizes)
        references = self.set_members[np.repeat(self.set_offsets[self.sets], sizes) + within]
        outputs = np.repeat(self.outputs, sizes)
        if len(references) == len(self.outputs):
            return Couples(outputs, references, pair_offsets, None)
        order = np.argsort(references, kind="stable")
        return Couples(outputs[order], references[order], pair_offsets, order)


@dataclass(frozen=True)
class Couples:
    """Outputs and single references, grouped by reference."""

    outputs: Index
    references: Index
    pair_offsets: Index
    """Couples of pair p, once restored: `pair_offsets[p] : pair_offsets[p + 1]`."""
    order: Index | None
    """How the couples were sorted; None where every output has one reference and nothing was."""

    def restored(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values of the couples, pair by pair and in the order of the references given."""
        if self.order is None:
            return values
        original = np.empty_like(values)
        original[self.order] = values
        return original

    def best(self, statistics: Scores, scores: Scores) -> Scores:
        """For each pair, the statistics of its first couple with the highest score."""
        if self.order is None:
            return statistics
        statistics, scores = self.restored(statistics), self.restored(scores)
        highest = np.maximum.reduceat(scores, self.pair_offsets[:-1])
        is_best = scores == np.repeat(highest, np.diff(self.pair_offsets))
        candidates = np.where(is_best, np.arange(len(scores)), len(scores))
        first: Index = np.minimum.reduceat(candidates, self.pair_offsets[:-1])
        return statistics[first]


def pairing(batch: Batch) -> Pairing:
    """The pairing of a batch, made once."""
    return batch.compute_once("pairing", lambda: _pair(batch.output, batch.references))


def _pair(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> Pairing:
    texts: dict[str, int] = {}
    number = texts.setdefault
    output_of_row = np.fromiter((number(text, len(texts)) for text in outputs), np.int64, len(outputs))
    sets: dict[tuple[str, ...], int] = {}
    number_set = sets.setdefault
    set_of_row = np.fromiter(
        (number_set(tuple(own), len(sets)) for own in references), np.int64, len(outputs)
    )
    members = [number(text, len(texts)) for own in sets for text in own]
    offsets = np.concatenate(([0], np.cumsum([len(own) for own in sets], dtype=np.int64)))
    keys, rows = np.unique(set_of_row * max(len(texts), 1) + output_of_row, return_inverse=True)
    pair_sets, pair_outputs = np.divmod(keys, max(len(texts), 1))
    return Pairing(
        list(texts), pair_outputs, pair_sets, offsets, np.array(members, dtype=np.int64), rows.reshape(-1)
    )


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

    return batch.compute_once(("words", name, lowercase), tokenize)


def batch_split(batch: Batch, splitting: int, *, lowercase: bool = False) -> Tokens:
    """The texts of the batch, split in one of the ways of `kernels.tokenization`."""
    return batch.compute_once(
        ("split", splitting, lowercase),
        lambda: _tokenized(_packed(batch, lowercase=lowercase), SPACES, splitting)[0],
    )


def batch_characters(batch: Batch, *, lowercase: bool, with_spaces: bool, stripped: bool) -> Tokens:
    """The texts of the batch as sequences of characters."""

    def tokenize() -> Tokens:
        packed = _packed(batch, lowercase=lowercase)
        ids, offsets = character_ids(*packed, plain_classes(), with_spaces, stripped)
        return Tokens(ids.copy(), offsets, int(ids.max(initial=0)) + 1)

    return batch.compute_once(("characters", lowercase, with_spaces, stripped), tokenize)


def batch_texts(batch: Batch, *, lowercase: bool) -> Sequence[str]:
    """The distinct texts of the batch, in lower case on request."""
    texts = pairing(batch).texts
    if not lowercase:
        return texts
    return batch.compute_once("lowercase", lambda: [text.lower() for text in texts])


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
    return batch.compute_once(("packed", lowercase), lambda: pack(batch_texts(batch, lowercase=lowercase)))


def _tokenized(packed: Packed, scheme: Scheme, splitting: int) -> tuple[Tokens, Packed]:
    passes = np.array(scheme.passes, dtype=np.int64).reshape(-1, 3)
    ids, offsets, pool, starts = token_ids(
        *packed, scheme.classes(), passes, scheme.padded, scheme.stripped_left, splitting
    )
    return Tokens(ids.copy(), offsets, len(starts) - 1), Packed(pool[: starts[-1]], starts.copy())


def sacrebleu_signature(metric: Metric, official: Callable[..., Any], references: int) -> str | None:
    """How sacrebleu signs the score; None where it has no words for what was done to the texts.

    `official` makes sacrebleu's own metric of the settings.
    """
    used = [metric.settings(language) for language in metric.languages or (None,)]
    if metric.text_changes or any(each != used[0] for each in used):
        return None
    made = official(**used[0])
    made.num_refs = references
    return str(made.get_signature())
