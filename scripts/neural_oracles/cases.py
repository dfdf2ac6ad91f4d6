"""500 cases for the original libraries: real translations, and texts that break tokenizers."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow.parquet as pq

FILES = ("wmt23/wmt23_en-de", "wmt23/wmt23_he-en", "wmt23/wmt23_zh-en", "wmt22/wmt22_en-ru")
ENGLISH = ("wmt22/wmt22_zh-en", "wmt23/wmt23_zh-en")
ODD = (
    "",
    " ",
    "a  double   space",
    " leading and trailing ",
    "literal </s> and <s> inside",
    "a <pad> in the <pad> middle",
    "<mask> <unk> <pad>",
    "[CLS] and [SEP] and [MASK] and [PAD]",
    "emoji 🙂👩‍👩‍👧 and flags 🇩🇪",
    "ｆｕｌｌ－ｗｉｄｔｈ ｔｅｘｔ １２３",
    "line\nbreak\tand tab",
    "zero\u200bwidth and nbsp\u00a0here",
    "שלום עולם",
    "…—“quotes”‘’",
)


def add_context(texts: list[str]) -> list[str]:
    """Put each text's predecessor and a separator before it, as COMET expects the context of a document.

    Every third text stays without context.
    """
    with_context = []
    for number, text in enumerate(texts):
        has_context = number % 3 > 0
        with_context.append(f"{texts[number - 1]} </s> {text}" if has_context else text)
    return with_context


def draw_cases(
    data: Path, count: int = 500, *, files: tuple[str, ...] = FILES, seed: int = 0
) -> list[dict[str, str]]:
    """Draw cases (`src`, `mt`, `ref`); a tenth have odd texts, some are longer than 512 tokens."""
    rng = random.Random(seed)
    cases: list[dict[str, str]] = []
    for name in files:
        rows = pq.read_table(data / f"{name}.parquet", columns=["src", "hyp", "ref"]).to_pylist()
        rows = [{"src": row["src"], "mt": row["hyp"] or "", "ref": row["ref"]} for row in rows if row["ref"]]
        cases += rng.sample(rows, count // len(files))
    for number, odd in enumerate(ODD):
        for part in ("src", "mt", "ref"):
            cases[number * 7 + len(part)] = {**cases[number], part: odd}
    for part, position in (("src", 151), ("mt", 152), ("ref", 153)):
        cases[position] = {**cases[position], part: " ".join([cases[position][part]] * 30)}
    cases[154] = {key: " ".join([text] * 40) for key, text in cases[154].items()}
    cases[155] = {key: (text + " ") * 5 for key, text in cases[155].items()}
    return cases
