"""Synonyms, pronouns, names and negations: the paper's examples, known cases, properties."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metassay.perturbations.base import View
from metassay.perturbations.registry import list_default_perturbations, parse_perturbation
from metassay.stats.streams import Stream, compute_output_seed, derive_seed_from_name
from metassay.tasks import find_task

CAKE = "John said he did not like the cake she baked."
NAMES = {
    "entity": {"kinds": {"John": "PER"}, "others": {"PER given m": ["John", "Mike", "Paul"]}},
    "insertion": ["x"],
}
LANGUAGE_BOUND = ["synonym", "pronoun", "entity", "negation", "negation_removal"]


def worse(method: str, text: str, language: str, *, seed: int = 0) -> str | None:
    perturbation = parse_perturbation(method)
    view = View(text, "1", language, collected=NAMES)
    return perturbation.apply(
        view, Stream(derive_seed_from_name(compute_output_seed(seed, "1", text), perturbation.name))
    )


def all_worse(method: str, text: str, language: str, *, seeds: int = 60) -> set[str | None]:
    return {worse(method, text, language, seed=seed) for seed in range(seeds)}


def test_synonym_of_the_papers_sentence(needs: Callable[[str, str], None]) -> None:
    needs("synonym", "en")
    assert all_worse("synonym", CAKE, "en") == {CAKE.replace("said", "stated")}


def test_pronoun_of_the_papers_sentence() -> None:
    expected = {CAKE.replace("he ", "she ", 1), CAKE.replace("he ", "it ", 1)}
    expected |= {CAKE.replace("cake she", "cake he"), CAKE.replace("cake she", "cake it")}
    assert all_worse("pronoun", CAKE, "en") == expected


def test_name_in_the_papers_sentence(needs: Callable[[str, str], None]) -> None:
    needs("entity", "en")
    assert all_worse("entity", CAKE, "en") == {CAKE.replace("John", "Mike"), CAKE.replace("John", "Paul")}


def test_negation_of_the_papers_sentence(needs: Callable[[str, str], None]) -> None:
    needs("negation", "en")
    assert worse("negation", "John said he liked the cake she had baked.", "en") == (
        "John said he liked the cake she had not baked."
    )
    assert worse("negation", CAKE, "en") in {
        CAKE.replace("like", "not like"),
        CAKE.replace("said", "did not say"),
    } | {CAKE.replace("baked", "did not bake")}


def test_negation_removed_from_the_papers_sentence() -> None:
    assert all_worse("negation_removal", CAKE, "en") == {"John said he did like the cake she baked."}
    assert worse("negation_removal", CAKE.replace("did not", "didn't"), "en") == (
        "John said he did like the cake she baked."
    )
    assert worse("negation_removal", CAKE.replace("did not like", "never liked"), "en") == (
        "John said he liked the cake she baked."
    )


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Don't go.", "en", "Do go."),
        ("I can't and won't.", "en", "I can and won't."),
        ("Nothing works.", "en", "Something works."),
        ("Not now.", "en", "Now."),
        ("Er kann nicht kommen.", "de", "Er kann kommen."),
        ("Das ist kein Haus.", "de", "Das ist ein Haus."),
        ("Niemand weiß es.", "de", "Jemand weiß es."),
        ("Я не знаю.", "ru", "Я знаю."),
        ("Не знаю.", "ru", "Знаю."),
        ("Он никогда не спит.", "ru", "Он всегда спит."),
    ],
)
def test_negations_turn_positive(text: str, language: str, expected: str) -> None:
    assert expected in all_worse("negation_removal", text, language)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Room No. 5, please", "en"),
        ("Not only that.", "en"),
        ("Nicht nur das.", "de"),
        ("Тем не менее да.", "ru"),
        ("Он никого не знал.", "ru"),
        ("All is well.", "en"),
        ("", "en"),
    ],
)
def test_what_only_looks_like_a_negation_stays(text: str, language: str) -> None:
    assert worse("negation_removal", text, language) is None


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("It is easy.", "en", "It is not easy."),
        ("You can go.", "en", "You can not go."),
        ("Er ist krank.", "de", "Er ist nicht krank."),
        ("Dann kann ich gehen.", "de", "Dann kann ich nicht gehen."),
        ("Ich weiß, dass er krank ist.", "de", "Ich weiß, dass er nicht krank ist."),
        (
            "Es muss sein, dass es gelöscht werden kann.",
            "de",
            "Es muss sein, dass es nicht gelöscht werden kann.",
        ),
        ("Он был дома.", "ru", "Он не был дома."),
        ("Хотел бы знать.", "ru", "Не хотел бы знать."),
    ],
)
def test_negations_stand_where_the_language_wants_them(
    text: str, language: str, expected: str, needs: Callable[[str, str], None]
) -> None:
    needs("negation", language)
    assert expected in all_worse("negation", text, language)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        (
            "I saw him.",
            "en",
            {"We saw him.", "You saw him.", "They saw him.", "I saw her.", "I saw it.", "I saw me."},
        ),
        ("Then I left.", "en", {"Then we left.", "Then you left.", "Then they left."}),
        (
            "Ich sehe, dass er Sie kennt.",
            "de",
            {"Ich sehe, dass sie Sie kennt.", "Ich sehe, dass es Sie kennt."},
        ),
        ("Она сказала это мне.", "ru", {"Я сказала это мне.", "Она сказала это нам."}),
        ("У нас был его дом.", "ru", {"У неё был его дом.", "У нас был их дом."}),
    ],
)
def test_pronouns_change_with_others_of_their_case(text: str, language: str, expected: set[str]) -> None:
    assert expected <= all_worse("pronoun", text, language, seeds=200)


def test_the_us_is_no_pronoun() -> None:
    assert worse("pronoun", "He left the US in May"[3:], "en") is None
    assert all_worse("pronoun", "Give us the US", "en") >= {"Give them the US"}


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("He purchased two movies.", "en", {"He bought two movies."}),
        ("We saw MOVIES.", "en", {None}),
        ("Движение быстро шло.", "ru", {"Движение скоро шло.", "Движение живо шло."}),
        (
            "Das ist eine wichtige Sache.",
            "de",
            {"Das ist eine bedeutende Sache.", "Das ist eine relevante Sache."},
        ),
        ("Die Ermittlungen laufen.", "de", {"Die Untersuchungen laufen.", "Die Prüfungen laufen."}),
    ],
)
def test_synonyms_keep_the_form(
    text: str, language: str, expected: set[str | None], needs: Callable[[str, str], None]
) -> None:
    needs("synonym", language)
    assert all_worse("synonym", text, language, seeds=200) & expected


def test_stronger_means_more_edits() -> None:
    text = "He saw that she knew that they left."
    assert worse("pronoun(strength=3)", text, "en") != worse("pronoun", text, "en")
    edited = worse("pronoun(strength=3)", text, "en") or ""
    assert sum(a != b for a, b in zip(text.split(), edited.split())) == 3
    assert worse("pronoun(strength=4)", text, "en") is None


@pytest.mark.parametrize("method", LANGUAGE_BOUND)
@pytest.mark.parametrize("language", ["en", "de", "ru"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.one_of(st.text(max_size=80), st.text("abИя ß.,'’-n\u0301T\n#", max_size=40)))
def test_any_text_is_taken_and_never_returned_unchanged(
    method: str, language: str, needs: Callable[[str, str], None], text: str
) -> None:
    needs(method, language)
    assert worse(method, text, language) != text


FILES = {
    "en": "wmt22/wmt22_zh-en.parquet",
    "de": "wmt22/wmt22_en-de.parquet",
    "ru": "wmt22/wmt22_en-ru.parquet",
}


@pytest.mark.parametrize("method", ["synonym", "pronoun", "negation", "negation_removal"])
@pytest.mark.parametrize("language", list(FILES))
def test_one_edit_and_nothing_else_on_wmt(
    method: str, language: str, needs: Callable[[str, str], None], real_data: Callable[[str], Path]
) -> None:
    needs(method, language)
    texts = pl.read_parquet(real_data(FILES[language]))["hyp"].unique(maintain_order=True)[:400].to_list()
    for text in texts:
        result = worse(method, text, language)
        if result is None:
            continue
        assert result != text
        before, after = text.split(), result.split()
        same = 0
        while same < min(len(before), len(after)) and before[same] == after[same]:
            same += 1
        tail = 0
        while tail < min(len(before), len(after)) - same and before[-1 - tail] == after[-1 - tail]:
            tail += 1
        changed = (len(before) - same - tail, len(after) - same - tail)
        assert max(changed) <= 3, (text, result)


@pytest.mark.parametrize(
    ("method", "low", "high"),
    [("synonym", 0.5, 1), ("pronoun", 0.4, 1), ("negation", 0.55, 1), ("negation_removal", 0.11, 0.25)],
)
@pytest.mark.parametrize("language", list(FILES))
def test_methods_apply_as_often_as_they_should(
    method: str,
    low: float,
    high: float,
    language: str,
    needs: Callable[[str, str], None],
    real_data: Callable[[str], Path],
) -> None:
    needs(method, language)
    texts = (
        pl.read_parquet(real_data(FILES[language]))["hyp"].unique(maintain_order=True)[::7][:1000].to_list()
    )
    share = sum(worse(method, text, language) is not None for text in texts) / len(texts)
    assert low <= share <= high


def test_the_defaults_of_a_task_are_the_papers_methods_but_the_llm_and_synonyms() -> None:
    names = {p.name for p in list_default_perturbations(find_task("mt"))}
    assert names == {"removal", "insertion", "swapping", *LANGUAGE_BOUND} - {"synonym"}
    assert {p.name for p in list_default_perturbations(find_task("asr"))} == {
        "removal",
        "insertion",
        "swapping",
        "phonetic",
    }


def test_russian_synonyms_bend_as_pymorphy_bends_them(
    needs: Callable[[str, str], None], real_data: Callable[[str], Path]
) -> None:
    """Every synonym of 3,000 word forms against pymorphy's own `inflect`."""
    needs("synonym", "ru")
    from metassay.perturbations.languages import russian
    from metassay.text.russian_morphology import load_russian_analyser
    from metassay.text.thesaurus import open_thesaurus

    thesaurus = open_thesaurus("ru")
    assert thesaurus is not None
    texts = pl.read_parquet(real_data(FILES["ru"]))["hyp"].unique(maintain_order=True).to_list()
    forms = list(dict.fromkeys(word for text in texts for word in text.split() if word.islower()))[:3000]
    compared = 0
    for form in forms:
        model = load_russian_analyser().parse(form)[0]
        pos = str(model.tag.POS)
        for word in (w for meaning in thesaurus.list_synonyms_by_meaning(model.normal_form) for w in meaning):
            if (
                pos not in russian.INFLECTED_CATEGORIES
                or russian.inflect_russian_word_like(word, model.tag, pos) is None
            ):
                continue
            lemma = russian.parse_russian_lemma(word, russian.LEMMA_PARTS_OF_SPEECH.get(pos, pos))
            wanted = {getattr(model.tag, name) for name in russian.INFLECTED_CATEGORIES[pos]} - {None}
            assert russian.inflect_russian_word_like(word, model.tag, pos) == lemma.inflect(wanted).word
            compared += 1
    assert compared > 1000


