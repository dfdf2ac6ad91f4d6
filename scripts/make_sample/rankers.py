"""Eight rankers, from a good one to none at all: each a function from a query to a score per passage."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

from .collection import Passage
from .confusions import FUNCTION_WORDS
from .corpus import create_random

Ranker = Callable[[str], list[float]]
Analyser = Callable[[str], list[str]]


def words(text: str) -> list[str]:
    """Split a text into lower-case words."""
    return re.findall(r"\w+", text.lower())


def stem_words(text: str) -> list[str]:
    """Split a text into content words without common English endings."""
    return [
        re.sub(r"(?:ing|ies|ed|es|s|y|e)$", "", word) or word
        for word in words(text)
        if word not in FUNCTION_WORDS
    ]


class Index:
    """Term counts of the passages, after some analysis of their text."""

    def __init__(self, passages: Sequence[Passage], analyse: Analyser) -> None:
        self.analyse = analyse
        self.counts = [Counter(analyse(passage.text)) for passage in passages]
        self.lengths = [sum(counts.values()) for counts in self.counts]
        self.mean_length = sum(self.lengths) / len(passages)
        self.documents_with = Counter(term for counts in self.counts for term in counts)
        self.collection = sum(self.counts, Counter[str]())

    def idf(self, term: str) -> float:
        """Return the inverse document frequency, never negative, as in Lucene's BM25."""
        having = self.documents_with[term]
        return math.log(1 + (len(self.counts) - having + 0.5) / (having + 0.5))

    def bm25(self, query: str, k1: float = 0.9, b: float = 0.4) -> list[float]:
        """Okapi BM25 (Robertson et al., 1994) with the parameters usual for short texts."""
        terms = self.analyse(query)
        norms = [k1 * (1 - b + b * length / self.mean_length) for length in self.lengths]
        return [
            math.fsum(self.idf(term) * counts[term] / (counts[term] + norm) for term in terms)
            for counts, norm in zip(self.counts, norms)
        ]

    def tfidf(self, query: str) -> list[float]:
        """Cosine of the vectors of (1 + log tf) · idf."""
        wanted = self._vector(Counter(self.analyse(query)))
        return [_cosine(wanted, self._vector(counts)) for counts in self.counts]

    def likelihood(self, query: str, mu: float = 30.0) -> list[float]:
        """Query likelihood with Dirichlet smoothing (Zhai and Lafferty, 2001); unseen terms are left out."""
        total = sum(self.collection.values())
        terms = [term for term in self.analyse(query) if term in self.collection]
        return [
            math.fsum(
                math.log((counts[term] + mu * self.collection[term] / total) / (length + mu))
                for term in terms
            )
            for counts, length in zip(self.counts, self.lengths)
        ]

    def overlap(self, query: str) -> list[float]:
        """Count the different query terms of each passage; there are many ties."""
        return [float(len(set(self.analyse(query)) & set(counts))) for counts in self.counts]

    def _vector(self, counts: Counter[str]) -> dict[str, float]:
        return {term: (1 + math.log(count)) * self.idf(term) for term, count in counts.items()}


def _cosine(a: dict[str, float], b: dict[str, float]) -> float:
    dot = math.fsum(weight * b[term] for term, weight in a.items() if term in b)
    lengths = math.sqrt(math.fsum(w * w for w in a.values()) * math.fsum(w * w for w in b.values()))
    return dot / lengths if lengths else 0.0


def build_rankers(passages: Sequence[Passage]) -> dict[str, Ranker]:
    """Build all rankers by name; `src/metassay/sample/README.md` describes each."""
    plain, stemmed = Index(passages, words), Index(passages, stem_words)

    def score_with_noise(query: str) -> list[float]:
        rng = create_random("shaken", query)
        return [score + rng.gauss(0, 1.5) for score in plain.bm25(query)]

    def score_at_random(query: str) -> list[float]:
        rng = create_random("random", query)
        return [rng.random() for _ in passages]

    return {
        "bm25": plain.bm25,
        "bm25-stemmed": stemmed.bm25,
        "bm25-shaken": score_with_noise,
        "tfidf": plain.tfidf,
        "likelihood": plain.likelihood,
        "overlap": plain.overlap,
        "longest": lambda _: [float(length) for length in plain.lengths],
        "random": score_at_random,
    }
