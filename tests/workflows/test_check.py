"""`check` forecasts what `perturb` does, also for texts without spaces."""

import math
import re
import shlex
import statistics
from pathlib import Path

import polars as pl
import pytest

import metassay
from metassay.cli import run_command_line as run
from metassay.perturbations.forecast import estimate_perturbed_output_counts
from metassay.text.segmentation import is_word_segmenter_installed
from metassay.workflows.assay import read_bundled_sample

CHINESE = [
    "今天的天气非常好，我们决定去公园散步。",
    "这家公司在2021年推出了新的手机产品。",
    "他没有收到我们上周寄出的邮件。",
    "北京是中国的首都，也是一座历史悠久的城市。",
    "请把这份文件发给张经理，谢谢。",
    "孩子们在学校学习英语和数学。",
]
JAPANESE = [
    "今日は天気がとても良いので、公園を散歩しました。",
    "この会社は2021年に新しいスマートフォンを発売した。",
    "彼は会議がいつ始まるか教えてくれなかった。",
    "東京は日本の首都で、歴史のある街です。",
    "この書類を田中さんに送ってください。",
    "子どもたちは学校で英語と数学を勉強しています。",
]


def table(folder: Path, language: str) -> Path:
    """Two systems that drop the last or the first characters of a reference, and one that copies it."""
    texts = {"zh": CHINESE, "ja": JAPANESE}[language]
    shortened = {"whole": lambda t: t, "head": lambda t: t[:-4] + "。", "tail": lambda t: t[3:]}
    rows = [
        {
            "seg_id": i,
            "system": system,
            "lp": f"en-{language}",
            "hyp": f(text),
            "ref": text,
            "mqm": -len(text) + len(f(text)) - i % 2,
        }
        for i, text in enumerate(texts * 4)
        for system, f in shortened.items()
    ]
    path = folder / f"{language}.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


