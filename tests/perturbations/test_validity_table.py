"""The table of pairs that were read: whole, about methods that exist, and what the page says of it."""

from collections import Counter
from pathlib import Path

import pytest

from metassay.perturbations.registry import known_perturbations
from metassay.text.word_lists import WordLists

ROWS = WordLists("metassay.perturbations", "languages").rows("validity", 6)
PAGE = Path(__file__).parents[2] / "docs" / "perturbations.md"


def test_every_row_is_a_pair_of_a_known_method_with_a_verdict() -> None:
    for method, language, _, text, copy, verdict in ROWS:
        known = known_perturbations()[method].languages
        assert known is None or language in known
        assert text != copy
        assert verdict in {"worse", "equal", "better", "ungrammatical"}


@pytest.mark.parametrize(("method", "language"), sorted({(row[0], row[1]) for row in ROWS}))
def test_the_page_counts_what_the_table_holds(method: str, language: str) -> None:
    verdicts = Counter(row[5] for row in ROWS if (row[0], row[1]) == (method, language))
    worse = verdicts["worse"] + verdicts["ungrammatical"]
    line = f"| `{method}` | {language} | {worse} of {verdicts.total()} | {verdicts['ungrammatical']} |"
    assert line in PAGE.read_text(encoding="utf-8")
