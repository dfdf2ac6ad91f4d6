"""Metrics with NLTK's numbers: METEOR (Banerjee and Lavie, 2005; Lavie and Agarwal, 2007), and its BLEU."""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Batch, Metric, Scores, StatisticsMetric, check_range
from metassay.metrics.batch_tokens import SPACES, pairing, tokenized, warn_of_words
from metassay.metrics.bleu import ngram_statistics
from metassay.metrics.kernels.meteor import meteor_scores, unmatched_stems, unmatched_words
from metassay.metrics.kernels.text_arrays import Ids, Offsets, Packed, unpack
from metassay.text import resources
from metassay.text.thesauri import PARTS_OF_SPEECH, open_wordnet
from metassay.text.tokenizers import AUTO, WORD_TOKENIZERS, spaceless_tokenizer, split_words
from metassay.text.tokens import porter_stem


@dataclass(frozen=True)
class Meteor(Metric):
    """Harmonic mean of unigram precision and recall, less a penalty for scattered matches.

    (1 − γ·(chunks/matches)^β) · P·R / (α·P + (1 − α)·R), where words match by form, Porter stem or WordNet
    synonym. Equals `nltk.translate.meteor_score` on the same tokens; of several references the best counts.
    Stems and synonyms are English ones in any language, as in NLTK. Where no tokeniser is named words are
    split at white space; for data in languages written without spaces, into characters.
    """

    tokenizer: str = AUTO
    alpha: float = 0.9
    beta: float = 3.0
    gamma: float = 0.5

    name: ClassVar[str] = "meteor"
    title: ClassVar[str] = "METEOR"
    task: ClassVar[str] = "mt"
    oracle: ClassVar[str] = "nltk 3.10.4"
    summary: ClassVar[str] = "matches by form, stem and WordNet synonym (nltk)"
    dictionary_languages: ClassVar[frozenset[str]] = frozenset({"en"})

    def __post_init__(self) -> None:
        if self.tokenizer not in {AUTO, *WORD_TOKENIZERS}:
            raise UnknownName("tokenizer", self.tokenizer, WORD_TOKENIZERS)
        check_range(self.name, "alpha", self.alpha, 0, 1)
        check_range(self.name, "beta", self.beta, 0)
        check_range(self.name, "gamma", self.gamma, 0, 1)

    def settings(self, language: str | None) -> dict[str, Any]:
        """Characters for a language without spaces, unless a tokeniser was named."""
        chosen = spaceless_tokenizer(language) or "whitespace"
        return super().settings(language) | ({"tokenizer": chosen} if self.tokenizer == AUTO else {})

    def score(self, batch: Batch) -> Scores:
        """The best score over the references."""
        pairs = pairing(batch)
        couples = pairs.couples()
        tokenizer = self.used(batch)["tokenizer"]
        if tokenizer == "whitespace":
            warn_of_words(self, batch.language)
        texts = [text.lower() for text in split_words(pairs.texts, tokenizer)]
        tokens, words = tokenized(texts, SPACES)
        couple = (couples.outputs, couples.references)
        stems, index = _stems(words, unmatched_words(*tokens, *couple))
        related = _synonym_table(index, unmatched_stems(*tokens, *couple, stems, len(index)))
        parameters = (float(self.alpha), float(self.beta), float(self.gamma))
        scores = meteor_scores(*tokens, *couple, stems, len(index), *related, *parameters)
        best = np.maximum.reduceat(couples.restored(scores), couples.pair_offsets[:-1])
        return np.asarray(best)[pairs.rows]


def _stems(words: Packed, needed: NDArray[np.bool_]) -> tuple[Ids, dict[str, int]]:
    """For each word that needs one, the number of its stem; and the numbers of all stems, from 1 on.

    The others, which always find their equal, share the number 0.
    """
    index = {"": 0}
    stems = np.zeros(len(needed), dtype=np.int32)
    for word, text in enumerate(unpack(words)):
        if needed[word]:
            stems[word] = index.setdefault(porter_stem(text), len(index))
    return stems, index


