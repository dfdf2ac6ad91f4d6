"""Removal, insertion, swapping: the declared edit and nothing else, and kernels equal to the plain code."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metassay.data.reading import read
from metassay.errors import InputError
from metassay.perturbations import words as word_edits
from metassay.perturbations.base import View
from metassay.perturbations.pairs import make_perturbed_output_pairs
from metassay.perturbations.words import Insertion, Removal, RemovalShare, Swapping, WordEdit
from metassay.stats.streams import (
    Stream,
    compute_output_seed,
    compute_output_seeds,
    derive_seed_from_name,
    derive_seeds_from_name,
)
from metassay.text import segmentation

WORDS = ["really", "that", "Käse", "наверное", "🙂x"]
CAKE = "John said he did not like the cake she baked."
TEXTS = st.one_of(
    st.text(max_size=60), st.lists(st.sampled_from(["a", "b.", "—", "ß", "\u2003", "  "])).map(" ".join)
)
EDITS = [Removal(), Insertion(), Swapping(), RemovalShare(), Removal(2), Insertion(3), Swapping(2)]


@pytest.fixture(autouse=True)
def compiled_code_for_few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the kernels for any number of outputs; by default a few are edited in Python."""
    monkeypatch.setattr(word_edits, "_MAX_UNCOMPILED", 0)


def view(text: str) -> View[str]:
    return View(text, "1", "en", collected={"insertion": WORDS})


def worse(edit: WordEdit, text: str, seed: int = 0) -> str | None:
    return edit.apply(
        view(text), Stream(derive_seed_from_name(compute_output_seed(seed, "1", text), edit.name))
    )


def words(text: str) -> list[str]:
    return [run for run in text.split() if any(c.isalnum() for c in run)]


@given(TEXTS)
def test_removal_drops_exactly_one_word(text: str) -> None:
    result = worse(Removal(), text)
    before = text.split()
    if result is None:
        assert len(words(text)) < 2
        return
    after = result.split()
    assert any(before[:i] + before[i + 1 :] == after for i in range(len(before)))


@given(TEXTS)
def test_insertion_adds_exactly_one_word_of_the_list(text: str) -> None:
    result = worse(Insertion(), text)
    if result is None:
        assert not words(text)
        return
    before, after = text.split(), result.split()
    assert any(after[i] in WORDS and after[:i] + after[i + 1 :] == before for i in range(len(after)))


@given(TEXTS)
def test_swapping_exchanges_two_different_words_and_keeps_all_space(text: str) -> None:
    result = worse(Swapping(), text)
    if result is None:
        assert len(set(words(text))) < 2
        return
    before, after = text.split(), result.split()
    assert Counter(before) == Counter(after)
    assert sum(a != b for a, b in zip(before, after)) == 2
    assert [c for c in text if c.isspace()] == [c for c in result if c.isspace()]


@pytest.mark.parametrize(
    ("length", "dropped"), [(1, 0), (2, 0), (3, 1), (7, 1), (8, 2), (12, 2), (13, 3), (100, 20)]
)
def test_removal_20_rounds_to_the_nearest_number(length: int, dropped: int) -> None:
    text = " ".join(f"w{i}" for i in range(length))
    result = worse(RemovalShare(), text)
    assert (0 if result is None else length - len(result.split())) == dropped


@pytest.mark.parametrize("edit", EDITS, ids=str)
@settings(deadline=None, max_examples=50)
@given(texts=st.lists(TEXTS, max_size=8), seed=st.integers(0, 99))
def test_compiled_code_agrees_with_apply(edit: WordEdit, texts: list[str], seed: int) -> None:
    views = [view(text) for text in texts]
    keys = derive_seeds_from_name(compute_output_seeds(seed, ["1"] * len(texts), texts), edit.name)
    plain = [edit.apply(v, Stream(key)) for v, key in zip(views, keys.tolist())]
    assert edit.perturb_many_outputs(views, keys) == plain
    assert all(result != text for result, text in zip(plain, texts))


@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_words_that_cannot_be_found_are_not_edited(edit: WordEdit) -> None:
    """No package splits Lao, and the language of the second text is unknown."""
    for text, language in (("ພາສາລາວເປັນພາສາທາງການ", "lo"), ("我们在学校学习英语和数学。", None)):
        view = View(text, "1", language, collected={"insertion": ["天气"]})
        keys = derive_seeds_from_name(compute_output_seeds(0, ["1"], [text]), edit.name)
        assert edit.apply(view, Stream(int(keys[0]))) is None
        assert edit.perturb_many_outputs([view], keys) == [None]


def test_texts_with_and_without_spaces_are_edited_in_one_batch() -> None:
    texts = ["a b c", "我们在学校学习英语和数学。", "d e"]
    views = [View(text, "1", None) for text in texts]
    keys = derive_seeds_from_name(compute_output_seeds(0, ["1"] * 3, texts), "swapping")
    expected = [Swapping().apply(view, Stream(key)) for view, key in zip(views, keys.tolist())]
    assert Swapping().perturb_many_outputs(views, keys) == expected
    assert [output is None for output in expected] == [False, True, False]


