"""Aggregation if references are passed to sacrebleu transposed.

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


def measure_transposed(
    tables: Mapping[str, pl.DataFrame], systems: Sequence[tuple[str, str]], seeds: Sequence[int]
) -> dict[str, Any]:
    """Measure what the paper reports with transposed references; `systems` are (language pair, system).

    `downsampled` has figure 5 with each seed.
    """
    outputs = [tables[pair].filter(system=system).sort("seg_id") for pair, system in systems]
    caches = {pair: _build_scorer(table["ref"].to_list()) for (pair, _), table in zip(systems, outputs)}
    segment_scores = [
        np.array([sentence_bleu(h, [r]).score for h, r in _list_rows(table)]) for table in outputs
    ]
    first_scores = [
        _score_as_first_segment(table, caches[pair]) for (pair, _), table in zip(systems, outputs)
    ]
    scores = {
        "bleu": np.array([values[0] for values in first_scores]),
        "x-bleu": np.array([values.mean() for values in first_scores]),
        "m-bleu": np.array([values.mean() for values in segment_scores]),
        "chrf": np.array([_score_first_chrf(table) for table in outputs]),
        "m-chrf": np.array(
            [np.mean([sentence_chrf(h, [r]).score for h, r in _list_rows(table)]) for table in outputs]
        ),
    }
    pairs = [pair for pair, _ in systems]
    return {
        "means": {name: float(values.mean()) / 100 for name, values in scores.items()},
        "between": {f"{x} {y}": _pearson(scores[x], scores[y]) for x, y in _COMPARED},
        "mqm": _correlate_with_human(scores, pairs, outputs, "mqm"),
        "da_sqm": _correlate_with_human(scores, pairs, outputs, "da_sqm"),
        "downsampled": [
            _downsample(pairs, outputs, segment_scores, scores["x-bleu"], seed) for seed in seeds
        ],
    }


_COMPARED = (
    ("bleu", "x-bleu"),
    ("bleu", "m-bleu"),
    ("m-bleu", "x-bleu"),
    ("chrf", "m-chrf"),
    ("bleu", "chrf"),
)


def _build_scorer(references: Sequence[str]) -> BLEU:
    """Return a scorer that takes all references for those of a single segment."""
    return BLEU(references=[[text] for text in references])


def _score_as_first_segment(table: pl.DataFrame, scorer: BLEU) -> Floats:
    """Return the score of each output as if it were the first segment."""
    return np.array([scorer.corpus_score([text], None).score for text in table["hyp"]])


def _score_first_chrf(table: pl.DataFrame) -> float:
    return float(corpus_chrf(table["hyp"].to_list(), [[text] for text in table["ref"]]).score)


def _list_rows(table: pl.DataFrame) -> list[tuple[str, str]]:
    return list(table.select("hyp", "ref").iter_rows())


def _pearson(x: Floats, y: Floats) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def _correlate_with_human(
    scores: Mapping[str, Floats], pairs: Sequence[str], outputs: Sequence[pl.DataFrame], human: str
) -> dict[str, float]:
    """Correlate with a human score; mean over the language pairs that have it."""
    means = [table[human].mean() for table in outputs]
    correlations = {}
    for name, values in scores.items():
        by_pair = []
        for pair in sorted(set(pairs)):
            rows = [n for n, p in enumerate(pairs) if p == pair and means[n] is not None]
            if rows:
                by_pair.append(_pearson(values[rows], np.array([means[n] for n in rows], dtype=float)))
        correlations[name] = float(np.mean(by_pair))
    return correlations


def _downsample(
    pairs: Sequence[str],
    outputs: Sequence[pl.DataFrame],
    segment_scores: Sequence[Floats],
    bootstrap: Floats,
    seed: int,
) -> list[dict[str, Any]]:
    """Return figure 5 of BLEU: medians over draws of segments."""
    rng = np.random.default_rng(seed)
    rows = []
    for size in (1, 10, 100):
        values = np.empty((DRAWS, 3))
        for draw in range(DRAWS):
            chosen = {
                pair: rng.permutation(_count_segments(pair, pairs, outputs))[:size]
                for pair in sorted(set(pairs))
            }
            scorers = {
                pair: _build_scorer(_select_references(pair, pairs, outputs, chosen[pair])) for pair in chosen
            }
            corpus = np.array(
                [
                    scorers[pair].corpus_score([table["hyp"][int(chosen[pair][0])]], None).score
                    for pair, table in zip(pairs, outputs)
                ]
            )
            segment = np.array([scores[chosen[pair]].mean() for pair, scores in zip(pairs, segment_scores)])
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


def _count_segments(pair: str, pairs: Sequence[str], outputs: Sequence[pl.DataFrame]) -> int:
    return outputs[pairs.index(pair)].height


def _select_references(
    pair: str, pairs: Sequence[str], outputs: Sequence[pl.DataFrame], chosen: NDArray[np.int64]
) -> list[str]:
    texts = outputs[pairs.index(pair)]["ref"].to_list()
    return [texts[n] for n in chosen]
