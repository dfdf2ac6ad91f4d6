"""Making pairs: the same whatever the order, the systems and the other methods; counted and noted."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

from metassay import process_pool
from metassay.data.dataset import Dataset
from metassay.errors import InputError, UnknownName
from metassay.perturbations import collection, runner
from metassay.perturbations.base import Perturbation, View
from metassay.perturbations.pairs import make_perturbed_output_pairs
from metassay.perturbations.registry import parse_perturbation
from metassay.perturbations.runner import can_run_in_worker_process
from metassay.perturbations.words import Removal, Swapping
from metassay.sample import get_bundled_sample_path
from metassay.stats.streams import Stream, compute_output_seed, derive_seed_from_name
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
    pairs = make_perturbed_output_pairs(dataset(), perturbations=BASIC, per_output=None)
    assert pairs.frame.columns == ["item", "system", "perturbation", "output", "worse"]
    assert pairs.frame.equals(pairs.frame.sort("item", "system", "perturbation"))
    assert (pairs.frame["output"] != pairs.frame["worse"]).all()
    removal = pairs.counts["removal"]  # of 6 texts one is empty and one has a single word
    assert (removal.applied, removal.not_applicable, removal.unchanged, removal.pairs) == (12, 6, 0, 12)
    assert pairs.counts["insertion"].applied == 15
    assert pairs.resources["en"]["insertion"][:4] == ["cat", "dog", "home", "is"]


def test_equal_outputs_of_an_item_get_equal_copies() -> None:
    frame = make_perturbed_output_pairs(dataset(), perturbations=BASIC, per_output=None).frame
    same = (
        frame.filter(pl.col("system") != "s0")
        .group_by("item", "perturbation")
        .agg(pl.col("worse").n_unique())
    )
    assert (same["worse"] == 1).all()


def test_neither_order_nor_systems_nor_other_methods_change_a_copy() -> None:
    data = dataset()
    everything = make_perturbed_output_pairs(data, perturbations=BASIC, per_output=None).frame
    shuffled = list(data.outputs.iter_rows(named=True))
    random.Random(1).shuffle(shuffled)
    again = make_perturbed_output_pairs(
        Dataset("mt", pl.DataFrame(shuffled)), perturbations=BASIC[::-1], per_output=None
    ).frame
    assert again.equals(everything)
    removal = make_perturbed_output_pairs(data, perturbations=["removal"], per_output=None).frame
    assert removal.equals(everything.filter(pl.col("perturbation") == "removal"))
    assert not make_perturbed_output_pairs(data, perturbations=BASIC, per_output=None, seed=1).frame.equals(
        everything
    )


def test_sampling_takes_a_subset_and_a_further_method_only_displaces() -> None:
    data = dataset()
    everything = make_perturbed_output_pairs(data, perturbations=BASIC, per_output=None)
    two = make_perturbed_output_pairs(data, perturbations=BASIC, per_output=2)
    assert two.frame.equals(everything.sample_pairs_per_output(2).frame)
    assert two.counts == everything.sample_pairs_per_output(2).counts
    assert two.frame.join(everything.frame, on=everything.frame.columns, how="anti").is_empty()
    assert two.frame.group_by("item", "system").len()["len"].max() == 2
    assert everything.sample_pairs_per_output(3).frame.equals(everything.frame)
    fewer = make_perturbed_output_pairs(data, perturbations=BASIC[:2], per_output=1).frame
    one = make_perturbed_output_pairs(data, perturbations=BASIC, per_output=1).frame
    displaced = one.join(fewer, on=one.columns, how="anti")
    assert set(displaced["perturbation"]) <= {"swapping"}


def test_each_method_is_sampled_equally_often() -> None:
    texts = [f"word{i} and some more of it" for i in range(600)]
    counts = make_perturbed_output_pairs(dataset(texts, systems=1), perturbations=BASIC, per_output=1).counts
    assert all(abs(count.pairs - 200) < 50 for count in counts.values())


def test_the_papers_preprocessing_touches_both_members_or_one() -> None:
    data = dataset(["The cat's mat, here."], systems=2)
    both = make_perturbed_output_pairs(data, perturbations=["removal"], preprocess="paper").frame
    assert both["output"].to_list() == ["the cat 's mat , here ."] * 2
    one = make_perturbed_output_pairs(data, perturbations=["removal"], preprocess="paper-asymmetric").frame
    assert one["output"].to_list() == ["THE CAT'S MAT, HERE.", "The cat's mat, here."]
    assert one["worse"].to_list() == both["worse"].to_list()
    with pytest.raises(UnknownName, match="paper-asymmetric"):
        make_perturbed_output_pairs(data, preprocess="papr")


@dataclass(frozen=True)
class Foreign(Perturbation[str]):
    """A stranger's edit of words between spaces."""

    name: ClassVar[str] = "foreign"

    def apply(self, view: View[str], stream: Stream) -> str | None:
        return " ".join(view.output.split()[:-1]) if stream.draw_integer_below(1) == 0 else None


