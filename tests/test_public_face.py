"""The public interface: the exported names, and every kind of source that `read` and the other functions
accept.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import subprocess
import sys

import polars as pl
import pytest

import metassay
from metassay.errors import InputError, UnknownName

EXPORTED = """
AggregateResult AlignResult AnnotateResult AssayResult Batch CheckResult CompareResult Context Dataset DependResult EstimateResult InputError JudgeResult
MetaMetric MetassayError Metric MetricFailure MissingBackend OutputKind PerturbResult Perturbation RankResult RecommendResult ScoreArrays ScoreResult
StatisticsMetric Stream TableEvidence Task TiedScores UnknownName View WatchResult
aggregate align annotate assay check compare demo depend estimate judge perturb rank read recommend report score watch
"""

ROWS = [
    {"seg_id": i, "system": system, "hyp": f"{word} number {i}", "ref": f"good number {i}", "domain": "d"}
    for i in range(6)
    for system, word in (("a", "good"), ("b", "bad"))
]


def test_the_exported_names_are_these() -> None:
    assert sorted(metassay.__all__) == sorted(EXPORTED.split())
    assert all(getattr(metassay, name) is not None for name in metassay.__all__)
    assert set(metassay.TYPES) | set(metassay.VERBS) == set(metassay.__all__)


def test_every_public_function_has_an_example_that_the_suite_runs() -> None:
    """The doctests of the package are run. This checks that each function has one."""
    functions = [getattr(metassay, name) for name in metassay.VERBS]
    arrays = {
        "meta.pairwise": ("pairwise_accuracy", "soft_pairwise_accuracy"),
        "meta.dependence": ("system_dependence",),
        "stats.rank_correlation": ("tau_ap", "tau_ap_a", "tau_ap_b", "weighted_tau", "kendall_tau"),
    }
    for module, names in arrays.items():
        functions += [getattr(importlib.import_module(f"metassay.{module}"), name) for name in names]
    bare = {function.__name__ for function in functions if ">>> " not in (function.__doc__ or "")}
    assert bare == set()


RESULTS = [name for name in metassay.TYPES if name.endswith("Result")]


@pytest.mark.parametrize("name", [*RESULTS, "Dataset"])
def test_every_method_of_a_result_is_called_by_an_example(name) -> None:
    """The example is in the docstring of the method, of its class, or of the base class that defines it."""
    family = [c for c in getattr(metassay, name).__mro__ if c.__module__.startswith("metassay")]
    methods = [(n, f) for c in family for n, f in vars(c).items() if inspect.isfunction(f) and n[0] != "_"]
    documents = [documented.__doc__ or "" for documented in (*family, *(method for _, method in methods))]
    parser = doctest.DocTestParser()
    shown = "".join(example.source for text in documents for example in parser.get_examples(text))
    assert {method for method, _ in methods if f".{method}(" not in shown} == set()
    assert all(method.__doc__ for _, method in methods)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, metassay; print(sorted({'numpy', 'polars', 'scipy', 'numba'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "verb",
    [
        "assay",
        "score",
        "perturb",
        "rank",
        "depend",
        "aggregate",
        "check",
        "judge",
        "align",
        "estimate",
        "annotate",
    ],
)
def test_every_option_is_a_keyword_with_its_default(verb) -> None:
    parameters = inspect.signature(getattr(metassay, verb)).parameters
    first, *others = parameters.values()
    assert first.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in others)
    assert all(p.default is not inspect.Parameter.empty for p in others)


def test_an_unknown_keyword_offers_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean metrics"):
        metassay.score(ROWS, metric="bleu")


def as_pandas(rows):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(rows, index=range(100, 100 + len(rows)))


def as_datasets(rows):
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_list(rows)


SOURCES = {
    "list of dicts": list,
    "polars": pl.DataFrame,
    "lazy": lambda rows: pl.DataFrame(rows).lazy(),
    "arrow": lambda rows: pl.DataFrame(rows).to_arrow(),
    "pandas": as_pandas,
    "datasets": as_datasets,
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_every_kind_of_source_is_the_same_data(tmp_path, make) -> None:
    pl.DataFrame(ROWS).write_csv(tmp_path / "a.csv")
    expected = metassay.read(str(tmp_path / "a.csv"))
    dataset = metassay.read(make(ROWS))
    columns = ["item", "system", "output", "references", "domain"]
    assert dataset.outputs.select(columns).equals(expected.outputs.select(columns))
    assert (
        metassay.score(make(ROWS), metrics="bleu").systems == metassay.score(expected, metrics="bleu").systems
    )


def test_what_can_be_no_data_is_refused_in_words() -> None:
    for source in (17, {"a": 1}, [1, 2], None):
        with pytest.raises(InputError, match="cannot be read from"):
            metassay.read(source)
    with pytest.raises(InputError, match="no file was named"):
        metassay.read([])
