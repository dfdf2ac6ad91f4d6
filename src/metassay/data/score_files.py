"""Cubes of scores written in the layout of mt-metrics-eval, so that its users can go on with them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from metassay.data.cube import Cube
from metassay.errors import InputError, Place
from metassay.stats.arrays import FloatArray

_WITH_REFERENCE = re.compile(r".+-(src|ref\w*|\w+_ref)")


def write_score_files(table: Cube, folder: str | Path, *, lp: str, reference: str = "refA") -> list[Path]:
    """Write `metric-scores/LP/NAME-REF.{seg,sys}.score`, `human-scores/LP.NAME.{seg,sys}.score`, documents.

    A metric whose name does not say which reference it used gets `-reference`; characters that a file name
    cannot hold become `_`. Missing scores are `None`; a system's score is the mean of those it has.
    Returns the files written; existing ones are refused.
    """
    root = Path(folder)
    contents: dict[Path, str] = {root / "documents" / f"{lp}.docs": _documents(table)}
    for name, scores in table.human.items():
        contents |= _files(root / "human-scores", f"{lp}.{name}", table.systems, scores)
    for name, scores in table.metrics.items():
        full = name if _WITH_REFERENCE.fullmatch(name) else f"{name}-{reference}"
        contents |= _files(root / "metric-scores" / lp, full, table.systems, scores)
    for path in contents:
        if path.exists():
            raise InputError("exists already.", place=Place(str(path)), remedy="Choose an empty folder.")
    for path, text in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(contents)


def _documents(table: Cube) -> str:
    """Domain and document of each segment; a document of its own where the table does not say."""
    count = len(table.segments)
    domains = table.labels.get("domain", ("all",) * count)
    documents = table.labels.get("doc_id", table.segments)
    return "".join(
        f"{domain or 'all'}\t{document or own}\n"
        for domain, document, own in zip(domains, documents, table.segments)
    )


def _files(folder: Path, name: str, systems: tuple[str, ...], scores: FloatArray) -> dict[Path, str]:
    safe = re.sub(r"[^\w.+()=,@-]", "_", name)
    by_segment = [f"{system}\t{_text(score)}\n" for system, row in zip(systems, scores) for score in row]
    by_system = [f"{system}\t{_text(_mean(row))}\n" for system, row in zip(systems, scores)]
    return {
        folder / f"{safe}.seg.score": "".join(by_segment),
        folder / f"{safe}.sys.score": "".join(by_system),
    }


def _mean(scores: FloatArray) -> float:
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if len(known) else np.nan


def _text(score: float) -> str:
    return "None" if np.isnan(score) else repr(float(score))
