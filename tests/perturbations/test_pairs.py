"""Making pairs: the same whatever the order, the systems and the other methods; counted and noted."""

import os
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

import metassay.text
from metassay.data.dataset import Dataset
from metassay.errors import InputError, UnknownName
from metassay.perturbations import at_work, entity, views
from metassay.perturbations.base import Perturbation, View, parse_perturbation
from metassay.perturbations.pairs import make_pairs
from metassay.perturbations.words import Removal, Swapping, goes_word_by_word, seen_by
from metassay.sample import sample_path
from metassay.stats.streams import Stream, derive_keys
from metassay.store.run_texts import RunTexts
from metassay.workflows.read import read

BASIC = ["removal", "insertion", "swapping"]
TEXTS = [
    "the cat sat on the mat.",
    "a dog ran home",
    "Yes.",
    "",
    "it is what it is",
    "the cat sat on the mat.",
]


def dataset(
    texts: list[str] = TEXTS, *, systems: int = 3, lp: str | None = "de-en", task: str = "mt"
) -> Dataset:
    rows = [
        {"item": str(i), "system": f"s{s}", "output": text if s else text.upper(), "references": [text]}
        for i, text in enumerate(texts)
        for s in range(systems)
    ]
    frame = pl.DataFrame(rows)
    return Dataset(task, frame if lp is None else frame.with_columns(lp=pl.lit(lp)))


def test_shape_order_and_counts() -> None:
    pairs = make_pairs(dataset(), perturbations=BASIC, per_output=None)
    assert pairs.frame.columns == ["item", "system", "perturbation", "output", "worse"]
    assert pairs.frame.equals(pairs.frame.sort("item", "system", "perturbation"))
    assert (pairs.frame["output"] != pairs.frame["worse"]).all()
    removal = pairs.counts["removal"]  # of 6 texts one is empty and one has a single word
    assert (removal.applied, removal.not_applicable, removal.unchanged, removal.pairs) == (12, 6, 0, 12)
    assert pairs.counts["insertion"].applied == 15
    assert pairs.resources["en"]["insertion"][:4] == ["cat", "dog", "home", "is"]


def test_equal_outputs_of_an_item_get_equal_copies() -> None:
    frame = make_pairs(dataset(), perturbations=BASIC, per_output=None).frame
    same = (
        frame.filter(pl.col("system") != "s0")
        .group_by("item", "perturbation")
        .agg(pl.col("worse").n_unique())
    )
    assert (same["worse"] == 1).all()


def test_neither_order_nor_systems_nor_other_methods_change_a_copy() -> None:
    data = dataset()
    everything = make_pairs(data, perturbations=BASIC, per_output=None).frame
    shuffled = list(data.outputs.iter_rows(named=True))
    random.Random(1).shuffle(shuffled)
    again = make_pairs(
        Dataset("mt", pl.DataFrame(shuffled)), perturbations=BASIC[::-1], per_output=None
    ).frame
    assert again.equals(everything)
    removal = make_pairs(data, perturbations=["removal"], per_output=None).frame
    assert removal.equals(everything.filter(pl.col("perturbation") == "removal"))
    assert not make_pairs(data, perturbations=BASIC, per_output=None, seed=1).frame.equals(everything)


def test_sampling_takes_a_subset_and_a_further_method_only_displaces() -> None:
    data = dataset()
    everything = make_pairs(data, perturbations=BASIC, per_output=None)
    two = make_pairs(data, perturbations=BASIC, per_output=2)
    assert two.frame.equals(everything.sample(2).frame)
    assert two.counts == everything.sample(2).counts
    assert two.frame.join(everything.frame, on=everything.frame.columns, how="anti").is_empty()
    assert two.frame.group_by("item", "system").len()["len"].max() == 2
    assert everything.sample(3).frame.equals(everything.frame)
    fewer = make_pairs(data, perturbations=BASIC[:2], per_output=1).frame
    one = make_pairs(data, perturbations=BASIC, per_output=1).frame
    displaced = one.join(fewer, on=one.columns, how="anti")
    assert set(displaced["perturbation"]) <= {"swapping"}


def test_each_method_is_sampled_equally_often() -> None:
    texts = [f"word{i} and some more of it" for i in range(600)]
    counts = make_pairs(dataset(texts, systems=1), perturbations=BASIC, per_output=1).counts
    assert all(abs(count.pairs - 200) < 50 for count in counts.values())