def test_edits_between_spaces_are_left_out_where_there_are_none_and_noted_once() -> None:
    pairs = make_perturbed_output_pairs(dataset(lp="en-zh"), perturbations=[Foreign()])
    assert len(pairs) == 0
    assert [note for note in pairs.notes if "without spaces" in note] == list(pairs.notes)
    assert len(pairs.notes) == 1


def test_words_need_no_language() -> None:
    pairs = make_perturbed_output_pairs(dataset(lp=None), perturbations=BASIC)
    assert len(pairs) > 0
    assert list(pairs.resources) == ["unknown"]


def test_length_falls_under_removal_and_grows_under_insertion_on_wmt(
    real_data: Callable[[str], Path],
) -> None:
    frame = pl.read_parquet(real_data("wmt22/wmt22_en-de.parquet"))
    columns = frame.select(item=pl.col("seg_id").cast(str), system="system", output="hyp", lp="lp")
    pairs = make_perturbed_output_pairs(Dataset("mt", columns), perturbations=BASIC, per_output=None).frame
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
        make_perturbed_output_pairs(dataset(), perturbations=names)


def test_none_per_output_is_refused() -> None:
    with pytest.raises(InputError, match="at least 1 is needed"):
        make_perturbed_output_pairs(dataset(), perturbations=BASIC, per_output=0)


@pytest.mark.usefixtures("no_resources")
def test_missing_dictionaries_are_noted_or_refused() -> None:
    pairs = make_perturbed_output_pairs(dataset(), perturbations=["synonym", "removal"])
    assert pairs.counts["synonym"].not_applicable == len(dataset())
    assert [note for note in pairs.notes if "apt install wordnet-base" in note and "distinct outputs" in note]
    with pytest.raises(InputError, match="synonym lacks a resource for en"):
        make_perturbed_output_pairs(dataset(), perturbations=["synonym"], strict_resources=True)


def test_an_unknown_language_is_an_error_only_for_methods_that_were_named() -> None:
    with pytest.raises(InputError, match="--language"):
        make_perturbed_output_pairs(dataset(lp=None), perturbations=["pronoun"])
    pairs = make_perturbed_output_pairs(dataset(lp=None))
    assert {"removal", "insertion", "swapping"} == set(pairs.frame["perturbation"])
    assert sum("--language" in note for note in pairs.notes) == 1


def test_other_languages_are_noted() -> None:
    pairs = make_perturbed_output_pairs(dataset(lp="en-nl"), perturbations=["pronoun", "removal"])
    assert any(
        "pronoun does not know the language nl; it knows de, en, es, fr" in note for note in pairs.notes
    )


