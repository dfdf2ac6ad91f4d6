"""Eight summarisers of the corpus: each gives a summary and the errors that are known to be in it."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .channels import MAJOR, MINOR, Noised, confuse, jumble, omit
from .collection import Passage
from .corpus import stream
from .rankers import Index, stems

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
Channel = Callable[[str, float, random.Random], Noised]


def extract(document: Document, chosen: Sequence[int], foreign: str = "") -> Summary:
    """Sentences of the document in this order, and perhaps one that is not from it.

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
    """Two ways to say which sentences stand for their document, by tf-idf over all sentences."""

    def __init__(self, documents: Sequence[Document]) -> None:
        passages = [
            Passage("", document.doc_id, frozenset(), sentence)
            for document in documents
            for sentence in document.sentences
        ]
        self.index = Index(passages, stems)
        self.doc_ids = [passage.doc_id for passage in passages]

    def likeness(self, document: Document, text: str) -> list[float]:
        """Cosine of a text with each sentence of the document."""
        cosines = zip(self.doc_ids, self.index.tfidf(text))
        return [cosine for doc_id, cosine in cosines if doc_id == document.doc_id]

    def centroid(self, document: Document) -> Summary:
        """The sentences most like the document as a whole (Radev et al., 2004)."""
        return self.best(document, self.likeness(document, document.text))

    def graph(self, document: Document) -> Summary:
        """The sentences that are like others which are like others: PageRank over their cosines.

        This is LexRank (Erkan and Radev, 2004) with continuous weights.
        """
        size = len(document.sentences)
        links = [self.likeness(document, sentence) for sentence in document.sentences]
        for place, row in enumerate(links):
            row[place] = 0.0
            total = math.fsum(row)
            links[place] = [weight / total if total else 1 / size for weight in row]
        ranks = [1 / size] * size
        for _ in range(STEPS):
            arriving = [math.fsum(rank * row[i] for rank, row in zip(ranks, links)) for i in range(size)]
            ranks = [(1 - DAMPING) / size + DAMPING * weight for weight in arriving]
        return self.best(document, ranks)

    @staticmethod
    def best(document: Document, scores: Sequence[float]) -> Summary:
        """The sentences of the highest scores, in the order of the document; of equal ones the first."""
        order = sorted(range(len(scores)), key=lambda place: (-round(scores[place], 9), place))
        return extract(document, sorted(order[:LENGTH]))


def summarisers(documents: Sequence[Document]) -> dict[str, Summariser]:
    """All summarisers by name; `src/metassay/sample/README.md` describes each."""
    extractor = Extractor(documents)

    def echo(document: Document) -> Summary:
        first, second = _rng("echo", document).sample(range(len(document.sentences)), LENGTH)
        return extract(document, [first, second, first])

    def stray(document: Document) -> Summary:
        rng = _rng("stray", document)
        other = rng.choice([one for one in documents if one.doc_id != document.doc_id])
        return extract(document, [0], foreign=rng.choice(other.sentences))

    return {
        "lead": lambda document: extract(document, range(LENGTH)),
        "centroid": extractor.centroid,
        "graph": extractor.graph,
        "echo": echo,
        "stray": stray,
        "brief": brief,
        "mixup": mixup,
        "jumble": jumbled,
    }


def brief(document: Document) -> Summary:
    """The abstract with words left out: what is lost is not relevant any more, and every gap reads badly."""
    text, errors = _noised(document, "brief", omit, OMITTED_SPANS_PER_WORD)
    gaps = len(errors)
    return Summary(text, {"relevance": errors, "fluency": (MAJOR,) * gaps, "coherence": (MINOR,) * gaps})


def mixup(document: Document) -> Summary:
    """The abstract with wrong numbers, names and words: fluent, and not what the document says."""
    text, errors = _noised(document, "mixup", confuse, CONFUSED)
    return Summary(text, {"consistency": errors})


def jumbled(document: Document) -> Summary:
    """The abstract in bad word order, which also makes it harder to follow."""
    text, errors = _noised(document, "jumble", jumble, MOVES_PER_WORD)
    return Summary(text, {"fluency": errors, "coherence": (MINOR,) * len(errors)})


def _noised(
    document: Document, system: str, channel: Channel, rates: Mapping[str, float]
) -> tuple[str, tuple[float, ...]]:
    """The abstract, each of its sentences through the channel, and the errors made."""
    rng = _rng(system, document)
    sentences = re.split(r"(?<=[.!?]) ", document.abstract)
    noised = [channel(sentence, rates[document.domain], rng) for sentence in sentences]
    return " ".join(one.text for one in noised), tuple(error for one in noised for error in one.errors)


def _rng(system: str, document: Document) -> random.Random:
    return stream("text", system, document.doc_id)
