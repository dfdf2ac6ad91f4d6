"""The documents and queries of the ranking sample, and which document answers which query."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from .corpus import Segment, read_corpus

QUERIES = Path(__file__).parent / "queries.txt"
PER_PASSAGE = 2
ANSWERS, SAME_DOCUMENT = 2, 1


@dataclass(frozen=True)
class Passage:
    """Two neighbouring sentences of a document, in its first or its second translation."""

    name: str
    doc_id: str
    segments: frozenset[int]
    text: str


@dataclass(frozen=True)
class Query:
    """A query and the sentences (numbered from 1 in their document) that answer it."""

    topic: str
    text: str
    kind: str
    domain: str
    doc_id: str
    segments: frozenset[int]

    def grade(self, passage: Passage) -> int:
        """Return the relevance: 2 with a sentence that answers, 1 from the same document, else 0."""
        if passage.doc_id != self.doc_id:
            return 0
        return ANSWERS if passage.segments & self.segments else SAME_DOCUMENT


def read_passages() -> list[Passage]:
    """Read all passages: three of each document in each translation, named like `news-01-a1`."""
    passages: list[Passage] = []
    for doc_id, group in groupby(read_corpus(), key=lambda segment: segment.doc_id):
        sentences = list(group)
        for start in range(0, len(sentences), PER_PASSAGE):
            passages += _build_passages(doc_id, start, sentences[start : start + PER_PASSAGE])
    return passages


def _build_passages(doc_id: str, start: int, sentences: list[Segment]) -> list[Passage]:
    name = f"{doc_id}-{'abc'[start // PER_PASSAGE]}"
    numbers = frozenset(range(start + 1, start + 1 + len(sentences)))
    texts = [sentence.reference for sentence in sentences], [sentence.second for sentence in sentences]
    return [Passage(f"{name}{n}", doc_id, numbers, " ".join(text)) for n, text in enumerate(texts, start=1)]


def read_queries() -> list[Query]:
    """Read the queries, numbered from 1 in the order of the file."""
    domains = {segment.doc_id: segment.domain for segment in read_corpus()}
    lines = [line for line in QUERIES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    queries: list[Query] = []
    for topic, line in enumerate(lines, start=1):
        doc_id, segments, kind, text = line.split("\t")
        answers = frozenset(map(int, segments.split()))
        queries.append(Query(str(topic), text, kind, domains[doc_id], doc_id, answers))
    return queries
