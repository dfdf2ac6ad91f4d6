"""Summaries of the corpus by eight systems, with two references and simulated scores for four criteria."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from statistics import fmean

import pyarrow as pa
import pyarrow.parquet as pq

from .channels import MAJOR
from .corpus import CORPUS, create_random, read_corpus
from .raters import RATERS, Rater, rate
from .summarisers import Document, Summary, build_summarisers

CRITERIA = ("coherence", "consistency", "fluency", "relevance")
WORST, BEST = 1, 5
MOOD = 0.4  # standard deviation of what a rater gives beside the errors, in points


def build(out: Path) -> None:
    """Write `text.parquet`."""
    documents = read_documents()
    systems = sorted(build_summarisers(documents).items())
    rows = [
        _build_row(document, name, system(document)) for document in documents for name, system in systems
    ]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, out / "text.parquet", compression="zstd", compression_level=19)


def read_documents() -> list[Document]:
    """Read the documents of the corpus, with their summaries in `corpus/summaries.txt`.

    That file is a list of documents, each a line `# doc_id`, the numbers (from 1) of the two sentences that
    carry most, the abstract that is the reference, and the one that systems start from.
    """
    written: dict[str, list[str]] = {}
    for document in (CORPUS / "summaries.txt").read_text(encoding="utf-8").split("# ")[1:]:
        doc_id, *lines = document.strip().split("\n")
        written[doc_id] = lines
    documents: list[Document] = []
    for doc_id, group in groupby(read_corpus(), key=lambda segment: segment.doc_id):
        segments = list(group)
        keys, reference, abstract = written[doc_id]
        documents.append(
            Document(
                doc_id,
                segments[0].domain,
                tuple(segment.reference for segment in segments),
                tuple(segment.second for segment in segments),
                tuple(int(number) - 1 for number in keys.split()),
                reference,
                abstract,
            )
        )
    return documents


def _build_row(document: Document, system: str, summary: Summary) -> dict[str, object]:
    scores = {name: _average_ratings(document, summary, name) for name in CRITERIA}
    return {
        "id": document.doc_id,
        "domain": document.domain,
        "system": system,
        "document": document.text,
        "output": summary.text,
        "ref1": document.reference,
        "ref2": " ".join(document.seconds[key] for key in document.keys),
        **scores,
        "human_kind": "simulated",
    }


def _average_ratings(document: Document, summary: Summary, criterion: str) -> float:
    """Return the mean rating of a summary. Equal summaries of a document get equal scores."""
    errors = summary.errors.get(criterion, ())
    return round(fmean(_rate_summary(errors, rater, document, summary, criterion) for rater in RATERS), 2)


def _rate_summary(
    errors: tuple[float, ...], rater: Rater, document: Document, summary: Summary, criterion: str
) -> int:
    """Rate a summary: 5, less a point for every reported major error and a fifth for every minor one."""
    rng = create_random("text", criterion, rater.name, document.doc_id, summary.text)
    points = BEST + rate(errors, rater, rng) / MAJOR + rng.gauss(0, MOOD)
    return max(WORST, min(BEST, round(points)))
