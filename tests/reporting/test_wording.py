from __future__ import annotations

import pytest

from metassay.cli.printing import format_table_cell
from metassay.reporting.wording import (
    format_count,
    format_number,
    format_p_value,
    format_percent,
    format_percent_interval,
    format_plural,
    format_sentence,
    join_phrases,
    list_names,
)


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.914, 0, "91\u202f%"),
        (1.0, 0, "100\u202f%"),
        (0.0, 0, "0\u202f%"),
        (0.998, 0, "99.8\u202f%"),  # nearly all is not all
        (0.0031, 0, "0.3\u202f%"),
        (-0.0031, 0, "−0.3\u202f%"),
        (0.91449, 1, "91.4\u202f%"),
        (None, 0, "—"),
    ],
)
def test_percent_never_claims_certainty(share, digits, text):
    assert format_percent(share, digits=digits) == text


def test_interval_and_missing_ends():
    assert format_percent_interval(0.751, 0.804) == "75–80"
    assert format_percent_interval(None, 0.5) == "—"


@pytest.mark.parametrize(("p", "text"), [(0.0004, "< .001"), (0.049, ".049"), (1.0, "1.000"), (None, "—")])
def test_probability(p, text):
    assert format_p_value(p) == text


def test_counts_and_numbers():
    assert format_count(63870) == "63,870"
    assert format_number(-0.5) == "−0.50"
    assert format_plural(1, "context") == "1 context"


def test_sentences_keep_their_emphasis_and_read_plainly():
    said = format_sentence(
        "{best:metric} wins{mark:note} on {where}.",
        best="chrf",
        mark="top",
        where=list_names(["a", "b"], "context"),
    )
    assert str(said) == "chrf wins on a and b."
    assert [(span.text, span.kind) for span in said.spans if span.kind] == [
        ("chrf", "metric"),
        ("top", "note"),
        ("a", "context"),
        ("b", "context"),
    ]


def test_braces_in_values_stay_text():
    assert str(format_sentence("{name:metric}!", name="{0.__class__}{{7*7}}")) == "{0.__class__}{{7*7}}!"


def test_long_lists_are_cut_and_counted():
    assert str(list_names(list("abcdef"), "metric")) == "a, b, c, d and 2 more"
    assert str(join_phrases([])) == ""


@pytest.mark.parametrize("share", [0.955, 0.475, 0.285, 0.575, 0.125, 0.4999, 0.015])
def test_a_share_is_rounded_alike_in_sentences_and_in_tables(share):
    assert format_percent(share) == f"{100 * float(format_number(share)):.0f}\u202f%"
    assert format_percent(share) == f"{100 * float(format_table_cell(share, 2)):.0f}\u202f%"
