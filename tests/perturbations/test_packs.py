"""Language packs: what the lists of a folder make of sentences, and that every list can be read."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from metassay.perturbations.base import View
from metassay.perturbations.registry import parse_perturbation
from metassay.stats.streams import Stream, compute_output_seed, derive_seed_from_name
from metassay.text.word_lists import WordLists, find_folders_with_file
from metassay.text.words import WITHOUT_SPACES, find_dictionary_words

PACKS = "metassay.perturbations.languages"
NEW = ["es", "fr", "it", "pt", "zh", "ja"]
LANGUAGES = [*NEW, "en", "de", "ru"]


def all_worse(method: str, text: str, language: str) -> set[str | None]:
    perturbation = parse_perturbation(method)
    view = View(text, "1", language)
    return {
        perturbation.apply(view, Stream(derive_seed_from_name(compute_output_seed(seed, "1", text), method)))
        for seed in range(40)
    }


@pytest.mark.parametrize(
    ("method", "language", "text", "expected"),
    [
        ("negation", "es", "Es importante.", {"No es importante."}),
        ("negation", "es", "Ella se lo ha dicho.", {"Ella no se lo ha dicho."}),
        ("negation_removal", "es", "No dijo nada.", {"Dijo todo."}),
        ("negation_removal", "es", "Vino sin dinero.", {"Vino con dinero."}),
        ("negation_removal", "es", "Salió sin pagar.", {None}),
        ("pronoun", "es", "Ella ríe.", {"Él ríe.", "Usted ríe."}),
        ("negation", "fr", "C'est vrai.", {"Ce n'est pas vrai."}),
        ("negation", "fr", "Elle vient demain.", {"Elle ne vient pas demain."}),
        ("negation", "fr", "Il y a trois ans.", {None}),
        ("negation_removal", "fr", "Je n'ai pas faim.", {"J'ai faim."}),
        ("negation_removal", "fr", "Il n'a pas d'argent.", {"Il a beaucoup d'argent."}),
        ("pronoun", "fr", "Il y a du pain.", {None}),
        ("pronoun", "fr", "Mon fils dort.", {"Ton fils dort.", "Son fils dort."}),
        ("negation", "it", "C'è tempo.", {"Non c'è tempo."}),
        ("negation_removal", "it", "Non ha mai riso.", {"Ha sempre riso."}),
        ("negation_removal", "it", "Nessuno dorme.", {"Qualcuno dorme."}),
        ("negation", "pt", "O filme é bom.", {"O filme não é bom."}),
        ("negation_removal", "pt", "Ainda não sei.", {"Já sei."}),
        ("pronoun", "pt", "A casa dele caiu.", {"A casa dela caiu."}),
        ("negation", "zh", "她喜欢喝茶。", {"她不喜欢喝茶。"}),
        ("negation_removal", "zh", "他没有钱。", {"他有钱。"}),
        ("negation_removal", "zh", "她没有回答老师。", {"她回答了老师。"}),
        ("negation_removal", "zh", "我们没有去过上海。", {"我们去过上海。"}),
        ("negation_removal", "zh", "他没有认真听课。", {None}),
        ("negation_removal", "zh", "我没有告诉任何人。", {None}),
        ("negation_removal", "zh", "对不起。", {None}),
        ("pronoun", "zh", "其他人都走了。", {None}),
        ("pronoun", "zh", "他们走了。", {"我们走了。", "你们走了。", "她们走了。"}),
        ("negation", "ja", "彼は学生です。", {"彼は学生ではありません。"}),
        ("negation_removal", "ja", "時間がありません。", {"時間があります。"}),
        ("negation_removal", "ja", "すみません。", {None}),
        ("pronoun", "ja", "彼女は来た。", {"私は来た。", "あなたは来た。", "彼は来た。"}),
        ("negation", "de", "Er hat das Buch gelesen.", {"Er hat das Buch nicht gelesen."}),
        ("negation", "de", "Sie kauft ein Haus.", {"Sie kauft kein Haus."}),
        ("negation", "de", "Der Mann, der hier steht, lacht.", {"Der Mann, der hier nicht steht, lacht."}),
        ("negation", "de", "Am Montag ist das Büro offen.", {"Am Montag ist das Büro nicht offen."}),
        ("negation", "de", "Er begann, das Haus zu suchen.", {"Er begann nicht, das Haus zu suchen."}),
        ("negation_removal", "de", "Ich habe kein Geld.", {"Ich habe viel Geld."}),
        ("negation_removal", "de", "Er kam noch nie.", {"Er kam schon oft."}),
        ("negation_removal", "de", "Nicht du, sondern ich.", {None}),
        ("negation_removal", "en", "There is no sign of life.", {"There is some sign of life."}),
        ("negation_removal", "en", "He did not see anyone.", {None}),
        ("negation_removal", "ru", "Он больше не курит.", {"Он по-прежнему курит."}),
        ("negation", "ru", "Нажмите кнопку.", {None}),
        ("quantifier", "en", "At least two came.", {"At most two came."}),
        ("quantifier", "en", "He has more than you.", {"He has less than you."}),
        ("quantifier", "en", "More rain fell.", {None}),
        (
            "quantifier",
            "de",
            "Er kam mindestens einmal an.",
            {"Er kam höchstens einmal an."}
            | {f"Er kam mindestens {word} an." for word in ("zweimal", "dreimal")},
        ),
        ("quantifier", "zh", "至少来了两个人。", {"最多来了两个人。"}),
        ("tense", "en", "She is here.", {"She was here."}),
        ("tense", "fr", "Elle est là.", {"Elle était là."}),
        ("tense", "de", "Hat er Zeit?", {"Hatte er Zeit?"}),
    ],
)
def test_what_a_pack_makes_of_a_sentence(method: str, language: str, text: str, expected: set[str]) -> None:
    assert all_worse(method, text, language) == expected


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("method", ["negation", "negation_removal"])
def test_a_question_often_asks_the_same_with_a_negation_and_without(method: str, language: str) -> None:
    asked = {
        "en": "Can you not see that it is late?",
        "de": "Ist das nicht schön?",
        "ru": "Он не был дома?",
        "es": "¿No es tarde?",
        "fr": "N'est-il pas là, et il est tard ?",
        "it": "Non è tardi?",
        "pt": "Não é tarde?",
        "zh": "你不知道他是老师吗？",
        "ja": "時間がありません？",
    }
    assert all_worse(method, asked[language], language) == {None}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_pattern_compiles_and_every_group_is_there(language: str) -> None:
    lists = WordLists(PACKS, language)
    rows = [*lists.read_tab_separated_rows("negation_removal")]
    if language in find_folders_with_file(PACKS, "negation.tsv"):
        rows += lists.read_tab_separated_rows("negation")
        assert lists.read_words("negated")
    for pattern, *replacement in rows:
        groups = {int(number) for number in re.findall(r"\\(\d)", "".join(replacement))}
        assert len(replacement) < 2
        assert groups <= set(range(1, re.compile(re.sub(r"\{[a-z_]+\}", "x", pattern)).groups + 1))
        assert all(lists.read_words(name) for name in re.findall(r"\{([a-z_]+)\}", pattern))


@pytest.mark.parametrize("language", NEW)
def test_a_row_of_pronouns_holds_each_word_once_and_as_it_is_found(language: str) -> None:
    for row in WordLists(PACKS, language).read_tab_separated_rows("pronouns"):
        assert len(set(row)) == len(row) > 1
        assert language in WITHOUT_SPACES or all(
            [term[0] for term in find_dictionary_words(word)] == [word] for word in row
        )


def test_the_readme_names_the_lists_that_bring_methods() -> None:
    readme = files(PACKS).joinpath("README.md").read_text(encoding="utf-8")
    for name in re.findall(r"^\| `(\w+\.\w+)`", readme, re.MULTILINE):
        assert find_folders_with_file(PACKS, name), name