@pytest.fixture
def words_of_two_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace jieba by a function that splits texts into pairs of characters."""
    pairs = re.compile(r"\w{1,2}|\W")
    monkeypatch.setattr(segmentation, "_load_word_segmenter", lambda _: pairs.findall)


@pytest.mark.usefixtures("words_of_two_characters")
def test_chinese_words_are_those_of_the_segmenter() -> None:
    text = "天气很好。"
    view = View(text, "1", "zh", collected={"insertion": ["今天"]})
    removed = {Removal().apply(view, Stream(key)) for key in range(20)}
    inserted = {Insertion().apply(view, Stream(key)) for key in range(20)}
    assert removed == {"天气。", "很好。"}
    assert inserted == {"今天天气很好。", "天气今天很好。"}
    assert Swapping().apply(view, Stream(0)) == "很好天气。"


@pytest.mark.parametrize("name", ["removal", "insertion", "swapping", "untranslated"])
@pytest.mark.parametrize(("language", "reason"), [("zh", "jieba is missing"), ("th", "no package")])
def test_word_perturbations_are_left_out_without_a_segmenter(
    name: str, language: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segmentation, "_load_word_segmenter", lambda _: None)
    rows = [
        {"seg_id": 1, "lp": f"en-{language}", "system": "a", "hyp": "我们在学校学习英语和数学。", "ref": "我"}
    ]
    pairs = make_perturbed_output_pairs(read(rows), perturbations=[name])
    assert len(pairs) == 0
    assert any(
        note.startswith(f"{name} does not apply to {language}") and reason in note for note in pairs.notes
    )


@pytest.mark.parametrize("language", ["zh-en", "en-ru"])
def test_compiled_code_agrees_with_apply_on_wmt(real_data: Callable[[str], Path], language: str) -> None:
    frame = pl.read_parquet(real_data(f"wmt22/wmt22_{language}.parquet"))
    texts, items = frame["hyp"].to_list()[:4000], frame["seg_id"].cast(str).to_list()[:4000]
    keys = compute_output_seeds(1, items, texts)
    views = [view(text) for text in texts]
    for edit in EDITS:
        own = derive_seeds_from_name(keys, edit.name)
        assert edit.perturb_many_outputs(views, own) == [
            edit.apply(v, Stream(k)) for v, k in zip(views, own.tolist())
        ]


def test_every_word_can_go_and_every_place_can_take_one() -> None:
    removed = {worse(Removal(), CAKE, seed) for seed in range(400)}
    assert len(removed) == len(CAKE.split())
    assert {
        "John said he did not like the cake baked.",
        "John said he did not like cake she baked.",
    } < removed
    inserted = {worse(Insertion(), "a b.", seed) for seed in range(200)}
    assert inserted == {f"{w} a b." for w in WORDS} | {f"a {w} b." for w in WORDS}
    inserted = {worse(Insertion(), CAKE, seed) for seed in range(400)}
    assert {
        "John said he did not really like the cake she baked.",
        CAKE.replace("she", "that she"),
    } < inserted
    assert any(text.endswith(" really") for text in (worse(Insertion(), "a b", s) for s in range(50)) if text)


def test_all_pairs_of_words_can_change_places() -> None:
    swapped = {worse(Swapping(), CAKE, seed) for seed in range(900)}
    assert len(swapped) == 45
    assert "John he said did not like the cake she baked." in swapped
    assert "John said he did like not the cake she baked." in swapped
    swapped = {worse(Swapping(), "a b c a", seed) for seed in range(300)}
    assert swapped == {"b a c a", "c b a a", "a c b a", "a a c b", "a b a c"}


def test_the_first_edits_of_a_stronger_removal_are_those_of_a_weaker_one() -> None:
    for seed in range(20):
        one, three = (set((worse(Removal(n), CAKE, seed) or "").split()) for n in (1, 3))
        assert three < one


def test_a_strength_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="strength of swapping is 0"):
        Swapping(0)


def test_compiled_swapping_never_exchanges_equal_words_and_finds_those_of_equal_length() -> None:
    """Words that repeat, that differ in one letter, and that begin alike: as the plain code, for 200 keys."""
    for text in ("a a a b", "cat cat car cat", "one on one on", "x xx x xxx", "same same same"):
        views = [View(text, str(item), "en") for item in range(200)]
        keys = derive_seeds_from_name(compute_output_seeds(0, map(str, range(200)), [text] * 200), "swapping")
        found = Swapping().perturb_outputs_with_numba(views, keys)
        assert found == [Swapping().apply(v, Stream(k)) for v, k in zip(views, keys.tolist())]
        assert text not in found
        assert (set(found) == {None}) == (text == "same same same")
