"""Runs of every ranker over every query, with judgements that follow from how the collection was built."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path

from .collection import Passage, Query, read_passages, read_queries
from .rankers import build_rankers

DEPTH = 30  # documents kept of each ranking
POOL = 10  # a document among the first so many of any ranker is judged


def build(out: Path) -> None:
    """Write `ranking/`: `runs/*.run.gz`, `qrels.txt`, `topics.tsv`, `documents.tsv`."""
    folder = out / "ranking"
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    passages, queries = read_passages(), read_queries()
    pooled: dict[str, set[str]] = {query.topic: set() for query in queries}
    for name, ranker in build_rankers(passages).items():
        lines: list[str] = []
        for query in queries:
            best = _rank_best(passages, ranker(query.text))
            pooled[query.topic] |= {document for document, _ in best[:POOL]}
            lines += _format_run(query, best, name)
        (folder / "runs" / f"{name}.run.gz").write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    (folder / "qrels.txt").write_text("".join(_format_qrels(queries, passages, pooled)), encoding="utf-8")
    topics = [(query.topic, query.domain, query.kind, query.text) for query in queries]
    _write_tsv(folder / "topics.tsv", ("topic", "domain", "kind", "text"), topics)
    _write_tsv(folder / "documents.tsv", ("docid", "text"), [(p.name, p.text) for p in passages])


def _rank_best(passages: Sequence[Passage], scores: Sequence[float]) -> list[tuple[str, float]]:
    """Return the first documents as trec_eval orders them: by score, then by name, both descending."""
    scored = [(passage.name, round(score, 4)) for passage, score in zip(passages, scores)]
    return sorted(scored, key=lambda pair: (pair[1], pair[0]), reverse=True)[:DEPTH]


def _format_run(query: Query, best: Sequence[tuple[str, float]], tag: str) -> list[str]:
    ranked = enumerate(best, start=1)
    return [f"{query.topic} Q0 {document} {rank} {score:.4f} {tag}\n" for rank, (document, score) in ranked]


def _format_qrels(
    queries: Sequence[Query], passages: Sequence[Passage], pooled: dict[str, set[str]]
) -> Iterable[str]:
    """Format the grades of all relevant passages, and of pooled ones that are not relevant."""
    for query in queries:
        for passage in passages:
            grade = query.grade(passage)
            if grade or passage.name in pooled[query.topic]:
                yield f"{query.topic} 0 {passage.name} {grade}\n"


def _write_tsv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
