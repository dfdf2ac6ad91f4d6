"""Which names are found, of what kind they are over a data set, and what may take their place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from metassay.perturbations.base import View
from metassay.perturbations.entity import EntitySubstitution, find_names_in_texts
from metassay.perturbations.entity_census import (
    MentionCounts,
    build_name_replacement_table,
    can_replace_name,
    describe_grammatical_role_of_name,
)
from metassay.perturbations.languages.name_finder import (
    find_nationalities_and_dates,
)
from metassay.perturbations.languages.russian_names import add_grammatical_forms_to_names
from metassay.stats.streams import Stream, compute_output_seed, derive_seed_from_name
from metassay.text import slovnet_names
from metassay.text.slovnet_names import find_russian_names

Names = Callable[[list[str], str], dict[str, set[str]]]


def split_names(text: str, language: str) -> set[tuple[str, str]]:
    return {(text[start:end], kind) for start, end, kind, _ in find_names_in_texts([text], language)[0]}


def all_worse(texts: list[str], language: str, *, seeds: int = 60) -> set[str]:
    """Everything that the first text can become in this data set."""
    method = EntitySubstitution()
    collected = {
        "entity": method.collect_replacement_material(
            texts, language, method.precompute_text_analyses(texts, language)
        )
    }
    view = View(texts[0], "1", language, collected=collected)
    worse = {
        method.apply(view, Stream(derive_seed_from_name(compute_output_seed(seed, "1", texts[0]), "entity")))
        for seed in range(seeds)
    }
    return {text for text in worse if text is not None}


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("He met John Smith in Paris.", "en", {("John Smith", "PER"), ("Paris", "LOC")}),
        ("The students of Yale University left.", "en", {("Yale University", "ORG")}),
        ("the Beijing Winter Olympics", "en", {("Beijing", "LOC")}),
        ("An old friend of Xi Jinping came.", "en", {("Xi Jinping", "PER")}),
        ("A party of the Communist Party.", "en", {("Communist Party", "ORG")}),
        ("It was an Iranian film in December 2019.", "en", {("Iranian", "PEOPLE"), ("December", "MONTH"), ("2019", "YEAR")}),
        ("Try Chinese.news or a British Museum ticket in May.", "en", set()),
        ("We may march; May we leave on 3 May or on May 5?", "en", {("May", "MONTH")}),
        ("The 21st of March came.", "en", {("March", "MONTH")}),
        ("Olaf Scholz kam nach Warschau.", "de", {("Olaf Scholz", "PER"), ("Warschau", "LOC")}),
        ("Er lebt in New York.", "de", {("New York", "LOC")}),
        ("Das ist die Politik Polens.", "de", {("Polen", "LOC")}),
        ("Der Link ist im Zimmer, deren CEO lacht.", "de", set()),
        ("Die französischen Fischer kamen am Montag.", "de", {("französisch", "PEOPLE"), ("Montag", "DAY")}),
        ("Er sah „Twilight“ auf Apple Music.", "de", {("Apple Music", "ORG")}),
        ("Она живёт в Польше.", "ru", {("Польше", "LOC")}),
        ("Британские рыбаки ждут 24 декабря.", "ru", {("декабря", "MONTH")}),
        ("Всадник пытается оставить заказ.", "ru", set()),
    ],
)  # fmt: skip
def test_names_are_found_with_their_kind(
    text: str, language: str, found: set[tuple[str, str]], needs: Callable[[str, str], None]
) -> None:
    needs("entity", language)
    assert split_names(text, language) == found


def test_a_full_name_takes_the_place_of_a_full_name(needs: Callable[[str, str], None]) -> None:
    needs("entity", "en")
    texts = ["Yesterday Anne Smith left.", "Then she saw Mary Jones and old Tom Brown.", "Paul was in Rome."]
    assert all_worse(texts, "en") == {"Yesterday Mary Jones left."}
    assert all_worse([texts[0], *texts[2:], "Then Tom Brown left."], "en") == {"Yesterday Tom Brown left."}


def test_a_family_name_is_known_from_full_names(needs: Callable[[str, str], None]) -> None:
    needs("entity", "de")
    texts = [
        "Dort traf ihn Fellowes.",
        "Dann kam Julian Fellowes.",
        "Dort saß Morawiecki.",
        "Dann kam Mateusz Morawiecki.",
    ]
    assert all_worse(texts, "de") == {"Dort traf ihn Morawiecki."}


def test_german_names_keep_article_and_genitive(needs: Callable[[str, str], None]) -> None:
    needs("entity", "de")
    others = [
        "Er war in Polen.",
        "Er war in Paris.",
        "Er war in der Türkei.",
        "Er war in Libyen.",
        "In den USA",
    ]
    assert all_worse(["Sie kam aus der Ukraine.", *others], "de") == {"Sie kam aus der Türkei."}
    assert all_worse(["Die Hauptstadt Serbiens.", *others], "de") == {
        "Die Hauptstadt Polens.",
        "Die Hauptstadt Libyens.",
    }


@pytest.mark.parametrize(
    ("text", "others", "worse"),
    [
        (
            "Нападение на Польшу началось.",
            ["Он видел Москву.", "Она в Москве.", "Он из Лондона.", "Лондон велик."],
            {"Нападение на Москву началось."},
        ),
        (
            "Президент Франции уехал.",
            ["Премьер России приехал.", "Жители Польши ждут.", "Он видит Москву.", "Жители Лондона."],
            {"Президент России уехал."},  # Польши is no dative, Лондона no feminine
        ),
        (
            "Он живёт в Белграде.",
            ["Она живёт в Москве.", "Он едет в Париж.", "Улицы Лондона."],
            {"Он живёт в Москве."},
        ),
        ("Все в США знают.", ["Все в ОАЭ знают.", "Он в Польше."], {"Все в ОАЭ знают."}),
        ("Они живут на Украине.", ["Она живёт в Москве.", "Он живёт в Польше."], set()),
        (
            "Это сказал Борис Джонсон.",
            ["Это сказала Лиз Трасс.", "Он видел Владимира Путина.", "Говорит Джо Байден."],
            {"Это сказал Джо Байден."},
        ),
        ("Он ждал в пятницу.", ["Она ждала в среду.", "Во вторник ждали все."], {"Он ждал в среду."}),
        ("Это британского импорта.", ["Его польские друзья."], {"Это польского импорта."}),
    ],
)
def test_russian_names_keep_case_number_and_gender(
    text: str, others: list[str], worse: set[str], needs: Callable[[str, str], None]
) -> None:
    needs("entity", "ru")
    assert all_worse([text, *others], "ru") == worse


def decide_kinds(mentions: list[tuple[str, str]], language: str) -> dict[str, str]:
    """Return the kinds of names according to a census of texts with one mention each."""
    counts = MentionCounts()
    for name, kind in mentions:
        counts.count_names_in_text(name, [(0, len(name), kind, "")])
    return build_name_replacement_table(counts, language)["kinds"]


def test_mistakes_of_the_finder_are_outvoted() -> None:
    divided = [("Ann", "PER")] * 4 + [("Bob", "PER"), ("Bob", "LOC")]
    assert decide_kinds(divided, "en") == {"Ann": "PER"}
    assert decide_kinds([("Ann", "PER")] * 4 + [("Ann", "LOC")], "en") == {"Ann": "PER"}


def test_hints_decide_the_kind_of_names_in_no_list() -> None:
    mentions = [("Nechells", "LOC?")] * 3 + [("Bucklebury", "LOC?")]
    assert decide_kinds(mentions, "de") == {"Nechells": "LOC"}


@pytest.mark.parametrize(
    ("name", "other", "form", "fine"),
    [
        ("Iranian", "Polish", "an", False),
        ("Iranian", "Italian", "an", True),
        ("Aubrey", "Aubreys", "", False),
        ("Polen", "Paris", "gent", False),
        ("1990", "1994", "digits", True),
    ],
)
def test_what_can_take_the_place_of_a_name(name: str, other: str, form: str, fine: bool) -> None:
    assert can_replace_name(name, other, form) is fine


def test_a_name_that_the_text_holds_already_takes_no_place() -> None:
    census = {"kinds": {"Paris": "LOC"}, "others": {"LOC one": ["Rome", "Cairo"]}}
    view = View("from Paris to Rome", language="en", collected={"entity": census})
    copies = {EntitySubstitution().apply(view, Stream(key)) for key in range(20)}
    assert copies == {"from Cairo to Rome"}


def test_levels_go_from_strict_to_loose() -> None:
    assert describe_grammatical_role_of_name("Anne Rice", "PER", "", "en") == (
        "PER full f",
        "PER full",
        "PER",
    )
    assert describe_grammatical_role_of_name("the Ukraine"[4:], "LOC", "fem", "de") == (
        "LOC fem one",
        "LOC fem",
    )
    assert (
        describe_grammatical_role_of_name("Польше", "LOC", "femn sing words datv,loct", "ru")[1]
        == "LOC sing words datv,loct"
    )


def test_names_that_a_list_knows_do_not_overlap() -> None:
    text = "On Monday, 5 May 1994, a South African and an American met in June 2001; may I march?"
    found = [(text[start:end], kind) for start, end, kind, _ in find_nationalities_and_dates(text, "en")]
    assert found == [
        ("Monday", "DAY"), ("May", "MONTH"), ("1994", "YEAR"), ("American", "PEOPLE"),
        ("June", "MONTH"), ("2001", "YEAR"),
    ]  # fmt: skip


@pytest.mark.parametrize("pair", ["zh-en", "en-de", "en-ru"])
def test_on_wmt_one_name_changes_for_another_of_the_data_set(
    pair: str, needs: Callable[[str, str], None], real_data: Callable[[str], Path]
) -> None:
    language = pair[-2:]
    needs("entity", language)
    texts = pl.read_parquet(real_data(f"wmt22/wmt22_{pair}.parquet"))["hyp"].unique(maintain_order=True)
    texts = texts[::5][:1200].to_list()
    method = EntitySubstitution()
    census = method.collect_replacement_material(
        texts, language, method.precompute_text_analyses(texts, language)
    )
    known = {name for names in census["others"].values() for name in names}
    changed = 0
    for text in texts:
        worse = method.apply(
            View(text, "1", language, collected={"entity": census}),
            Stream(derive_seed_from_name(compute_output_seed(0, "1", text), "entity")),
        )
        if worse is None:
            continue
        changed += 1
        spans = [(start, end) for start, end, _, _ in find_names_in_texts([text], language)[0]]
        spans += [(start, end - 1) for start, end in spans]  # a German family name in the genitive
        assert any(
            worse.startswith(text[:start])
            and worse.endswith(text[end:])
            and worse[start : len(worse) - len(text[end:])] in known - {text[start:end]}
            for start, end in spans
        ), (text, worse)
    assert changed > 0.12 * len(texts)


def test_names_that_go_far_from_capitals_have_no_form(
    real_data: Callable[[str], Path], needs: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But one that holds another, which is found instead of it."""
    needs("entity", "ru")
    texts = pl.read_parquet(real_data("wmt22/wmt22_en-ru.parquet"))["hyp"].unique().sort().to_list()
    near = [add_grammatical_forms_to_names(text, own) for text, own in zip(texts, find_russian_names(texts))]
    monkeypatch.setattr(slovnet_names, "REACH", 1 << 31)
    found = find_russian_names(texts)
    everywhere = [add_grammatical_forms_to_names(text, own) for text, own in zip(texts, found)]
    differing = [i for i, own in enumerate(near) if own != everywhere[i]]
    assert [texts[i][: found[i][0][1]] for i in differing] == [
        "Агентство США по сотрудничеству в области безопасности и обороны"
    ]


def test_may_is_a_month_only_beside_a_number() -> None:
    """A date later in the text does not make a month of an earlier word."""
    text = "It was May who left on May 5 and on 6 May and on the 7th of March, but not May or in March."
    starts = {start for start, _, kind, _ in find_names_in_texts([text], "en")[0] if kind == "MONTH"}
    assert starts == {text.index("May 5"), text.index("May and"), text.index("March,")}
