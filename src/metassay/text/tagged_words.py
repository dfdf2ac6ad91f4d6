"""Find pairs of neighbouring words by their parts of speech, and tag only the sentences that may have one."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from metassay.text.hanta_tagger import load_pos_tagger
from metassay.text.lemmas import find_lemma
from metassay.text.tokens import find_token_spans, tokenize_words
from metassay.text.words import Span

_CACHED_WORDS = 1 << 16


@dataclass(frozen=True)
class TagPair:
    """A pattern for two successive words of a text, by their part-of-speech tags.

    The second word must be in the dictionary, with a base form that is not in `excluded_lemmas`.
    """

    language: str
    first_tags: frozenset[str]
    second_tags: frozenset[str]
    excluded_lemmas: frozenset[str] = frozenset()


@functools.lru_cache(maxsize=_CACHED_WORDS)
def find_second_words_of_tag_pairs(text: str, tag_pair: TagPair) -> tuple[tuple[Span, str], ...]:
    """Find all pairs of successive words whose tags match a pattern. Returns the position and the tag of the
    second word of each pair.

    The two words must be separated by exactly one space.
    """
    words = tokenize_words(text)
    candidates = []
    for i in range(1, len(words)):
        if _can_be_second_word_of_tag_pair(words[i], tag_pair):
            first_tags = _list_possible_pos_tags(words[i - 1], tag_pair.language, is_first_word=i == 1)
            if not tag_pair.first_tags.isdisjoint(first_tags):
                candidates.append(i)
    if not candidates:
        return ()
    spans = find_token_spans(text)
    candidates = [i for i in candidates if text[spans[i - 1][1] : spans[i][0]] == " "]
    if not candidates:
        return ()
    tags = load_pos_tagger(tag_pair.language).tag_parts_of_speech(words)
    return tuple(
        (spans[i], tags[i])
        for i in candidates
        if tags[i - 1] in tag_pair.first_tags and tags[i] in tag_pair.second_tags
    )


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _can_be_second_word_of_tag_pair(word: str, tag_pair: TagPair) -> bool:
    """Return whether a word can be the second of a pair that matches a pattern, whatever the other word
    is.
    """
    listed_tags = load_pos_tagger(tag_pair.language).list_dictionary_pos_tags(word)
    if listed_tags and tag_pair.second_tags.isdisjoint(listed_tags):
        return False
    lemma = find_lemma(word, tag_pair.language)
    if lemma is None or lemma in tag_pair.excluded_lemmas:
        return False
    possible_tags = _list_possible_pos_tags(word, tag_pair.language, is_first_word=False)
    return not tag_pair.second_tags.isdisjoint(possible_tags)


@functools.lru_cache(maxsize=_CACHED_WORDS)
def _list_possible_pos_tags(word: str, language: str, *, is_first_word: bool) -> frozenset[str]:
    """Return the tags that a word can have, from the dictionary, or guessed from its parts."""
    tagger = load_pos_tagger(language)
    return tagger.list_dictionary_pos_tags(word) or tagger.list_possible_pos_tags(
        word, is_first_word=is_first_word
    )


@functools.lru_cache(maxsize=_CACHED_WORDS)
def rank_pos_tags_of_word(word: str, language: str) -> tuple[str, ...]:
    """Rank the part-of-speech tags that a word can have, judged without its sentence, the most likely
    first.
    """
    return load_pos_tagger(language).rank_pos_tags(word)
