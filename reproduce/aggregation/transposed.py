"""What becomes of aggregation when references reach sacrebleu transposed.

Its corpus functions take one list per reference *stream* (`[refs]`). Given one list per *segment*
(`[[r] for r in refs]`), they score the first segment alone, against all references, and say nothing. So a
corpus score is that of one segment; a bootstrap score, the mean over resamples, is the mean over segments of
such scores, that is nearly the mean of segment scores; and neither changes with the size of the test set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sacrebleu import BLEU, corpus_chrf, sentence_bleu, sentence_chrf

Floats = NDArray[np.float64]
DRAWS = 200


def transposed(tables: Mapping[str, pl.DataFrame], systems: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Everything that the paper reports, from transposed references; `systems` are (pair, system)."""
    parts = [tables[pair].filter(system=system).sort("seg_id") for pair, system in systems]
    caches = {pair: _streams(part["ref"].to_list()) for (pair, _), part in zip(systems, parts)}
    own = [np.array([sentence_bleu(h, [r]).score for h, r in _rows(part)]) for part in parts]
    best = [_all(part, caches[pair]) for (pair, _), part in zip(systems, parts)]
    scores = {
        "bleu": np.array([values[0] for values in best]),
        "x-bleu": np.array([values.mean() for values in best]),
        "m-bleu": np.array([values.mean() for values in own]),
        "chrf": np.array([_first_chrf(part) for part in parts]),
        "m-chrf": np.array(
            [np.mean([sentence_chrf(h, [r]).score for h, r in _rows(part)]) for part in parts]
        ),
    }
    pairs = [pair for pair, _ in systems]
    return {
        "means": {name: float(values.mean()) / 100 for name, values in scores.items()},
        "between": {f"{x} {y}": _pearson(scores[x], scores[y]) for x, y in _COMPARED},
        "mqm": _with_people(scores, pairs, parts, "mqm"),
        "da_sqm": _with_people(scores, pairs, parts, "da_sqm"),
        "downsampled": _downsampled(pairs, parts, own, scores["x-bleu"]),
    }


_COMPARED = (
    ("bleu", "x-bleu"),
    ("bleu", "m-bleu"),
    ("m-bleu", "x-bleu"),
    ("chrf", "m-chrf"),
    ("bleu", "chrf"),
)


def _streams(references: Sequence[str]) -> BLEU:
    """A scorer that holds all references as those of a single segment."""
    return BLEU(references=[[text] for text in references])


def _all(part: pl.DataFrame, scorer: BLEU) -> Floats:
    """Of each output, its score as if it were the first segment."""
    return np.array([scorer.corpus_score([text], None).score for text in part["hyp"]])


def _first_chrf(part: pl.DataFrame) -> float:
    return float(corpus_chrf(part["hyp"].to_list(), [[text] for text in part["ref"]]).score)


def _rows(part: pl.DataFrame) -> list[tuple[str, str]]:
    return list(part.select("hyp", "ref").iter_rows())


def _pearson(x: Floats, y: Floats) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def _with_people(
    scores: Mapping[str, Floats], pairs: Sequence[str], parts: Sequence[pl.DataFrame], human: str
) -> dict[str, float]:
    """Mean over language pairs that have the human score of the correlation with it."""
    means = [part[human].mean() for part in parts]
    found = {}
    for name, values in scores.items():
        own = []
        for pair in sorted(set(pairs)):
            rows = [n for n, p in enumerate(pairs) if p == pair and means[n] is not None]
            if rows:
                own.append(_pearson(values[rows], np.array([means[n] for n in rows], dtype=float)))
        found[name] = float(np.mean(own))
    return found


def _downsampled(
    pairs: Sequence[str], parts: Sequence[pl.DataFrame], own: Sequence[Floats], bootstrap: Floats
) -> list[dict[str, Any]]:
    """Figure 5 of BLEU: medians over draws of segments."""
    rng = np.random.default_rng(0)
    rows = []
    for size in (1, 10, 100):
        values = np.empty((DRAWS, 3))
        for draw in range(DRAWS):
            chosen = {
                pair: rng.permutation(_length(pair, pairs, parts))[:size] for pair in sorted(set(pairs))
            }
            streams = {pair: _streams(_references(pair, pairs, parts, chosen[pair])) for pair in chosen}
            corpus = np.array(
                [
                    streams[pair].corpus_score([part["hyp"][int(chosen[pair][0])]], None).score
                    for pair, part in zip(pairs, parts)
                ]
            )
            segment = np.array([scores[chosen[pair]].mean() for pair, scores in zip(pairs, own)])
            values[draw] = (
                _pearson(corpus, segment),
                _pearson(corpus, bootstrap),
                _pearson(segment, bootstrap),
            )
        middle = np.nanmedian(values, axis=0)
        for (scores_of, against), median in zip(_KINDS, middle):
            rows.append(
                {"metric": "bleu", "aggregation": scores_of, "against": against, "segments": size}
                | {"median": float(median)}
            )
    return rows


_KINDS = (("corpus", "segment"), ("corpus", "bootstrap"), ("segment", "bootstrap"))


def _length(pair: str, pairs: Sequence[str], parts: Sequence[pl.DataFrame]) -> int:
    return parts[pairs.index(pair)].height


def _references(
    pair: str, pairs: Sequence[str], parts: Sequence[pl.DataFrame], chosen: NDArray[np.int64]
) -> list[str]:
    texts = parts[pairs.index(pair)]["ref"].to_list()
    return [texts[n] for n in chosen]
