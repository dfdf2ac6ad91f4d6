"""The Spanish-English corpus, written for this project: three domains, two translations each."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
DOMAINS = ("conversation", "howto", "news")
SEED = "metassay sample 1"


@dataclass(frozen=True)
class Segment:
    """One sentence (or turn): the source, its reference, and a second, freer translation."""

    seg_id: int
    doc_id: str
    domain: str
    source: str
    reference: str
    second: str


def read_corpus() -> list[Segment]:
    """Read all segments, numbered from 1 over the domains in alphabetical order.

    A corpus file is a list of documents, each a line `# doc_id` and then blocks of three lines:
    source, reference, second translation.
    """
    segments: list[Segment] = []
    for domain in DOMAINS:
        for document in (CORPUS / f"{domain}.txt").read_text(encoding="utf-8").split("# ")[1:]:
            doc_id, body = document.split("\n", 1)
            for block in body.strip().split("\n\n"):
                source, reference, second = block.split("\n")
                segments.append(Segment(len(segments) + 1, doc_id, domain, source, reference, second))
    return segments


def create_random(*key: object) -> random.Random:
    """Create a random generator for a key, so that the noise of one system does not depend on another's."""
    digest = hashlib.sha256("/".join([SEED, *map(str, key)]).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))