def _synonym_table(index: dict[str, int], needed: NDArray[np.bool_]) -> tuple[Offsets, Ids]:
    """For each stem that needs them, those of its synonyms that are stems too."""
    offsets, found = np.zeros(len(index) + 1, dtype=np.int64), []
    for stem, number in index.items():
        if needed[number]:
            others = (index.get(name) for name in synonyms(stem))
            found.extend(sorted(other for other in others if other is not None and other != number))
        offsets[number + 1] = len(found)
    return offsets, np.array(found, dtype=np.int32)


@functools.lru_cache(maxsize=1 << 18)
def synonyms(word: str) -> tuple[str, ...]:
    """Every single word that shares a WordNet synset with the word or a base form of it."""
    wordnet = open_wordnet()
    if wordnet is None:
        raise InputError("METEOR needs WordNet.", remedy=resources.missing("WordNet", language="en"))
    names = {
        name
        for pos in PARTS_OF_SPEECH
        for lemma in wordnet.lemmas(word, pos)
        for offset in wordnet.senses(lemma, pos)
        for name in wordnet.synset(pos, offset)
        if "_" not in name
    }
    return tuple(names)


@dataclass(frozen=True)
class NltkBleu(StatisticsMetric):
    """Brevity penalty × geometric mean of the clipped n-gram precisions, between 0 and 1.

    A precision of 0 counts as the smallest positive float, which leaves a score of about 1e-78 (or less), not
    0; without a single matching word it is 0. Equals `nltk.translate.bleu_score.sentence_bleu`, for corpora
    `corpus_bleu`, on the tokens of `nltk.word_tokenize` for one line (`preserve_line`), or on characters for
    data in languages written without spaces.
    """

    tokenizer: str = AUTO
    order: int = 4

    name: ClassVar[str] = "nltk_bleu"
    title: ClassVar[str] = "NLTK BLEU"
    task: ClassVar[str] = "mt"
    oracle: ClassVar[str] = "nltk 3.10.4"
    summary: ClassVar[str] = "unsmoothed sentence BLEU (nltk)"

    def __post_init__(self) -> None:
        if self.tokenizer not in {AUTO, *WORD_TOKENIZERS}:
            raise UnknownName("tokenizer", self.tokenizer, WORD_TOKENIZERS)
        check_range(self.name, "order", self.order, 1, 100)

    def settings(self, language: str | None) -> dict[str, Any]:
        """Characters for a language without spaces, unless a tokeniser was named."""
        chosen = spaceless_tokenizer(language) or "nltk"
        return super().settings(language) | ({"tokenizer": chosen} if self.tokenizer == AUTO else {})

    def statistics(self, batch: Batch) -> Scores:
        """Lengths, matches and totals; a total is at least 1 in every output."""
        pairs = pairing(batch)
        tokenizer = self.used(batch)["tokenizer"]
        if tokenizer in {"nltk", "whitespace"}:
            warn_of_words(self, batch.language)
        tokens = batch.compute_once(
            ("words", tokenizer, "nltk"), lambda: tokenized(split_words(pairs.texts, tokenizer), SPACES)[0]
        )
        statistics = ngram_statistics(tokens, pairs, self.order)
        totals = statistics[:, 2 + self.order :]
        np.maximum(totals, 1, out=totals)
        return statistics[pairs.rows]

    def from_statistics(self, statistics: Scores) -> Scores:
        """BLEU, with the exactly rounded sum of logarithms that NLTK takes."""
        rows = np.asarray(statistics, dtype=np.float64).reshape(-1, 2 + 2 * self.order)
        scores = np.array([self._score(row) for row in rows.tolist()], dtype=np.float64)
        return scores.reshape(np.shape(statistics)[:-1])

    def _score(self, row: list[float]) -> float:
        output, reference = row[:2]
        matches, totals = row[2 : 2 + self.order], row[2 + self.order :]
        if matches[0] == 0:
            return 0.0
        penalty = 1.0 if output > reference else math.exp(1 - reference / output)
        weight = 1 / self.order
        logs = (
            weight * math.log(match / total if match else sys.float_info.min)
            for match, total in zip(matches, totals)
        )
        return penalty * math.exp(math.fsum(logs))


METRICS = (Meteor, NltkBleu)
