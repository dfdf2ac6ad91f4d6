"""Compare perturbed outputs with their originals by human scores, where another system wrote the same text.

    python -m scripts.validity.human_evidence FOLDER      a folder with wmt21, wmt22 and wmt23

Some perturbed outputs are identical to an output of another system for the same item. If people rated both
systems, there are human scores of the original and of the perturbed output. Writes the counts to
`benchmarks/validity_by_human_scores.tsv`, and `docs/validity.md`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scripts.validity.readings import HUMAN_COUNTS, VERDICTS, write_rows
from scripts.validity.tally import write_pages

from metassay.perturbations.base import View
from metassay.perturbations.registry import parse_perturbation

DATA_SETS = (
    *("wmt21_en-de", "wmt21_zh-en", "wmt22_en-de", "wmt22_zh-en", "wmt22_en-ru"),
    *("wmt23_en-de", "wmt23_he-en", "wmt23_zh-en"),
)
PERTURBATIONS = ("removal", "synonym")
DRAWS = 50
"""How often every output is perturbed, each time with other random numbers."""


@dataclass(frozen=True)
class RatedText:
    """A text that one or several systems wrote for an item, with the mean of its human scores."""

    item: int
    text: str
    score: float
    others: Mapping[str, float]
    """Human scores of the other texts of the item."""


@dataclass(frozen=True)
class VerdictCounts:
    """How many perturbed outputs people rated worse than, equal to or better than the originals."""

    of_one_draw: Mapping[str, float]
    """Counts if every output is perturbed once: the mean over all draws."""
    of_all_draws: Mapping[str, int]
    """Counts of the different perturbed outputs of all draws."""


def main() -> None:
    rows = []
    for name in DATA_SETS:
        path = Path(sys.argv[1]) / name[:5] / f"{name}.parquet"
        texts = list(list_rated_texts(pl.read_parquet(path)))
        for perturbation in PERTURBATIONS:
            verdicts = count_verdicts(texts, perturbation, language=name[-2:])
            for draws, counts in ((1, verdicts.of_one_draw), (DRAWS, verdicts.of_all_draws)):
                rows.append(
                    {"data_set": name, "perturbation": perturbation, "draws": str(draws)}
                    | {verdict: f"{counts[verdict]:g}" for verdict in VERDICTS}
                )
                print(rows[-1], flush=True)
    write_rows(HUMAN_COUNTS, rows, ("data_set", "perturbation", "draws", *VERDICTS))
    write_pages()


def list_rated_texts(table: pl.DataFrame) -> Iterator[RatedText]:
    """Yield every distinct rated text of every item."""
    rated = table.filter(pl.col("mqm").is_not_null() & pl.col("hyp").is_not_null())
    means = rated.group_by("seg_id", "hyp").agg(pl.col("mqm").mean()).sort("seg_id", "hyp")
    for (item,), rows in means.group_by(["seg_id"], maintain_order=True):
        scores = dict(rows.select("hyp", "mqm").iter_rows())
        for text, score in scores.items():
            others = {other: value for other, value in scores.items() if other != text}
            yield RatedText(int(str(item)), text, score, others)


def count_verdicts(texts: list[RatedText], perturbation: str, language: str) -> VerdictCounts:
    """Perturb the texts, and compare the human scores of those results that another system wrote."""
    method = parse_perturbation(perturbation)
    verdicts: Counter[str] = Counter()
    verdicts_of_pairs: dict[tuple[int, str], str] = {}
    if method.languages is None or language in method.languages:
        candidates = [
            text for text in texts if any(_differs_by_one_word(text.text, other) for other in text.others)
        ]
        views = [View(text.text, str(text.item), language) for text in candidates]
        rng = np.random.default_rng(0)
        for _ in range(DRAWS):
            keys = rng.integers(0, 2**63, len(views), dtype=np.uint64)
            for number, perturbed in enumerate(method.perturb_many_outputs(views, keys)):
                original = candidates[number]
                if perturbed is not None and perturbed in original.others:
                    verdict = _compare(original.others[perturbed], original.score)
                    verdicts[verdict] += 1
                    verdicts_of_pairs[number, perturbed] = verdict
    return VerdictCounts(
        {verdict: verdicts[verdict] / DRAWS for verdict in VERDICTS},
        Counter(verdicts_of_pairs.values()),
    )


def _differs_by_one_word(text: str, other: str) -> bool:
    """Whether the words of two texts are equal but for one that is missing in `other` or replaced."""
    words = text.split()
    other_words = other.split()
    if len(other_words) not in (len(words), len(words) - 1):
        return False
    start = 0
    while start < len(other_words) and words[start] == other_words[start]:
        start += 1
    rest = len(words) - start - 1
    return rest >= 0 and words[len(words) - rest :] == other_words[len(other_words) - rest :]


def _compare(perturbed_score: float, score: float) -> str:
    if perturbed_score == score:
        return "equal"
    return "worse" if perturbed_score < score else "better"


if __name__ == "__main__":
    main()
