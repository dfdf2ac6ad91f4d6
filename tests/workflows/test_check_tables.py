"""`check` recognises tables of scores, verdicts and pairs, and the commands that it suggests work."""

import random
import shlex
from pathlib import Path

import polars as pl
import pytest

import metassay
from fake_llm_server import answer
from metassay.cli import run_command_line as run
from metassay.errors import InputError


def make_scores(items: int = 30, **columns) -> pl.DataFrame:
    generator = random.Random(1)
    rows = []
    for item in range(items):
        for system, quality in (("a", 0.0), ("b", 1.0), ("c", 2.0)):
            human = quality + generator.gauss(0, 1)
            score = human + generator.gauss(0, 1)
            rows.append({"seg_id": item, "system": system, "mqm": human, "comet": score, "ter": 10 - score})
    return pl.DataFrame(rows).with_columns(**columns)


def make_outputs() -> pl.DataFrame:
    scores = make_scores(lp=pl.lit("de-en"))
    texts = [
        f"the small house number {item} is over there by the lake {system}"
        for item, system in scores.select("seg_id", "system").iter_rows()
    ]
    references = [text[:-2] for text in texts]
    return scores.with_columns(hyp=pl.Series(texts), ref=pl.Series(references))


def make_verdicts() -> pl.DataFrame:
    rows = [
        {"item": item, "judge": judge, "winner": 1 + (item + swapped) % 3 % 2, "swapped": swapped}
        for item in range(20)
        for judge in ("gpt", "llama")
        for swapped in (0, 1)
    ]
    return pl.DataFrame(rows)


def make_pairs() -> pl.DataFrame:
    rows = [
        {
            "item": item % 20,
            "output": f"The house number {item} is red and very old.",
            "worse": f"The house number {item} is is {('blue', 'not')[item % 2]}.",
            "ref": f"House number {item % 20} is red and old.",
            "perturbation": ("colour", "negation")[item % 2],
        }
        for item in range(40)
    ]
    return pl.DataFrame(rows)


