"""Run folders that somebody edited: errors name the place, and nothing is a traceback."""

from __future__ import annotations

import contextlib
import copy
import json
import shutil
from pathlib import Path
from random import Random

import jsonschema
import pytest

from metassay.errors import InputError
from metassay.results.assay import AssayContent
from metassay.results.base import decode_json
from metassay.schemas import build_json_schema_of_output
from metassay.store.run_folder import RunFolder
from metassay.workflows.assay import assay
from metassay.workflows.compare import compare
from metassay.workflows.pair_table import PairTable
from metassay.workflows.read import read
from metassay.workflows.recommend import recommend
from metassay.workflows.report import report
from metassay.workflows.run_collection import RunCollection, read_report
from run_copies import copy_without_checksums

TABLE = "seg_id,system,domain,hyp,ref\n" + "".join(
    f"{item},{system},{'news' if item % 2 else 'chat'},the cat sat {item} {system},the cat sat {item} times\n"
    for item in range(8)
    for system in "abc"
)
VALUES = (None, True, 0, -1, 1.0, 2.5, 10**30, "", "x", [], {}, [None], {"": 1}, [{}])


def summarize_runs(folder):
    return RunCollection([folder]).summarize_runs_on_page()


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "data.csv").write_text(TABLE)
    data = read(folder / "data.csv", language="en", task="mt")
    assay(data, metrics="chrf,bleu", contexts=["domain"], resamples=20, permutations=19, out=folder / "run")
    return folder / "run"


@pytest.fixture
def runs(finished, tmp_path) -> Path:
    """Two copies of the run without checksums, so that what is in the files is read at all."""
    for name in ("one", "two"):
        copy_without_checksums(finished, tmp_path / name)
    return tmp_path


READERS = {
    "report": report,
    "recommend": recommend,
    "compare": lambda run: compare(run, run),
    "explorer": lambda run: PairTable(RunFolder.open_for_reading(run)).read_metric_accuracies("domain"),
    "page": lambda run: read_report(RunFolder.open_for_reading(run)),
}


