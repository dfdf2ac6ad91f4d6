"""A small bigram language model in the ARPA format, as speech recognisers read it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

DISCOUNT = 0.7


def build_arpa(sentences: Iterable[list[str]], vocabulary: Iterable[str]) -> str:
    """Build bigrams with interpolated absolute discounting (Ney, Essen and Kneser, 1994).

    P(w | h) = max(c(h w) - D, 0) / c(h) + D n(h) / c(h) P(w), with n(h) how many different words follow h.
    """
    bigrams: Counter[tuple[str, str]] = Counter()
    for sentence in sentences:
        padded = ["<s>", *sentence, "</s>"]
        bigrams.update(pairwise(padded))
    unigram = _estimate_unigrams(bigrams, [*sorted(vocabulary), "</s>"])
    history, backoff = _estimate_backoffs(bigrams)
    singles = [
        f"{math.log10(p):.4f}\t{word}\t{math.log10(backoff.get(word, 1.0)):.4f}"
        for word, p in {"<s>": 1e-99, **unigram}.items()
    ]
    pairs = [
        f"{math.log10((count - DISCOUNT) / history[h] + backoff[h] * unigram[w]):.4f}\t{h} {w}"
        for (h, w), count in sorted(bigrams.items())
    ]
    head = ["\\data\\", f"ngram 1={len(singles)}", f"ngram 2={len(pairs)}", ""]
    return "\n".join([*head, "\\1-grams:", *singles, "", "\\2-grams:", *pairs, "", "\\end\\", ""])


def _estimate_unigrams(bigrams: Counter[tuple[str, str]], vocabulary: list[str]) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for (_, word), count in bigrams.items():
        counts[word] += count
    total = sum(counts.values()) + len(vocabulary)
    return {word: (counts[word] + 1) / total for word in vocabulary}


def _estimate_backoffs(bigrams: Counter[tuple[str, str]]) -> tuple[Counter[str], dict[str, float]]:
    """Count how often each word has a follower, and estimate the probability left to the unigrams."""
    history: Counter[str] = Counter()
    followers: Counter[str] = Counter()
    for (h, _), count in bigrams.items():
        history[h] += count
        followers[h] += 1
    return history, {h: DISCOUNT * followers[h] / history[h] for h in history}
