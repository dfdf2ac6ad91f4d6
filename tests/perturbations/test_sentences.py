"""Edits of whole sentences: the declared edit and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metassay.data.dataset import Dataset
from metassay.perturbations.base import View
from metassay.perturbations.pairs import make_perturbed_output_pairs
from metassay.perturbations.sentences import (
    MAXIMUM_COLLECTED_SENTENCES,
    PERTURBATIONS,
    SentenceBorrowing,
    SentenceEdit,
    SentenceRemoval,
    SentenceRepetition,
    SentenceSwapping,
)
from metassay.sample import get_bundled_sample_path
from metassay.stats.streams import Stream, compute_output_seed, derive_seed_from_name
from metassay.workflows.read import read

SENTENCE_EDITS = [method for method in PERTURBATIONS if issubclass(method, SentenceEdit)]
NAMES = [method.name for method in SENTENCE_EDITS]
FOREIGN_SENTENCES = ["Whales sing at night.", "Nobody plays chess here.", "鲸鱼唱歌。"]
WORDS = st.sampled_from(["rain", "fell", "slowly", "it", "Größe", "дом"])
SENTENCES = st.lists(st.lists(WORDS, min_size=1, max_size=4), max_size=5).map(
    lambda made: [" ".join(words).capitalize() + "." for words in made]
)
CHINESE = st.lists(st.text("天地人大小", min_size=1, max_size=4).map(lambda text: text + "。"), max_size=5)


def worse(edit: SentenceEdit, text: str, seed: int = 0, **around: object) -> str | None:
    view = View(text, "1", collected={edit.name: FOREIGN_SENTENCES}, **around)
    return edit.apply(view, Stream(derive_seed_from_name(compute_output_seed(seed, "1", text), edit.name)))


@given(SENTENCES)
def test_removal_leaves_the_others_in_order(said: list[str]) -> None:
    result = worse(SentenceRemoval(), " ".join(said))
    if len(said) < 2:
        assert result is None
    else:
        assert result in {" ".join(said[:i] + said[i + 1 :]) for i in range(len(said))}


@given(SENTENCES)
def test_swapping_puts_first_what_leans_on_the_first(said: list[str]) -> None:
    leans = ["it" in part.lower().rstrip(".").split() for part in said]
    result = worse(SentenceSwapping(), " ".join(said), language="en")
    if len(said) < 2 or leans[0] or not any(leans):
        assert result is None
        return
    after = [part + "." for part in result.removesuffix(".").split(". ")]
    assert Counter(after) == Counter(said)
    assert after[0] != said[0]
    assert sum(a != b for a, b in zip(after, said)) == 2
    assert "it" in after[0].lower().rstrip(".").split()


@given(SENTENCES)
def test_repetition_says_one_twice_in_a_row(said: list[str]) -> None:
    result = worse(SentenceRepetition(), " ".join(said))
    if len(said) < 2:
        assert result is None
    else:
        assert result in {" ".join([*said[:i], one, *said[i:]]) for i, one in enumerate(said)}


@given(SENTENCES)
def test_borrowing_puts_a_foreign_one_in_the_place_of_one(said: list[str]) -> None:
    result = worse(SentenceBorrowing(), " ".join(said))
    if len(said) < 2:
        assert result is None
    else:
        foreign = ((i, one) for i in range(len(said)) for one in FOREIGN_SENTENCES)
        assert result in {" ".join([*said[:i], one, *said[i + 1 :]]) for i, one in foreign}


@given(CHINESE)
def test_no_space_appears_where_none_is_written(said: list[str]) -> None:
    text = "".join(said)
    removed, repeated = worse(SentenceRemoval(), text), worse(SentenceRepetition(), text)
    if len(said) < 2:
        assert removed is repeated is None
        return
    assert removed in {"".join(said[:i] + said[i + 1 :]) for i in range(len(said))}
    assert repeated in {"".join([*said[:i], one, *said[i:]]) for i, one in enumerate(said)}


def test_a_repeated_line_stays_a_line_and_a_rule_between_lines_is_not_repeated() -> None:
    text = "One line\nanother\n---\nthe last"
    assert {worse(SentenceRepetition(), text, seed) for seed in range(40)} == {
        "One line\nOne line\nanother\n---\nthe last",
        "One line\nanother another\n---\nthe last",
        "One line\nanother\n---\nthe last the last",
    }


@pytest.mark.parametrize("text", ["", "One sentence alone.", "Dr. Who left", "没有。", "Yes. Yes."])
def test_texts_that_offer_nothing_stay(text: str) -> None:
    edits = [SentenceSwapping()] if text == "Yes. Yes." else [method() for method in SENTENCE_EDITS]
    assert [worse(edit, text, language="en") for edit in edits] == [None] * len(edits)


def test_a_sentence_is_not_borrowed_from_the_items_own_texts() -> None:
    text = "It rained. We stayed."
    borrowed = {worse(SentenceBorrowing(), text, seed, siblings=(text,)) for seed in range(60)}
    assert len(borrowed) == 6  # two places, three sentences
    at_home = ("Whales sing at night. Really.",)
    for around in ({"siblings": at_home}, {"references": at_home}, {"source": at_home[0]}):
        borrowed = {worse(SentenceBorrowing(), text, seed, **around) for seed in range(60)}
        assert len(borrowed) == 4
        assert not any("Whales" in result for result in borrowed)
    everything = (" ".join(FOREIGN_SENTENCES),)
    assert worse(SentenceBorrowing(), text, siblings=everything) is None


def test_of_many_sentences_evenly_spread_ones_are_kept() -> None:
    texts = [
        f"{number:06d} stands here."
        for number in range(MAXIMUM_COLLECTED_SENTENCES + MAXIMUM_COLLECTED_SENTENCES // 2)
    ]
    kept = SentenceBorrowing().collect_replacement_material(texts, "en", ())
    assert len(set(kept)) == MAXIMUM_COLLECTED_SENTENCES
    numbers = [int(sentence[:6]) for sentence in kept]
    assert max(after - before for before, after in pairwise(numbers)) == 2
    assert SentenceBorrowing().collect_replacement_material(texts[:5], "en", ()) == texts[:5]


def split(text: str) -> list[str]:
    """By the stops that the sample has: not the splitter at work in the edits."""
    return text.replace("! ", "!\n").replace("? ", "?\n").replace(". ", ".\n").split("\n")


@pytest.fixture(scope="module")
def summaries() -> Dataset:
    return read(get_bundled_sample_path("text"), task="text", language="en")


@pytest.fixture(scope="module")
def pairs(summaries: Dataset) -> pl.DataFrame:
    return make_perturbed_output_pairs(summaries, perturbations=NAMES, per_output=None).frame


def test_on_the_sample_each_edit_is_what_its_name_says(summaries: Dataset, pairs: pl.DataFrame) -> None:
    homes: dict[str, set[str]] = {}
    for item, output, references in summaries.outputs.select("item", "output", "references").iter_rows():
        for text in (output, *references):
            for sentence in split(text):
                homes.setdefault(sentence, set()).add(item)
    assert set(pairs["perturbation"]) == set(NAMES)
    for item, name, output, edited in pairs.select("item", "perturbation", "output", "worse").iter_rows():
        before, after = Counter(split(output)), Counter(split(edited))
        gone, new = before - after, after - before
        if name == "sentence_borrowing":
            assert (gone.total(), new.total()) == (1, 1)
            (sentence,) = new
            assert item not in homes[sentence]
        else:
            lost, won = {"sentence_removal": (1, 0), "sentence_repetition": (0, 1)}.get(name, (0, 0))
            assert (gone.total(), new.total()) == (lost, won)
            assert before.keys() >= after.keys()
            assert output != edited


def test_the_seed_decides_and_the_order_of_rows_does_not(summaries: Dataset, pairs: pl.DataFrame) -> None:
    key = ["item", "system", "perturbation", "worse"]

    def made(data: Dataset, seed: int) -> pl.DataFrame:
        frame = make_perturbed_output_pairs(data, perturbations=NAMES, per_output=None, seed=seed).frame
        return frame.select(key).sort(key)

    shuffled = summaries.outputs.sample(fraction=1.0, shuffle=True, seed=1)
    other = Dataset(summaries.task, shuffled, human=summaries.human, language="en")
    assert made(other, 0).equals(pairs.select(key).sort(key))
    assert not made(summaries, 1).equals(pairs.select(key).sort(key))


def test_most_real_summaries_can_be_edited(real_data: Callable[[str], Path]) -> None:
    counts = make_perturbed_output_pairs(
        read(real_data("text/realsumm.parquet"), task="text"), perturbations=NAMES
    ).counts
    for name in NAMES:
        least = 0.4 if name == "sentence_swapping" else 0.9  # one must lean on the first, which must not
        assert counts[name].applied / (counts[name].applied + counts[name].not_applicable) > least