def test_names_come_from_the_whole_data_set() -> None:
    texts = [
        f"Yesterday {name} came to {place} by car, said {name} ({i})."
        for i, (name, place) in enumerate(
            [("John", "Paris"), ("Mary", "Berlin"), ("Peter", "Rome"), ("Susan", "Madrid")] * 260
        )
    ]
    data = dataset(texts, systems=2)
    pairs = make_perturbed_output_pairs(data, perturbations=["entity"])
    if "apt" in str(pairs.notes) or "pip" in str(pairs.notes):
        pytest.skip(pairs.notes[0])
    assert len(pairs) == len(texts)
    assert pairs.resources["en"]["entity"]["others"]["LOC one"] == ["Berlin", "Madrid", "Paris", "Rome"]


def test_a_region_does_not_hide_the_language() -> None:
    data = dataset(["he saw her"], systems=2)
    british = Dataset("mt", data.outputs.drop("lp"), language="en-GB")
    pairs = make_perturbed_output_pairs(british, perturbations=["pronoun"])
    assert pairs.frame.equals(make_perturbed_output_pairs(data, perturbations=["pronoun"]).frame)
    assert len(pairs) == 2


def test_every_method_draws_from_a_stream_of_its_own_name() -> None:
    """The copy in the table is what the method makes of (seed, item, text, its name), and of nothing else."""
    data = dataset()
    methods = (Removal(), Swapping(), Removal(2))
    pairs = make_perturbed_output_pairs(data, perturbations=list(methods), per_output=None, seed=5)
    for row in pairs.frame.iter_rows(named=True):
        method = next(each for each in methods if each.spec == row["perturbation"])
        stream = Stream(
            derive_seed_from_name(compute_output_seed(5, row["item"], row["output"]), method.name)
        )
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
    pairs = make_perturbed_output_pairs(
        Dataset("mt", pl.DataFrame(rows)), perturbations=[Sometimes()], per_output=None
    )
    count = pairs.counts["sometimes"]
    assert (count.applied, count.unchanged, count.not_applicable, count.pairs) == (4, 2, 4, 4)
    assert pairs.frame["worse"].to_list() == ["change!", "change!", "clean!", "clean!"]


@dataclass(frozen=True)
class AnalysingPerturbation(Perturbation[str]):
    """Analyses every text, and can be interrupted after some texts."""

    name: ClassVar[str] = "analysing"
    analysed: ClassVar[list[str]] = []
    applied: ClassVar[list[str]] = []
    stop_after: ClassVar[int] = 10**9

    def precompute_text_analyses(self, texts, language):  # noqa: ARG002
        if len(self.analysed) >= self.stop_after:
            raise KeyboardInterrupt
        assert texts, "user code is never called without texts"
        self.analysed.extend(texts)
        return [len(text) for text in texts]

    def collect_replacement_material(self, texts, language, analyses):  # noqa: ARG002
        lengths = list(analyses)
        assert lengths == [len(text) for text in texts]
        return {"longest": max(texts, key=len)} if texts else None

    def apply(self, view: View[str], stream: Stream) -> str | None:
        if len(self.applied) >= self.stop_after:
            raise KeyboardInterrupt
        self.applied.append(view.output)
        return f"{view.output} {stream.draw_integer_below(1000)} {view.collected['analysing']['longest'][:3]}"


@pytest.fixture
def small_batches(monkeypatch) -> None:
    monkeypatch.setattr(AnalysingPerturbation, "analysed", [])
    monkeypatch.setattr(AnalysingPerturbation, "applied", [])
    monkeypatch.setattr(collection, "BATCH_SIZE", 3)
    monkeypatch.setattr(runner, "BATCH_SIZE", 3)