def test_the_papers_preprocessing_touches_both_members_or_one() -> None:
    data = dataset(["The cat's mat, here."], systems=2)
    both = make_pairs(data, perturbations=["removal"], preprocess="paper").frame
    assert both["output"].to_list() == ["the cat 's mat , here ."] * 2
    one = make_pairs(data, perturbations=["removal"], preprocess="paper-asymmetric").frame
    assert one["output"].to_list() == ["THE CAT'S MAT, HERE.", "The cat's mat, here."]
    assert one["worse"].to_list() == both["worse"].to_list()
    with pytest.raises(UnknownName, match="paper-asymmetric"):
        make_pairs(data, preprocess="papr")


@dataclass(frozen=True)
class Foreign(Perturbation[str]):
    """A stranger's edit of words between spaces."""

    name: ClassVar[str] = "foreign"

    def apply(self, view: View[str], stream: Stream) -> str | None:
        return " ".join(view.output.split()[:-1]) if stream.draw_below(1) == 0 else None


def test_edits_between_spaces_are_left_out_where_there_are_none_and_noted_once() -> None:
    pairs = make_pairs(dataset(lp="en-zh"), perturbations=[Foreign()])
    assert len(pairs) == 0
    assert [note for note in pairs.notes if "without spaces" in note] == list(pairs.notes)
    assert len(pairs.notes) == 1


def test_words_need_no_language() -> None:
    pairs = make_pairs(dataset(lp=None), perturbations=BASIC)
    assert len(pairs) > 0
    assert list(pairs.resources) == ["unknown"]