@pytest.mark.parametrize(
    ("reader", "name"),
    [
        ("report", "results/assay.json"),
        ("report", "results/examples.json"),
        ("recommend", "results/assay.json"),
        ("compare", "results/assay.json"),
        ("compare", "results/cluster_credits.parquet"),
        ("compare", "outputs.parquet"),
        ("explorer", "pairs.parquet"),
        ("explorer", "results/explorer.parquet"),
        ("explorer", "results/local_accuracy.parquet"),
        ("page", "report.html"),
    ],
)
def test_no_reader_believes_a_file_that_was_changed_after_the_run(finished, tmp_path, reader, name) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    READERS[reader](run)
    with (run / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(InputError, match=f"{name}: this file was changed after the run"):
        READERS[reader](run)


def test_the_overview_does_not_believe_a_changed_result(finished, tmp_path) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    file = run / "results" / "assay.json"
    file.write_text(file.read_text().replace("chrf", "chrg"))
    assert "this file was changed after the run" in summarize_runs(run).runs[0].error


def test_a_report_that_is_written_anew_gets_a_new_checksum(finished, tmp_path, monkeypatch) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    monkeypatch.setattr("metassay.workflows.report.render_page", lambda _: "<p>new</p>")
    report(run)
    assert read_report(RunFolder.open_for_reading(run)) == b"<p>new</p>"


def test_a_report_never_replaces_a_file_that_is_no_report(finished, tmp_path) -> None:
    data = tmp_path / "data.csv"
    data.write_text(TABLE)
    with pytest.raises(InputError, match="this file exists and is not a report"):
        report(finished, out=data)
    assert data.read_text() == TABLE
    page = tmp_path / "page.html"
    report(finished, out=page)
    assert report(finished, out=page) == page


def edited(document, random: Random):
    """The document with one value somewhere in it replaced or left out."""
    document = copy.deepcopy(document)
    holder, key, inner = None, None, document
    while isinstance(inner, dict | list) and inner and (holder is None or random.random() < 0.85):
        holder = inner
        key = random.choice(list(inner)) if isinstance(inner, dict) else random.randrange(len(inner))
        inner = holder[key]
    if random.random() < 0.3:
        del holder[key]
    else:
        holder[key] = random.choice(VALUES)
    return document


def is_readable(document) -> bool:
    try:
        decode_json(json.dumps(document).encode(), AssayContent, "assay.json")
    except InputError:
        return False
    return True


def test_what_the_schema_of_a_result_forbids_is_not_read(finished) -> None:
    content = json.loads((finished / "results" / "assay.json").read_text())
    validator = jsonschema.Draft202012Validator(build_json_schema_of_output("assay"))
    assert is_readable(content)
    verdicts = {True: 0, False: 0}
    for number in range(600):
        document = edited(content, Random(number))
        is_valid = validator.is_valid(document)
        assert is_valid or not is_readable(document), number
        verdicts[is_readable(document)] += 1
    assert min(verdicts.values()) > 50


def test_the_place_of_a_fault_is_named(runs) -> None:
    file = runs / "one" / "results" / "assay.json"
    result = json.loads(file.read_text())
    result["contexts"]["domain"]["local_accuracy"][1]["accuracy"] = 1.5
    file.write_text(json.dumps(result))
    for reader in (report, recommend, lambda run: compare(run, run)):
        with pytest.raises(
            InputError, match=r"Expected `float` <= 1.0 - at `.*local_accuracy\[1\]\.accuracy`"
        ) as error:
            reader(runs / "one")
        assert str(error.value).startswith(str(file)[:40])
    assert "local_accuracy[1].accuracy" in summarize_runs(runs / "one").runs[0].error


BROKEN = {
    "manifest.json": ("[]", "null", '{"identity": 5}', "{", "", "\xff", "[" * 100_000),
    "results/assay.json": ("[]", "null", "{}", "{", "NaN", '{"schema_version": 1}', "[" * 100_000),
    "results/examples.json": ("5", "{}", "[5]", "{", '[{"item": 1}]'),
    "timings.json": ("[]", "null", "{}", '{"seconds_per_1000_outputs": 5}', '{"seconds_per_1000_outputs": {"bleu": "x"}}'),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_files_that_somebody_wrote_over(runs, name) -> None:
    for content in BROKEN[name]:
        (runs / "one" / name).write_text(content, encoding="latin-1")
        said = []
        for reader in (report, recommend, lambda run: compare(run, runs / "two")):
            try:
                reader(runs / "one")
            except InputError as error:
                said.append(str(error))
        said += [run.error for run in summarize_runs(runs).runs if run.error]
        assert all(len(text) <= 500 and text.count("\n") <= 1 for text in said)
        assert said or name == "results/examples.json", content


def test_results_that_do_not_fit_together_are_said_to(runs) -> None:
    file = runs / "one" / "results" / "assay.json"
    result = json.loads(file.read_text())
    result["recommendation"] = {}
    file.write_text(json.dumps(result))
    with pytest.raises(InputError, match=r"one: its results cannot be read \(KeyError: 'domain'\)"):
        recommend(runs / "one")


@pytest.mark.parametrize("name", ["x" * 300, "\0", ""])
def test_names_that_no_run_can_have(name, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for reader in (report, recommend, summarize_runs, lambda run: compare(run, run)):
        with pytest.raises(InputError):
            reader(name)


@pytest.mark.parametrize("name", ["manifest.json", "results/assay.json", "results/examples.json"])
def test_half_a_character_is_refused_by_name(runs, name) -> None:
    file = runs / "one" / name
    text = file.read_text()
    assert "chrf" in text
    file.write_text(text.replace("chrf", "chr\\ud83d\\ude00"))
    with contextlib.suppress(InputError):  # a whole character is read, whatever else is then wrong
        report(runs / "one")
    file.write_text(text.replace("chrf", "chr\\ud83d"))
    with pytest.raises(InputError, match=f"{name}.*(half a character|surrogate)"):
        report(runs / "one")
