"""Eight summarisers of the corpus: each returns a summary and the errors that are known to be in it."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .channels import MAJOR, MINOR, NoisyText, confuse, jumble, omit
from .collection import Passage
from .corpus import create_random
from .rankers import Index, stem_words

LENGTH = 2  # sentences of an extract
DAMPING = 0.85
STEPS = 100  # of the power method: the smallest weight that is left is 0.85¹⁰⁰ < 10⁻⁷

# How hard each channel hits each domain: the profiles differ on purpose, so that contexts matter.
OMITTED_SPANS_PER_WORD = {"news": 0.08, "howto": 0.05, "conversation": 0.02}
CONFUSED = {"howto": 0.55, "news": 0.35, "conversation": 0.25}
MOVES_PER_WORD = {"conversation": 0.20, "news": 0.10, "howto": 0.06}


@dataclass(frozen=True)
class Document:
    """Six sentences, two abstracts of them, and the places (from 0) of the two sentences that carry most."""

    doc_id: str
    domain: str
    sentences: tuple[str, ...]
    seconds: tuple[str, ...]
    keys: tuple[int, ...]
    reference: str
    abstract: str

    @property
    def text(self) -> str:
        """The whole document."""
        return " ".join(self.sentences)


@dataclass(frozen=True)
class Summary:
    """A summary and, by criterion, the weight of every error that is known to be in it."""

    text: str
    errors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


Summariser = Callable[[Document], Summary]
Channel = Callable[[str, float, random.Random], NoisyText]


def extract(document: Document, chosen: Sequence[int], foreign: str = "") -> Summary:
    """Build a summary of sentences of the document in this order, and perhaps one that is not from it.

    Coherence: a minor error for each sentence left out in between, a major one for stepping back, two for
    saying a sentence again and for a foreign one. Relevance: two major errors for each key sentence that is
    not there, one for a foreign sentence. Consistency: three major errors for a foreign sentence.
    """
    coherence: list[float] = []
    for place, (before, here) in enumerate(pairwise(chosen), start=1):
        if here in chosen[:place]:
            coherence += [MAJOR, MAJOR]
        else:
            coherence += [MAJOR] if here < before else [MINOR] * (here - before - 1)
    missing = sum(key not in chosen for key in document.keys)
    borrowed = [MAJOR] if foreign else []
    errors = {
        "coherence": (*coherence, *borrowed * 2),
        "consistency": (*borrowed * 3,),
        "relevance": (*[MAJOR] * (2 * missing), *borrowed),
    }
    return Summary(
        " ".join([*(document.sentences[i] for i in chosen), *([foreign] if foreign else [])]), errors
    )


class Extractor:
    """Selects sentences of a document by their tf-idf vectors, in two ways."""

    def __init__(self, documents: Sequence[Document]) -> None:
        passages = [
            Passage("", document.doc_id, frozenset(), sentence)
            for document in documents
            for sentence in document.sentences
        ]
        self.index = Index(passages, stem_words)
        self.doc_ids = [passage.doc_id for passage in passages]

    def cosines(self, document: Document, text: str) -> list[float]:
        """Return the cosine of a text with each sentence of the document."""
        cosines = zip(self.doc_ids, self.index.tfidf(text))
        return [cosine for doc_id, cosine in cosines if doc_id == document.doc_id]

    def select_by_centroid(self, document: Document) -> Summary:
        """Select the sentences that are most similar to the whole document (Radev et al., 2004)."""
        return self.select_best(document, self.cosines(document, document.text))

    def select_by_graph(self, document: Document) -> Summary:
        """Select the most central sentences: PageRank over their cosines.

        This is LexRank (Erkan and Radev, 2004) with continuous weights.
        """
        size = len(document.sentences)
        links = [self.cosines(document, sentence) for sentence in document.sentences]
        for place, row in enumerate(links):
            row[place] = 0.0
            total = math.fsum(row)
            links[place] = [weight / total if total else 1 / size for weight in row]
        ranks = [1 / size] * size
        for _ in range(STEPS):
            arriving = [math.fsum(rank * row[i] for rank, row in zip(ranks, links)) for i in range(size)]
            ranks = [(1 - DAMPING) / size + DAMPING * weight for weight in arriving]
        return self.select_best(document, ranks)

    @staticmethod
    def select_best(document: Document, scores: Sequence[float]) -> Summary:
        """Select the sentences with the highest scores, in the order of the document."""
        order = sorted(range(len(scores)), key=lambda place: (-round(scores[place], 9), place))
        return extract(document, sorted(order[:LENGTH]))


def build_summarisers(documents: Sequence[Document]) -> dict[str, Summariser]:
    """Build all summarisers by name; `src/metassay/sample/README.md` describes each."""
    extractor = Extractor(documents)

    def repeat_sentence(document: Document) -> Summary:
        first, second = _create_random("echo", document).sample(range(len(document.sentences)), LENGTH)
        return extract(document, [first, second, first])

    def add_foreign_sentence(document: Document) -> Summary:
        rng = _create_random("stray", document)
        other = rng.choice([one for one in documents if one.doc_id != document.doc_id])
        return extract(document, [0], foreign=rng.choice(other.sentences))

    return {
        "lead": lambda document: extract(document, range(LENGTH)),
        "centroid": extractor.select_by_centroid,
        "graph": extractor.select_by_graph,
        "echo": repeat_sentence,
        "stray": add_foreign_sentence,
        "brief": write_brief,
        "mixup": write_mixup,
        "jumble": write_jumbled,
    }


def write_brief(document: Document) -> Summary:
    """Leave words out of the abstract: content is lost, and every gap reads badly."""
    text, errors = _apply_channel(document, "brief", omit, OMITTED_SPANS_PER_WORD)
    gaps = len(errors)
    return Summary(text, {"relevance": errors, "fluency": (MAJOR,) * gaps, "coherence": (MINOR,) * gaps})


def write_mixup(document: Document) -> Summary:
    """Put wrong numbers, names and words into the abstract: fluent, but not what the document says."""
    text, errors = _apply_channel(document, "mixup", confuse, CONFUSED)
    return Summary(text, {"consistency": errors})


def write_jumbled(document: Document) -> Summary:
    """Change the word order of the abstract, which also makes it harder to follow."""
    text, errors = _apply_channel(document, "jumble", jumble, MOVES_PER_WORD)
    return Summary(text, {"fluency": errors, "coherence": (MINOR,) * len(errors)})


def _apply_channel(
    document: Document, system: str, channel: Channel, rates: Mapping[str, float]
) -> tuple[str, tuple[float, ...]]:
    """Pass each sentence of the abstract through a noise channel; returns the text and its errors."""
    rng = _create_random(system, document)
    sentences = re.split(r"(?<=[.!?]) ", document.abstract)
    noised = [channel(sentence, rates[document.domain], rng) for sentence in sentences]
    return " ".join(one.text for one in noised), tuple(error for one in noised for error in one.errors)


def _create_random(system: str, document: Document) -> random.Random:
    return create_random("text", system, document.doc_id)