@pytest.fixture(params=["mt", "asr", "ranking", "text", "zh", "ja"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> metassay.Dataset:
    if request.param in {"zh", "ja"}:
        return metassay.read(table(tmp_path, request.param))
    data = read_bundled_sample(request.param)
    # `check` tries all outputs of a data set that is as small as this.
    return data.filter_rows(data.outputs["item"].is_in(data.items[:70]), reason="not needed for the test")


def test_forecast_equals_the_outputs_that_perturb_changes(data: metassay.Dataset) -> None:
    foretold = metassay.check(data).to_dict()["perturbations"]
    done = metassay.perturb(data, per_output=None, keep_references=False).pairs
    assert [row["perturbation"] for row in foretold] == list(done.counts)
    for row in foretold:
        assert row["outputs"] == done.counts[row["perturbation"]].applied
        assert row["applies"] == (row["outputs"] > 0)
        assert row["applies"] or row["why"]
        noted = any(note.startswith(row["perturbation"] + " ") for note in done.notes)
        assert noted == bool(row["why"] and not re.search("finds nothing to change$", row["why"]))


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_texts_without_spaces_are_assayed_and_ranked_by_default(tmp_path: Path, language: str) -> None:
    """Words are edited only if a package that finds them is installed."""
    path = table(tmp_path, language)
    data = metassay.read(path)
    rows = {row["perturbation"]: row for row in metassay.check(data).to_dict()["perturbations"]}
    for name in ("removal", "insertion", "swapping"):
        assert rows[name]["applies"] == is_word_segmenter_installed(language)
    assert rows["negation_removal"]["applies"] == (language == "zh")  # 教えてくれなかった bends too far
    assert f"does not know the language {language}" in rows["entity"]["why"]
    assay = metassay.assay(data, resamples=50, permutations=49).to_dict()
    assert assay
    assert metassay.rank(path, metrics="chrf,ter").to_dict()


def test_large_data_set_is_forecast_from_a_sample() -> None:
    data = read_bundled_sample("mt")
    some = estimate_perturbed_output_counts(data, maximum_outputs=len(data) // 3)
    assert {row.tried for row in some} != {len(data)}
    assert all(0 < row.tried <= len(data) // 3 + len(data.systems) for row in some)
    assert [row.perturbation for row in some] == [
        row.perturbation for row in estimate_perturbed_output_counts(data)
    ]


def test_only_slow_perturbations_are_tried_on_fewer_outputs() -> None:
    data = read_bundled_sample("mt")
    every = len(data)
    exact_forecasts = estimate_perturbed_output_counts(
        data, maximum_outputs=every, maximum_tagged_outputs=every
    )
    exact = {row.perturbation: row for row in exact_forecasts}
    for row in estimate_perturbed_output_counts(
        data, maximum_outputs=every, maximum_tagged_outputs=every // 4
    ):
        assert (row.tried < len(data)) == (row.perturbation in {"entity", "negation"})
        assert row.tried < len(data) or row == exact[row.perturbation]


def make_rated_rows(rated: int, systems: str = "abc") -> list[dict]:
    rows = []
    for n in range(40):
        for system in systems:
            reference = f"the small house number {n} is over there by the lake"
            score = float(n % 5) if n < rated else None
            rows.append(
                {
                    "seg_id": n,
                    "system": system,
                    "hyp": f"{reference} {system}",
                    "ref": reference,
                    "mqm": score,
                    "M": n / 7,
                }
            )
    return rows


def describe_questions(result) -> dict[str, str]:
    return {each.command.split()[1]: each.missing or "" for each in result.questions}


def test_check_ends_with_the_questions_that_the_data_can_answer():
    rated = metassay.check(metassay.read(make_rated_rows(30), language="en"))
    assert rated.rated_items == {"mqm": 30}
    assert describe_questions(rated) == dict.fromkeys(
        ["assay", "score", "rank", "estimate", "depend", "annotate"], ""
    )
    commands = [each.command for each in rated.questions]
    assert "metassay annotate DATA --human mqm --count 10" in commands
    few = describe_questions(metassay.check(metassay.read(make_rated_rows(12), language="en")))
    assert few["rank"] == "needs 8 more rated items"
    assert few["estimate"] == ""
    single = describe_questions(
        metassay.check(metassay.read(make_rated_rows(30, systems="a"), language="en"))
    )
    assert single["score"] == "there is one system only"
    assert single["rank"] == "needs 3 systems, there are 1"


def make_rows_with_difference(difference: float, lower_is_better: bool) -> list[dict]:
    """Rate 25 of 40 items; per item the scores of a and b differ by ±1, plus the difference."""
    sign = -1 if lower_is_better else 1
    rows = []
    for row in make_rated_rows(25):
        noise = 1 if row["seg_id"] % 2 else -1
        quality = {"a": difference + noise, "b": 0.0, "c": -5.0}[row["system"]]
        score = None if row["mqm"] is None else sign * (quality - 10)
        rows.append(row | {"mqm": None, "errors" if lower_is_better else "quality": score})
    return rows


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_check_says_how_many_ratings_would_separate_the_best_two_systems(lower_is_better):
    rows = make_rows_with_difference(0.3, lower_is_better)
    human = "errors" if lower_is_better else "quality"
    result = metassay.check(metassay.read(rows, language="en", human=human), metrics="chrf")
    pair = result.undecided_systems
    assert {pair.best, pair.second} == {"a", "b"}
    differences = [0.3 + (1 if n % 2 else -1) for n in range(25)]
    mean = statistics.mean(differences)
    assert pair.difference == pytest.approx(abs(mean))
    # Two-sided test at 5 %, power 80 %: (1.959964 + 0.841621)² = 7.848879.
    assert pair.needed == math.ceil(7.848879 * statistics.pvariance(differences) / mean**2)
    (question,) = [each for each in result.questions if each.question.startswith("do people prefer")]
    assert f"about {pair.needed - 25} more rated items" in question.missing


def test_systems_that_differ_already_need_no_more_ratings():
    rows = make_rows_with_difference(3.0, lower_is_better=False)
    result = metassay.check(metassay.read(rows, language="en", human="quality"), metrics="chrf")
    assert result.rated_items["quality"] == 25
    assert result.undecided_systems is None


def test_columns_of_metric_scores_are_not_contexts():
    rows = [row | {"domain": "news" if row["seg_id"] % 2 else "chat"} for row in make_rated_rows(30)]
    result = metassay.check(metassay.read(rows, language="en"))
    assert result.metric_columns == ["M"]
    assert result.contexts == {"system": 3, "domain": 2}


def test_the_suggested_commands_name_the_data_of_the_command(tmp_path, capsys):
    path = tmp_path / "my outputs.csv"
    pl.DataFrame(make_rated_rows(30)).write_csv(path)
    run(["check", str(path), "--language", "en", "--out", str(tmp_path / "run"), "--quiet"])
    lines = capsys.readouterr().out.splitlines()
    questions = lines[lines.index("You can ask:") + 1 :]
    assert f"metassay assay '{path}' --language en" in questions[0]
    commands = [
        shlex.split(line)[line.split().index("metassay") :] for line in questions if "metassay" in line
    ]
    assert len(commands) == 6


def test_check_begins_with_a_summary_and_the_questions(capfd, tmp_path):
    path = tmp_path / "rated.csv"
    pl.DataFrame(make_rated_rows(30)).write_csv(path)
    assert run(["check", str(path), "--language", "en", "--human", "mqm"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].endswith(
        "3 systems, 40 items, 1 reference per item, target language en, human scores mqm (30 items)."
    )
    assert "You can ask:" in lines[:4]
    assert not any("perturbation" in line for line in lines)
    assert run(["check", str(path), "--language", "en", "--human", "mqm", "--verbose"]) == 0
    assert "negation_removal" in capfd.readouterr().out


def test_perturbations_of_a_large_data_set_are_tried_on_a_sample() -> None:
    rows = []
    for n in range(1500):
        text = f"he did not see house number {n} by the lake"
        rows.append({"seg_id": n, "system": "a", "hyp": text, "ref": f"{text} today"})
    result = metassay.check(metassay.read(rows, language="en"))
    assert result.outputs == 1500
    assert max(row.tried for row in result.perturbations) == 750
    assert {row.perturbation: row.outputs for row in result.perturbations}["removal"] == 750