@pytest.mark.usefixtures("small_batches")
def test_an_interrupted_run_continues_and_makes_the_same_pairs(tmp_path, monkeypatch) -> None:
    data = dataset()
    perturbations = [AnalysingPerturbation(), "removal"]
    expected = make_perturbed_output_pairs(data, perturbations=perturbations, per_output=None)
    AnalysingPerturbation.analysed.clear()
    AnalysingPerturbation.applied.clear()
    for stop_after in (2, 4, 7):
        monkeypatch.setattr(AnalysingPerturbation, "stop_after", stop_after)
        with pytest.raises(KeyboardInterrupt):
            make_perturbed_output_pairs(
                data, perturbations=perturbations[:1], per_output=None, store=RunTexts(tmp_path, "")
            )
    monkeypatch.setattr(AnalysingPerturbation, "stop_after", 10**9)
    pairs = make_perturbed_output_pairs(
        data, perturbations=perturbations, per_output=None, store=RunTexts(tmp_path, "")
    )
    analysed = AnalysingPerturbation.analysed
    assert len(analysed) == len(set(analysed)), "no text was analysed twice"
    assert pairs.frame.equals(expected.frame)
    assert pairs.resources == expected.resources
    applied_before = len(AnalysingPerturbation.applied)
    reversed_data = Dataset("mt", data.outputs.reverse())
    for same_data in (data, reversed_data):
        store = RunTexts(tmp_path, "")
        again = make_perturbed_output_pairs(
            same_data, perturbations=perturbations, store=store, per_output=None
        )
        assert again.frame.equals(expected.frame)
        assert again.resources == expected.resources
        if same_data is data:
            assert len(AnalysingPerturbation.applied) == applied_before, "no output was perturbed again"


@pytest.mark.usefixtures("small_batches")
def test_stored_batches_of_other_data_seeds_versions_and_preprocessing_are_not_used(tmp_path) -> None:
    perturbations = [AnalysingPerturbation()]
    make_perturbed_output_pairs(dataset(), perturbations=perturbations, store=RunTexts(tmp_path, "1.0"))
    for texts, seed, version, preprocess in (
        ([*TEXTS, "one more"], 0, "1.0", "none"),
        (TEXTS, 1, "1.0", "none"),
        (TEXTS, 0, "1.1", "none"),
        (TEXTS, 0, "1.0", "paper"),
    ):
        options = {"perturbations": perturbations, "seed": seed, "preprocess": preprocess}
        expected = make_perturbed_output_pairs(dataset(texts), **options)
        applied_before = len(AnalysingPerturbation.applied)
        pairs = make_perturbed_output_pairs(dataset(texts), **options, store=RunTexts(tmp_path, version))
        assert len(AnalysingPerturbation.applied) > applied_before
        assert pairs.frame.equals(expected.frame)


def test_several_processes_make_the_pairs_that_one_makes(tmp_path, monkeypatch) -> None:
    pytest.importorskip("HanTa")
    data = read(get_bundled_sample_path("mt"))
    expected = make_perturbed_output_pairs(data, per_output=None)
    monkeypatch.setattr(collection, "BATCH_SIZE", 50)
    monkeypatch.setattr(runner, "BATCH_SIZE", 50)
    monkeypatch.setattr(process_pool, "TEXTS_PER_PROCESS", 50)
    used = []
    map_batches_in_parallel = process_pool.map_batches_in_parallel

    def record_processes(function, batches, processes):
        used.append(processes)
        return map_batches_in_parallel(function, batches, processes)

    monkeypatch.setattr(collection, "map_batches_in_parallel", record_processes)
    monkeypatch.setattr(runner, "map_batches_in_parallel", record_processes)
    for store in (None, RunTexts(tmp_path, ""), RunTexts(tmp_path, "")):
        pairs = make_perturbed_output_pairs(data, per_output=None, workers=3, store=store)
        assert pairs.frame.equals(expected.frame)
        assert pairs.resources == expected.resources
        assert pairs.counts == expected.counts
    assert 2 in used


@pytest.mark.parametrize("spec", ["removal", "entity", "sentence_borrowing", "llm"])
def test_perturbations_that_need_more_than_a_text_run_in_one_process(spec) -> None:
    assert not can_run_in_worker_process(parse_perturbation(spec))
    assert not can_run_in_worker_process(AnalysingPerturbation())