def test_length_falls_under_removal_and_grows_under_insertion_on_wmt(
    real_data: Callable[[str], Path],
) -> None:
    frame = pl.read_parquet(real_data("wmt22/wmt22_en-de.parquet"))
    columns = frame.select(item=pl.col("seg_id").cast(str), system="system", output="hyp", lp="lp")
    pairs = make_pairs(Dataset("mt", columns), perturbations=BASIC, per_output=None).frame
    change = pairs.with_columns(
        pl.col("worse").str.len_chars().cast(int) - pl.col("output").str.len_chars().cast(int)
    )
    by_method = {name: rows["worse"] for (name,), rows in change.group_by("perturbation")}
    assert by_method["removal"].max() < 0 < by_method["insertion"].min()
    assert (by_method["swapping"] == 0).all()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["removl"], "Did you mean removal"),
        (["removal", "removal"], "asked for twice"),
        (["removal(strength=x)"], "not a whole number"),
        (["removal(size=2)"], "unknown parameter of removal 'size'"),
        (["removal(2)"], "not parameter=value"),
        (["two words"], "is not NAME"),
        ([], "no perturbation was named"),
    ],
)
def test_what_cannot_be_a_perturbation_is_refused(names: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_pairs(dataset(), perturbations=names)


def test_none_per_output_is_refused() -> None:
    with pytest.raises(InputError, match="leave nothing"):
        make_pairs(dataset(), perturbations=BASIC, per_output=0)


@pytest.mark.usefixtures("no_resources")
def test_missing_dictionaries_are_noted_or_refused() -> None:
    pairs = make_pairs(dataset(), perturbations=["synonym", "removal"])
    assert pairs.counts["synonym"].not_applicable == len(dataset())
    assert [note for note in pairs.notes if "apt install wordnet-base" in note and "distinct outputs" in note]
    with pytest.raises(InputError, match="synonym lacks a resource for en"):
        make_pairs(dataset(), perturbations=["synonym"], strict_resources=True)


def test_an_unknown_language_is_an_error_only_for_methods_that_were_named() -> None:
    with pytest.raises(InputError, match="--language"):
        make_pairs(dataset(lp=None), perturbations=["pronoun"])
    pairs = make_pairs(dataset(lp=None))
    assert {"removal", "insertion", "swapping"} == set(pairs.frame["perturbation"])
    assert sum("--language" in note for note in pairs.notes) == 1


def test_other_languages_are_noted() -> None:
    pairs = make_pairs(dataset(lp="en-nl"), perturbations=["pronoun", "removal"])
    assert any(
        "pronoun does not know the language nl; it knows de, en, es, fr" in note for note in pairs.notes
    )


def test_names_come_from_the_whole_data_set_on_any_number_of_workers(monkeypatch) -> None:
    texts = [
        f"Yesterday {name} came to {place} by car, said {name} ({i})."
        for i, (name, place) in enumerate(
            [("John", "Paris"), ("Mary", "Berlin"), ("Peter", "Rome"), ("Susan", "Madrid")] * 260
        )
    ]
    data = dataset(texts, systems=2)
    one = make_pairs(data, perturbations=["entity"], workers=1)
    monkeypatch.setattr(entity, "_FOUND", defaultdict(dict))
    two = make_pairs(data, perturbations=["entity"], workers=2)
    if "apt" in str(one.notes) or "pip" in str(one.notes):
        pytest.skip(one.notes[0])
    assert len(one) == len(texts)
    assert one.frame.equals(two.frame)
    assert one.resources == two.resources
    assert one.resources["en"]["entity"]["others"]["LOC one"] == ["Berlin", "Madrid", "Paris", "Rome"]


def test_a_region_does_not_hide_the_language() -> None:
    data = dataset(["he saw her"], systems=2)
    british = Dataset("mt", data.outputs.drop("lp"), language="en-GB")
    pairs = make_pairs(british, perturbations=["pronoun"])
    assert pairs.frame.equals(make_pairs(data, perturbations=["pronoun"]).frame)
    assert len(pairs) == 2


def test_every_method_draws_from_a_stream_of_its_own_name() -> None:
    """The copy in the table is what the method makes of (seed, item, text, its name), and of nothing else."""
    data = dataset()
    methods = (Removal(), Swapping(), Removal(2))
    pairs = make_pairs(data, perturbations=list(methods), per_output=None, seed=5)
    for row in pairs.frame.iter_rows(named=True):
        method = next(each for each in methods if each.spec == row["perturbation"])
        stream = Stream.for_output(5, row["item"], row["output"], method.name)
        assert row["worse"] == method.apply(View(row["output"], row["item"], "en"), stream)


@dataclass(frozen=True)
class Sometimes(Perturbation[str]):
    """Changes what begins with c, returns what begins with u as it is, and leaves the rest alone."""

    name: ClassVar[str] = "sometimes"

    def apply(self, view: View[str], stream: Stream) -> str | None:
        del stream
        return {"c": f"{view.output}!", "u": view.output}.get(view.output[:1])


def test_what_became_of_every_output_is_counted() -> None:
    """Two systems, five items: four outputs changed, two unchanged, four left alone; only the first are pairs."""
    texts = ["change", "unchanged", "nothing", "clean", "none"]
    rows = [{"item": str(i), "system": s, "output": text} for i, text in enumerate(texts) for s in "ab"]
    pairs = make_pairs(Dataset("mt", pl.DataFrame(rows)), perturbations=[Sometimes()], per_output=None)
    count = pairs.counts["sometimes"]
    assert (count.applied, count.unchanged, count.not_applicable, count.pairs) == (4, 2, 4, 4)
    assert pairs.frame["worse"].to_list() == ["change!", "change!", "clean!", "clean!"]


@dataclass(frozen=True)
class Studious(Perturbation[str]):
    """Looks long at each text; may be stopped, as by a kill."""

    name: ClassVar[str] = "studious"
    studied: ClassVar[list[str]] = []
    applied: ClassVar[list[str]] = []
    stop_after: ClassVar[int] = 10**9

    def study(self, texts, language, workers=1):  # noqa: ARG002
        if len(self.studied) >= Studious.stop_after:
            raise KeyboardInterrupt
        assert texts, "somebody's method need not know what to do with nothing"
        self.studied.extend(texts)
        return [len(text) for text in texts]

    def collect(self, texts, language, workers=1):  # noqa: ARG002
        return {"longest": max(texts, key=len)} if texts else None

    def apply(self, view: View[str], stream: Stream) -> str | None:
        if len(self.applied) >= Studious.stop_after:
            raise KeyboardInterrupt
        self.applied.append(view.output)
        return f"{view.output} {stream.draw_below(1000)} {view.collected['studious']['longest'][:3]}"


@pytest.fixture
def studious(monkeypatch) -> type[Studious]:
    monkeypatch.setattr(Studious, "studied", [])
    monkeypatch.setattr(Studious, "applied", [])
    monkeypatch.setattr(views, "STUDIED_AT_ONCE", 3)
    monkeypatch.setattr(at_work, "PERTURBED_AT_ONCE", 3)
    return Studious


def test_finished_parts_are_not_made_again_and_the_pairs_are_the_same(
    studious, tmp_path, monkeypatch
) -> None:
    data = dataset()
    expected = make_pairs(data, perturbations=[Studious(), "removal"], per_output=None)
    for stop in (2, 4, 7):
        monkeypatch.setattr(studious, "stop_after", stop)
        with pytest.raises(KeyboardInterrupt):
            make_pairs(data, perturbations=[Studious()], per_output=None, kept=RunTexts(tmp_path, ""))
    monkeypatch.setattr(studious, "stop_after", 10**9)
    found = make_pairs(
        data, perturbations=[Studious(), "removal"], per_output=None, kept=RunTexts(tmp_path, "")
    )
    assert len(studious.studied) == len(set(studious.studied)), "no text was studied twice"
    assert found.frame.equals(expected.frame)
    assert found.resources == expected.resources
    before = len(studious.applied)
    turned = Dataset("mt", data.outputs.reverse())
    for same in (data, turned):
        again = make_pairs(
            same, perturbations=[Studious(), "removal"], kept=RunTexts(tmp_path, ""), per_output=None
        )
        assert again.frame.equals(expected.frame)
        assert again.resources == expected.resources
        assert same is turned or len(studious.applied) == before, "nothing was made again"


def test_parts_of_other_data_seeds_versions_and_preprocessing_are_not_taken(studious, tmp_path) -> None:
    kept = RunTexts(tmp_path, "1.0")
    make_pairs(dataset(), perturbations=[Studious()], kept=kept)
    for texts, seed, about, preprocess in (
        ([*TEXTS, "one more"], 0, "1.0", "none"),
        (TEXTS, 1, "1.0", "none"),
        (TEXTS, 0, "1.1", "none"),
        (TEXTS, 0, "1.0", "paper"),
    ):
        options = {"perturbations": [Studious()], "seed": seed, "preprocess": preprocess}
        plain = make_pairs(dataset(texts), **options)
        before = len(studious.applied)
        found = make_pairs(dataset(texts), **options, kept=RunTexts(tmp_path, about))
        assert len(studious.applied) > before
        assert found.frame.equals(plain.frame)


@pytest.mark.parametrize("copies", [True, False])
def test_several_processes_make_the_pairs_that_one_makes(copies, tmp_path, monkeypatch) -> None:
    """What methods make of texts, and look for in them, kept and not."""
    pytest.importorskip("HanTa")
    if not copies:
        for module in (metassay.text, at_work):
            monkeypatch.setattr(module, "can_copy", lambda: False)
    data = read(sample_path("mt"))
    expected = make_pairs(data, per_output=None)
    monkeypatch.setattr(views, "STUDIED_AT_ONCE", 50)
    monkeypatch.setattr(at_work, "PERTURBED_AT_ONCE", 50)
    monkeypatch.setattr(metassay.text, "WORTH_A_PROCESS", 50)
    monkeypatch.setattr(metassay.text, "WORTH_A_COPY", 50)
    monkeypatch.setattr(entity, "_FOUND", defaultdict(dict))
    forked, fork = [], os.fork
    monkeypatch.setattr(os, "fork", lambda: forked.append(1) or fork())
    for kept in (None, RunTexts(tmp_path, ""), RunTexts(tmp_path, "")):
        found = make_pairs(data, per_output=None, workers=3, kept=kept)
        assert found.frame.equals(expected.frame)
        assert found.resources == expected.resources
        assert found.counts == expected.counts
    assert bool(forked) is copies


@pytest.mark.parametrize("spec", ["pronoun", "negation(strength=2)", "negation_removal", "number"])
def test_a_helper_makes_what_the_method_makes(spec) -> None:
    pytest.importorskip("HanTa")
    data = read(sample_path("mt"))
    method = parse_perturbation(spec)
    seen = views.make_views(data, [method], preprocess="none", seed=3, workers=1)
    keys = derive_keys(seen.keys, method.name)
    expected = method.apply_all(seen.views, keys)
    assert goes_word_by_word(method)
    assert any(expected)
    try:
        (helper,) = metassay.text._Helper.several(1)
        with helper.free:  # of what an earlier test gave it to do
            answer = helper._ask(
                "metassay.perturbations.words:applied", spec, "en", *seen_by(seen.views, keys)
            )
        assert answer == [expected]
    finally:
        metassay.text._Helper.end_all()


@pytest.mark.parametrize("spec", ["removal", "entity", "sentence_borrowing", "llm"])
def test_what_needs_more_than_a_text_stays_here(spec) -> None:
    assert not goes_word_by_word(parse_perturbation(spec))
    assert not goes_word_by_word(Studious())
