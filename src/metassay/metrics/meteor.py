"""METEOR (Banerjee and Lavie, 2005; Lavie and Agarwal, 2007) with NLTK's numbers."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Batch, Metric, Parameters, Scores, check_parameter_range
from metassay.metrics.batch_tokens import tokenize_texts_into_words, warn_if_language_has_no_spaces
from metassay.metrics.kernels.meteor import compute_meteor_scores, find_unmatched_stems, find_unmatched_words
from metassay.metrics.kernels.text_arrays import Offsets, PackedTexts, TokenIds, convert_code_points_to_texts
from metassay.metrics.scoring_inputs import find_distinct_inputs
from metassay.text import resources
from metassay.text.porter_stemmer import stem_word
from metassay.text.tokenizers import (
    AUTO,
    WORD_TOKENIZERS,
    choose_character_tokenizer,
    put_spaces_between_tokens,
)
from metassay.text.wordnet import PARTS_OF_SPEECH, open_wordnet

_DEFAULT_TOKENIZER = "whitespace"
# Words whose synonyms are kept, because looking them up in WordNet is slow.
_CACHED_WORDS = 1 << 18


@dataclass(frozen=True)
class Meteor(Metric):
    """METEOR: harmonic mean of unigram precision and recall, less a penalty for scattered matches.

    (1 − γ·(chunks/matches)^β) · P·R / (α·P + (1 − α)·R), where words match by form, Porter stem or WordNet
    synonym. Equals `nltk.translate.meteor_score` on the same tokens; of several references the best counts.

    Stems and synonyms are English ones in any language, as in NLTK. Words are split at white space unless a
    tokeniser is named; for data in languages written without spaces, into characters.
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
        check_parameter_range(self.name, "alpha", self.alpha, 0, 1)
        check_parameter_range(self.name, "beta", self.beta, 0)
        check_parameter_range(self.name, "gamma", self.gamma, 0, 1)

    def get_parameters_for_language(self, language: str | None) -> Parameters:
        """Return the values of all parameters. The tokeniser is the default for the language unless the user
        named one.
        """
        return super().get_parameters_for_language(language) | {"tokenizer": self._choose_tokenizer(language)}

    def _choose_tokenizer(self, language: str | None) -> str:
        """Return the name of the tokeniser that the user chose, or else of the default for the language."""
        if self.tokenizer != AUTO:
            return self.tokenizer
        return choose_character_tokenizer(language) or _DEFAULT_TOKENIZER

    def score(self, batch: Batch) -> Scores:
        """Compute METEOR for each output. With several references, the highest score counts."""
        tokenizer = self._choose_tokenizer(self.choose_language_for_parameters(batch))
        if tokenizer == _DEFAULT_TOKENIZER:
            warn_if_language_has_no_spaces(self, batch.language)
        inputs = find_distinct_inputs(batch)
        single_inputs = inputs.pair_outputs_with_each_reference()
        outputs = single_inputs.outputs
        references = single_inputs.references
        tokens, words = tokenize_texts_into_words(
            [text.lower() for text in put_spaces_between_tokens(inputs.texts, tokenizer)]
        )
        # Stems and synonyms are slow to find, so only those are looked up that can decide a match.
        stems, stem_ids = _find_stem_ids(words, find_unmatched_words(*tokens, outputs, references))
        is_unmatched_stem = find_unmatched_stems(*tokens, outputs, references, stems, len(stem_ids))
        synonym_offsets, synonym_ids = _find_synonym_ids(stem_ids, is_unmatched_stem)
        scores = compute_meteor_scores(
            *tokens,
            outputs,
            references,
            stems,
            len(stem_ids),
            synonym_offsets,
            synonym_ids,
            float(self.alpha),
            float(self.beta),
            float(self.gamma),
        )
        starts = single_inputs.input_offsets[:-1]
        best: Scores = np.maximum.reduceat(single_inputs.restore_input_order(scores), starts)
        return best[inputs.input_of_row]


def _find_stem_ids(words: PackedTexts, is_needed: NDArray[np.bool_]) -> tuple[TokenIds, dict[str, int]]:
    """Stem the words for which `is_needed` is true. Returns the stem id of each word, and a dictionary from
    each stem to its id.

    Words that need no stem share the id 0, which is no stem.
    """
    stem_ids = {"": 0}
    stem_of_word = np.zeros(len(is_needed), dtype=np.int32)
    for word_id, word in enumerate(convert_code_points_to_texts(words)):
        if is_needed[word_id]:
            stem_of_word[word_id] = stem_ids.setdefault(stem_word(word), len(stem_ids))
    return stem_of_word, stem_ids


def _find_synonym_ids(stem_ids: dict[str, int], is_needed: NDArray[np.bool_]) -> tuple[Offsets, TokenIds]:
    """Find the WordNet synonyms of the stems for which `is_needed` is true. Synonyms are ids of other stems,
    in one array with an offset for each stem.
    """
    offsets = np.zeros(len(stem_ids) + 1, dtype=np.int64)
    synonym_ids: list[int] = []
    for stem, stem_id in stem_ids.items():
        if is_needed[stem_id]:
            present = {stem_ids[synonym] for synonym in find_wordnet_synonyms(stem) if synonym in stem_ids}
            synonym_ids.extend(sorted(present - {stem_id}))
        offsets[stem_id + 1] = len(synonym_ids)
    return offsets, np.array(synonym_ids, dtype=np.int32)


@functools.lru_cache(maxsize=_CACHED_WORDS)
def find_wordnet_synonyms(word: str) -> tuple[str, ...]:
    """Return the single words that share a meaning with a word or its base form in WordNet."""
    wordnet = open_wordnet()
    if wordnet is None:
        raise InputError(
            "METEOR needs WordNet.", remedy=resources.describe_missing_resource("WordNet", language="en")
        )
    synonyms: set[str] = set()
    for part_of_speech in PARTS_OF_SPEECH:
        for lemma in wordnet.find_lemmas(word, part_of_speech):
            for offset in wordnet.list_synsets(lemma, part_of_speech):
                synonyms.update(wordnet.list_words_of_synset(part_of_speech, offset))
    return tuple(synonym for synonym in synonyms if "_" not in synonym)
