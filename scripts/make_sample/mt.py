"""Seven translators of the corpus, with simulated MQM scores."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from . import apertium
from .channels import NoisyText, confuse, find_errors, jumble, omit, post_edit, slip
from .corpus import Segment, create_random, read_corpus
from .raters import RATERS, rate

# How hard each channel hits each domain: the profiles differ on purpose, so that contexts matter.
CORRECTED = {"news": 0.75, "howto": 0.60, "conversation": 0.40}
OMITTED_SPANS_PER_WORD = {"news": 0.14, "howto": 0.09, "conversation": 0.05}
CONFUSED = {"howto": 0.75, "news": 0.45, "conversation": 0.35}
MOVES_PER_WORD = {"conversation": 0.22, "news": 0.12, "howto": 0.07}
SLIPS = {"news": 0.25, "howto": 0.15, "conversation": 0.10}


def build(out: Path) -> None:
    """Write `mt.parquet`."""
    segments = read_corpus()
    sources = [segment.source for segment in segments]
    engine, glossed = apertium.translate(sources), apertium.gloss(sources)
    rows = [
        row
        for segment, full, words in zip(segments, engine, glossed)
        for row in _build_rows(segment, full, words)
    ]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, out / "mt.parquet", compression="zstd", compression_level=19)


def _build_rows(segment: Segment, engine: str, glossed: str) -> list[dict[str, object]]:
    rater = create_random("rater", segment.doc_id).choice(RATERS)  # one rater per document, as WMT does
    outputs = sorted(_build_outputs(segment, engine, glossed).items())
    rows: list[dict[str, object]] = []
    for system, output in outputs:
        # Two channels may end in the same words by different ways: the shortest way counts for both.
        errors = min((other.errors for _, other in outputs if other.text == output.text), key=sum)
        mqm = rate(errors, rater, create_random("mqm", segment.seg_id, output.text))
        rows.append(
            {
                "lp": "es-en",
                "domain": segment.domain,
                "doc_id": segment.doc_id,
                "seg_id": segment.seg_id,
                "system": system,
                "src": segment.source,
                "ref": segment.reference,
                "hyp": output.text,
                "mqm": mqm,
                "rater": rater.name,
                "human_kind": "simulated",
            }
        )
    return rows


def _build_outputs(segment: Segment, engine: str, glossed: str) -> dict[str, NoisyText]:
    """Build the output of every system for a segment; `src/metassay/sample/README.md` describes each."""
    domain, accepted = segment.domain, (segment.reference, segment.second)

    def rng(system: str) -> random.Random:
        return create_random("mt", system, segment.seg_id)

    def choose_translation(system: str) -> str:
        """Choose one of the two translations, so that no system always starts from the reference."""
        return create_random("base", system, segment.seg_id).choice(accepted)

    return {
        "apertium": NoisyText(apertium.plain(engine), find_errors(engine, accepted)),
        "gloss": NoisyText(apertium.plain(glossed), find_errors(glossed, accepted)),
        "postedit": post_edit(apertium.plain(engine), segment.reference, CORRECTED[domain], rng("postedit")),
        "second": slip(segment.second, SLIPS[domain], rng("second")),
        "brief": omit(choose_translation("brief"), OMITTED_SPANS_PER_WORD[domain], rng("brief")),
        "mixup": confuse(choose_translation("mixup"), CONFUSED[domain], rng("mixup")),
        "jumble": jumble(choose_translation("jumble"), MOVES_PER_WORD[domain], rng("jumble")),
    }