@pytest.mark.parametrize(("method", "language", "text"), [
    ("pronoun", "de", "Das ist, was ich meine."),
    ("pronoun", "de", "Das kauften sie."),
    ("pronoun", "de", "Loggen Sie sich ein."),
    ("pronoun", "de", "Ich bitte Sie um Geduld."),
    ("pronoun", "de", "Es wird erwartet, dass Anna kommt."),
    ("negation", "en", "the naval base"),
    ("negation_removal", "ru", "Особой причины не было."),
    ("negation_removal", "ru", "Ни одна страна не может наложить вето."),
    ("negation_removal", "ru", "Я не хочу ни есть, ни пить."),
    ("negation_removal", "ru", "Он этого не сделал."),
    ("negation_removal", "ru", "Не могли бы вы помочь?"),
])  # fmt: skip
def test_what_would_be_ungrammatical_stays(
    needs: Callable[[str, str], None], method: str, language: str, text: str
) -> None:
    needs(method, language)
    assert worse(method, text, language) is None


@pytest.mark.parametrize(("text", "expected"), [
    ("Niall Craith said it was late.", "Niall Craith said it was not late."),
    ("Craith said so.", "Craith did not say so."),
    ("The film has audiences waiting.", None),
    ("She sells cars.", "She does not sell cars."),
])  # fmt: skip
def test_english_verbs_are_negated_with_do(
    needs: Callable[[str, str], None], text: str, expected: str | None
) -> None:
    needs("negation", "en")
    assert worse("negation", text, "en") == expected