def check_and_run_suggestions(table: pl.DataFrame, folder: Path, capsys, *options: str) -> list[str]:
    """Run `check` and every command that it suggests; return the lines that `check` prints."""
    path = folder / "my table.csv"
    table.write_csv(path)
    assert run(["check", str(path), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line in list_commands(lines):
        assert run([*shlex.split(line), "--quiet"]) == 0, line
        assert capsys.readouterr().out
    return lines


def list_commands(lines: list[str]) -> list[str]:
    return [line.split("  metassay ")[1] for line in lines if "  metassay " in line]


@pytest.fixture(autouse=True)
def work_in_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_scores_without_outputs(tmp_path, capsys):
    lines = check_and_run_suggestions(make_scores(), tmp_path, capsys)
    assert lines[0] == (
        "Metric scores without outputs: 3 systems, 30 items, 2 metrics (comet, ter), human scores mqm (30 items)."
    )
    assert lines[1].startswith("Lower is better for ter; higher is better for the others.")
    assert [line.split()[0] for line in list_commands(lines)] == ["rank", "estimate", "depend"]
    (missing,) = [line for line in lines if line.startswith("Not yet")]
    assert "needs the outputs" in missing


def test_scores_in_a_row_per_metric_and_with_other_names(tmp_path, capsys):
    long = make_scores().unpivot(index=["seg_id", "system"], variable_name="metric", value_name="score")
    lines = check_and_run_suggestions(long, tmp_path, capsys)
    assert "3 systems, 30 items, 2 metrics (comet, ter), human scores mqm" in lines[0]
    renamed = make_scores().rename({"seg_id": "sentence", "mqm": "our quality"})
    options = ["--column", "item=sentence", "--human", "our quality"]
    lines = check_and_run_suggestions(renamed, tmp_path, capsys, *options)
    assert "human scores our quality (30 items)" in lines[0]


def test_scores_without_human_scores(tmp_path, capsys):
    lines = check_and_run_suggestions(make_scores().drop("mqm"), tmp_path, capsys)
    assert "no human scores" in lines[0]
    assert [line.split()[0] for line in list_commands(lines)] == ["annotate"]


@pytest.mark.parametrize("make_table", [make_scores, make_outputs])
def test_several_test_sets(make_table, tmp_path, capsys):
    """`estimate` and `annotate` take one test set, so that the commands name the one with most ratings."""
    first = make_table().with_columns(lp=pl.lit("de-en"))
    is_rated = pl.col("seg_id") < 25
    second = make_table().with_columns(
        pl.when(is_rated).then("mqm"), lp=pl.lit("zh-en"), system=pl.format("other {}", "system")
    )
    lines = check_and_run_suggestions(pl.concat([second, first]), tmp_path, capsys)
    assert "6 systems, 60 items" in lines[0]
    assert "mqm (55 items)" in lines[0]
    (estimate,) = [line for line in lines if "metassay estimate" in line]
    assert "from 30 rated items" in estimate
    assert "--where lp=de-en" in estimate


def test_outputs(tmp_path, capsys):
    lines = check_and_run_suggestions(make_outputs(), tmp_path, capsys)
    assert "2 columns of metric scores" in lines[0]


def test_plain_text_files(tmp_path, capsys):
    """Also the verbs that compare scores read the files that `check` was given."""
    table = make_outputs()
    (tmp_path / "ref.txt").write_text("".join(f"{text}\n" for text in table.filter(system="a")["ref"]))
    systems = []
    for system in "abc":
        systems.append(f"system_{system}.txt")
        lines = "".join(f"{text}\n" for text in table.filter(system=system)["hyp"])
        (tmp_path / systems[-1]).write_text(lines)
    scores = pl.concat(table.filter(system=system) for system in "abc")["mqm"]
    (tmp_path / "mqm.txt").write_text("".join(f"{score}\n" for score in scores))
    files = ["-r", "ref.txt", *systems, "--language", "en"]
    for options, verbs in (
        ([], ["assay", "score", "annotate"]),
        (["--join", "mqm.txt"], ["assay", "score", "rank", "estimate", "depend"]),
    ):
        assert run(["check", *files, *options]) == 0
        commands = list_commands(capsys.readouterr().out.splitlines())
        assert [command.split()[0] for command in commands] == verbs
        for command in commands:
            assert run([*shlex.split(command), "--quiet"]) == 0, command
    assert "3 systems, 30 items" in capsys.readouterr().out
    # As before, the option can also name a reference of mt-metrics-eval.
    make_scores().write_csv(tmp_path / "scores.csv")
    assert run(["rank", "scores.csv", "--reference", "refA"]) == 0


def test_reference_is_not_one_of_two_undecided_systems():
    table = make_outputs()
    reference = table.filter(system="c").with_columns(hyp="ref", system=pl.lit("human"))
    result = metassay.check(pl.concat([table, reference]))
    assert result.reference_systems == ["human"]
    pair = result.undecided_systems
    assert pair is None or "human" not in (pair.best, pair.second)


def test_verdicts_with_and_without_labels(tmp_path, capsys):
    lines = check_and_run_suggestions(make_verdicts(), tmp_path, capsys)
    assert lines[0] == (
        "Verdicts of judges: 80 verdicts on 20 pairs of outputs, shown in both orders, 2 judges (gpt, llama),"
        " no human labels."
    )
    assert len(list_commands(lines)) == 1
    assert any("needs human labels: a column better" in line for line in lines)
    labels = tmp_path / "labels.csv"
    pl.DataFrame({"item": range(20), "better": [1, 2] * 10}).write_csv(labels)
    lines = check_and_run_suggestions(make_verdicts(), tmp_path, capsys, "--join", str(labels))
    assert "human labels on all (better)" in lines[0]
    assert len(list_commands(lines)) == 2
    # A human column of another name is named in the commands.
    labelled = make_verdicts().with_columns(truth=1 + pl.col("item") % 2)
    lines = check_and_run_suggestions(labelled, tmp_path, capsys, "--human", "truth")
    assert all("--human truth" in line for line in list_commands(lines))


def test_verdicts_with_raters_and_families(tmp_path, capsys):
    rows = []
    for item in range(20):
        for system, family in (("gpt-4", "GPT"), ("llama-3", "Llama")):
            grades = {
                "human:ann": item % 5 + 0.5,
                "human:bob": (item + 1) % 5,
                "score": (item + len(family)) % 5,
            }
            names = {"item": item, "system": system, "family": family, "judge": "gpt", "judge_family": "GPT"}
            rows.append(names | grades)
    lines = check_and_run_suggestions(pl.DataFrame(rows), tmp_path, capsys)
    assert lines[0].startswith("Grades of judges: 40 grades on 40 outputs, 1 judge (gpt), 2 systems,")
    assert len(list_commands(lines)) == 3
    assert not any(line.startswith("Not yet") for line in lines)


def test_verdicts_of_an_arena(tmp_path, capsys):
    names = [("x", "y"), ("y", "z"), ("x", "z")] * 10
    arena = pl.DataFrame(names, schema=["model_a", "model_b"], orient="row").with_columns(
        question_id=pl.int_range(pl.len()), winner=pl.lit("model_a")
    )
    lines = check_and_run_suggestions(arena, tmp_path, capsys)
    assert "30 verdicts on 30 pairs of outputs, 1 judge (no column of judges), 3 systems" in lines[0]


def test_pairs_that_a_judge_can_be_asked_about(tmp_path, capsys, server):
    table = make_pairs().rename({"output": "output_1", "worse": "output_2"}).drop("ref")
    table = table.with_columns(item=pl.int_range(pl.len()), better=1)
    lines = check_and_run_suggestions(table, tmp_path, capsys)
    assert (
        lines[0] == "Pairs of outputs, not yet judged: 40 pairs of outputs, the better one in column better."
    )
    (missing,) = [line for line in lines if line.startswith("Not yet")]
    command = missing.split("metassay ")[1].removesuffix(").")
    url = server(lambda handler, _: handler.reply(answer("Better: A"))).url
    command = command.replace("URL", f"{url}").replace("NAME", "model")
    assert run([*shlex.split(command), "--quiet"]) == 0
    assert "agree" in capsys.readouterr().out


def test_pairs_of_outputs_and_worse_outputs(tmp_path, capsys):
    lines = check_and_run_suggestions(make_pairs(), tmp_path, capsys, "--language", "en")
    assert lines[0].startswith("Pairs of an output and a worse output (text generation): 40 pairs, 20 items,")
    assert [line.split()[0] for line in list_commands(lines)] == ["assay", "assay"]
    # Items that occur once could also be outputs of one system.
    single = make_pairs().head(20)
    assert metassay.check(single, language="en").kind == "pairs"


def test_kinds_of_tables_in_python():
    assert metassay.check(make_outputs()).kind == "outputs"
    scores = metassay.check(make_scores())
    assert (scores.kind, scores.metric_columns, scores.rated_items) == (
        "scores",
        ["comet", "ter"],
        {"mqm": 30},
    )
    assert {score.score: score.better for score in scores.data.scores}["ter"] == "lower"
    verdicts = metassay.check(make_verdicts())
    assert verdicts.kind == "verdicts"
    assert verdicts.to_frame().rows() == [("gpt", 40, 0), ("llama", 40, 0)]


def test_options_for_reading_do_not_apply_to_a_data_set_that_is_read():
    assert metassay.check(make_outputs(), where={"system": ["a", "b"]}).to_frame().height == 2
    with pytest.raises(InputError, match="read already, so where has no effect"):
        metassay.check(metassay.read(make_outputs()), where={"system": ["a", "b"]})


def test_results_of_tables_are_stored(tmp_path):
    for name, table in (("scores", make_scores()), ("verdicts", make_verdicts())):
        metassay.check(table, out=tmp_path / name)
        assert (tmp_path / name / "results" / "check.json").exists()


def test_other_tables_keep_their_error():
    table = pl.DataFrame({"item": [1, 2], "text": ["a", "b"]})
    with pytest.raises(InputError, match="no column holds the output"):
        metassay.check(table)


def test_ratings_alone_are_human_scores_that_lack_metrics():
    result = metassay.check(make_scores().drop("comet", "ter"))
    assert result.verdict[0].sentence.startswith(
        "Human scores without outputs and metrics: 3 systems, 30 items"
    )
    assert {question.missing for question in result.questions if "rank" in question.command} == {
        "needs metric scores: add --join FILE"
    }


def test_published_verdicts_and_scores(real_data):
    verdicts = metassay.check(real_data("judges/llmbar_verdicts.parquet")).verdicts
    assert (verdicts.questions, len(verdicts.judges), verdicts.has_both_orders) == (419, 6, True)
    assert sum(judge.verdicts for judge in verdicts.judges) == 5028
    scores = metassay.check(real_data("wmt23/wmt23_en-de_metrics.parquet"))
    assert (len(scores.systems), scores.items, len(scores.metric_columns)) == (12, 460, 43)
