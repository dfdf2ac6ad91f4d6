"""Edits of facts: exactly the one that is declared, and nothing where there is nothing to change."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metassay.perturbations.base import View
from metassay.perturbations.facts import PERTURBATIONS
from metassay.perturbations.registry import (
    find_perturbations_for,
    list_default_perturbations,
    parse_perturbation,
)
from metassay.stats.streams import Stream, compute_output_seed, derive_seed_from_name
from metassay.tasks import find_task
from metassay.text.word_lists import WordLists


def all_worse(
    method: str, text: str, language: str | None, source: str | None = None, *, seeds: int = 80
) -> set[str | None]:
    perturbation = parse_perturbation(method)
    view = View(text, "1", language, source=source)
    return {
        perturbation.apply(view, Stream(derive_seed_from_name(compute_output_seed(seed, "1", text), method)))
        for seed in range(seeds)
    }


@given(st.integers(2, 10**9), st.sampled_from(["en", "de", None]))
def test_one_digit_of_a_number_changes_and_its_format_stays(number: int, language: str | None) -> None:
    text = f"About {number:,} people came."
    for copy in all_worse("number", text, language):
        assert copy is not None
        assert len(copy) == len(text)
        assert sum(a != b for a, b in zip(text, copy)) == 1
        assert re.sub(r"\d", "0", copy) == re.sub(r"\d", "0", text)
        assert copy[6] != "0"


@pytest.mark.parametrize(
    "text",
    ["1 apple", "no digits", "2. Press the button.", "the B2B market", "at 10:30", "COVID-19", "x@2.de"],
)
def test_labels_names_times_and_ones_stay(text: str) -> None:
    assert all_worse("number", text, "en") == {None}


@pytest.mark.parametrize(
    ("text", "fitting"), [("21 день", "13456789"), ("22 дня", "234"), ("25 дней", "567890")]
)
def test_russian_nouns_still_agree_with_their_number(text: str, fitting: str) -> None:
    for copy in all_worse("number", text, "ru"):
        assert copy is not None
        assert copy[0] in "3456789" if copy[1] == text[1] else copy[1] in fitting


def test_numbers_are_found_in_texts_without_spaces() -> None:
    assert None not in all_worse("number", "他在2021年去了北京。", "zh")


@pytest.mark.parametrize(("text", "language", "expected"), [
    ("We met on Monday.", "en", {f"We met on {d}day." for d in ("Tues", "Wednes", "Thurs", "Fri", "Satur", "Sun")}),
    ("He may come in March.", "en", None),
    ("Er kam am Montag.", "de", None),
    ("Он придёт в среду.", "ru", None),
])  # fmt: skip
def test_days_and_months_change_within_their_kind(
    text: str, language: str, expected: set[str] | None
) -> None:
    found = all_worse("date", text, language)
    assert None not in found
    assert expected is None or found == expected
    assert all(copy is not None and len(copy.split()) == len(text.split()) for copy in found)


def test_a_verb_is_no_month() -> None:
    assert all_worse("date", "You may March on. May I?", "en") == {None}


@pytest.mark.parametrize(("text", "language", "expected"), [
    ("It weighs 3 kg.", "en", {"It weighs 3 mg."}),
    ("It costs $5.", "en", {"It costs €5.", "It costs £5."}),
    ("nach 3 Tagen", "de", {"nach 3 Monaten", "nach 3 Jahren"}),
    ("2 миллиона человек", "ru", {"2 миллиарда человек"}),
    ("miles away", "en", {None}),
])  # fmt: skip
def test_units_change_within_their_row(text: str, language: str, expected: set[str | None]) -> None:
    assert all_worse("unit", text, language) == expected


@pytest.mark.parametrize(("text", "language", "expected"), [
    ("He came.", "en", {"She came."}),
    ("I saw her.", "en", {"I saw him."}),
    ("I saw her car.", "en", {"I saw his car."}),
    ("Her Excellency", "en", {"His Excellency"}),
    ("Er kam mit Herrn Meier.", "de", {"Er kam mit Frau Meier.", "Sie kam mit Herrn Meier."}),
    ("Ich sehe, dass er schläft.", "de", {"Ich sehe, dass sie schläft."}),
    ("Haben Sie Zeit?", "de", {None}),
    ("Он знает её.", "ru", {"Она знает её.", "Он знает его."}),
    ("Он пришёл.", "ru", {None}),
])  # fmt: skip
def test_sexes_are_exchanged_where_all_agrees(text: str, language: str, expected: set[str | None]) -> None:
    assert all_worse("gender", text, language) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("Hot days.", {"Cold days."}),
    ("They strengthened it.", {"They weakened it."}),
    ("an able man", {"an able woman"}),
])  # fmt: skip
def test_antonyms_take_the_form_of_the_word(
    needs: Callable[[str, str], None], text: str, expected: set[str | None]
) -> None:
    needs("antonym", "en")
    assert expected & all_worse("antonym", text, "en")


@pytest.mark.parametrize(("method", "text", "expected"), [
    ("cohyponym", "We met in summer.", {"We met in winter.", "We met in spring.", "We met in fall."}),
    ("cohyponym", "The brother left.", {None}),
    ("hypernym", "My friends laughed.", {"My persons laughed."}),
    ("wrong_sense", "Two submarines came.", {"Two sandwiches came."}),
    ("wrong_sense", "A dentist laughed.", {None}),
])  # fmt: skip
def test_wordnet_knows_sisters_what_is_more_general_and_other_meanings(
    needs: Callable[[str, str], None], method: str, text: str, expected: set[str | None]
) -> None:
    needs(method, "en")
    assert all_worse(method, text, "en") == expected


@pytest.mark.parametrize(("text", "language", "expected"), [
    ("She left the old house, which was large, and went home.", "en",
     {"She left the old house, and went home.", "She left the old house, which was large."}),
    ("After we had left it, the house fell down.", "en", {None}),
    ("It costs 2,000 euros in the shop.", "en", {None}),
    ("今天的天气很好，我们决定去公园散步。", "zh", {"今天的天气很好。"}),
])  # fmt: skip
def test_a_clause_goes_with_its_comma(text: str, language: str, expected: set[str | None]) -> None:
    assert all_worse("clause_removal", text, language) == expected


def test_a_clause_of_the_pack_stands_before_the_full_stop_of_a_statement() -> None:
    text = "She left the old house. Did she lock the front door? No."
    clauses = WordLists("metassay.perturbations.languages", "en").read_lines("hallucinated_clauses")
    expected = {text.replace("house.", f"house{clause}.") for clause in clauses}
    assert all_worse("hallucinated_clause", text, "en", seeds=400) == expected
    for other in ("“I left the old house.”", "She left the old house …", "Left the house.", "a. b. c."):
        assert all_worse("hallucinated_clause", other, "en") == {None}


def test_a_clause_opens_a_statement_in_scripts_without_spaces() -> None:
    text = "我们昨天去公园散步了。"
    found = all_worse("hallucinated_clause", text, "zh")
    assert all(copy is not None and copy.endswith(f"，{text}") for copy in found)
    assert len(found) > 5


@given(st.text(alphabet="ab ,.;和，1\n", max_size=40), st.sampled_from(["en", "zh", None]))
def test_what_stays_of_a_text_is_its_own(text: str, language: str | None) -> None:
    for copy in all_worse("clause_removal", text, language) - {None}:
        assert copy is not None
        cut = len(text) - len(copy)
        assert any(text[:i] + text[i + cut :] == copy for i in range(len(copy) + 1))


def test_a_source_word_takes_the_place_of_one_word() -> None:
    source, text = "Der Hund schläft heute draußen.", "The small animal sleeps outside today."
    found = all_worse("untranslated", text, "en", source)
    for copy in found:
        assert copy is not None
        changed = [(a, b) for a, b in zip(text.rstrip(".").split(), copy.rstrip(".").split()) if a != b]
        assert len(changed) == 1
        assert changed[0][1] in source
    assert len(found) > 1
    assert all_worse("untranslated", text, "en") == {None}
    assert all_worse("untranslated", text, "en", text) == {None}


def test_all_are_on_request() -> None:
    task = find_task("mt")
    ours = {p.name for p in PERTURBATIONS} | {"clause_removal", "hallucinated_clause", "wrong_sense"}
    assert ours <= set(find_perturbations_for(task))
    assert ours.isdisjoint(p.name for p in list_default_perturbations(task))
    assert "untranslated" not in find_perturbations_for(find_task("text"))


def test_a_single_digit_becomes_any_other_but_none_and_one() -> None:
    """Nouns after 0 and 1 may take another form; so 5 becomes 2, 3, 4, 6, 7, 8 or 9, and 1 stays."""
    assert {copy[6] for copy in all_worse("number", "About 5 people came.", "en")} == set("2346789")
    assert all_worse("number", "About 1 person came.", "en") == {None}
    assert all_worse("number", "About 0 people came.", "en") == {None}
    assert {copy[6:9] for copy in all_worse("number", "About 0.5 litres.", "en") if copy} == {
        *(f"{digit}.5" for digit in "123456789"),
        *(f"0.{digit}" for digit in "02346789"),
    }
