"""`score` and `align` beside the programs people come from: sacrebleu's and jiwer's own command lines."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import jiwer
import polars as pl
import pytest

from metassay.cli import run_command_line as run
from metassay.sample import get_bundled_sample_path_and_options


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plain files of the bundled sample: ref.txt, and a file for each of two systems."""
    path = tmp_path_factory.mktemp("plain")
    frame = pl.read_parquet(get_bundled_sample_path_and_options("mt")[0]).sort("seg_id")
    systems = frame["system"].unique().sort()[:2].to_list()
    for name, system in zip("ab", systems):
        own = frame.filter(system=system)
        for file, column in ((f"{name}.txt", "hyp"), ("ref.txt", "ref")):
            lines = [" ".join(text.split()) for text in own[column]]
            (path / file).write_text("\n".join(lines) + "\n")
    return path


def sacrebleu(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "sacrebleu", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def metassay(capfd, folder: Path, *arguments: str) -> tuple[str, str]:
    status = run([str(folder / one) if one.endswith(".txt") else one for one in arguments])
    captured = capfd.readouterr()
    assert status == 0, captured.err
    return captured.out, captured.err


def test_verbose_prints_the_lines_of_sacrebleu(capfd, folder) -> None:
    official = sacrebleu(folder, "ref.txt", "-i", "a.txt", "-m", "bleu", "chrf", "ter", "--format", "text")
    plus = sacrebleu(
        folder, "ref.txt", "-i", "a.txt", "-m", "chrf", "--chrf-word-order", "2", "--format", "text"
    )
    out, _ = metassay(
        capfd, folder, "score", "-r", "ref.txt", "a.txt", "-m", "bleu,chrf,ter,chrf++", "--verbose", "-q"
    )
    lines = [line.strip() for line in f"{official}{plus}".splitlines()]
    assert len(lines) == 4
    assert [line for line in lines if line not in out.splitlines()] == []
    assert "chrF++" in out


def test_the_bare_number_is_that_of_sacrebleu(capfd, folder) -> None:
    for more in ([], ["-w", "4"]):
        official = sacrebleu(folder, "ref.txt", "-i", "a.txt", "-b", *more)
        assert metassay(capfd, folder, "score", "--reference", "ref.txt", "a.txt", "-b", *more)[0] == official
    out, err = metassay(capfd, folder, "score", "ref.txt", "-i", "a.txt", "-b")
    assert out == sacrebleu(folder, "ref.txt", "-i", "a.txt", "-b")
    assert "ref.txt is used as the reference." in err


def test_outputs_come_on_standard_input(folder) -> None:
    text = (folder / "b.txt").read_text()
    ours, official = (
        subprocess.check_output([sys.executable, "-m", *command], input=text, text=True, cwd=folder)
        for command in (["metassay", "score", "-r", "ref.txt", "-b"], ["sacrebleu", "ref.txt", "-b"])
    )
    assert ours == official


def test_json_has_precisions_counts_and_signature(capfd, folder) -> None:
    found = json.loads(sacrebleu(folder, "ref.txt", "-i", "b.txt"))
    out, _ = metassay(capfd, folder, "score", "-r", "ref.txt", "b.txt", "-m", "bleu", "--json", "-q")
    (row,) = json.loads(out)["systems"]
    about = row["official"]
    assert about["signature"] == found["signature"]
    precisions = "/".join(f"{precision:.1f}" for precision in about["precisions"])
    assert found["verbose_score"].startswith(f"{precisions} (BP = {about['brevity_penalty']:.3f} ")
    assert f"hyp_len = {about['ngrams'][0]} ref_len = {about['reference_length']})" in found["verbose_score"]
    shares = [100 * own / every for own, every in zip(about["matches"], about["ngrams"])]
    assert shares == pytest.approx(about["precisions"])


def test_what_sacrebleu_could_not_sign_has_no_line_of_it(capfd, folder) -> None:
    asked = ["score", "-r", "ref.txt", "b.txt", "-m", "bleu(order=2)", "--json", "-q"]
    assert json.loads(metassay(capfd, folder, *asked)[0])["systems"][0]["official"] is None
    speech = [*asked[:-3], "bleu", "--task", "asr", "--normalize", "english", "--json", "-q"]
    assert json.loads(metassay(capfd, folder, *speech)[0])["systems"][0]["official"] is None


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_intervals_are_as_wide_as_sacrebleus(capfd, folder, metric) -> None:
    official = json.loads(
        sacrebleu(folder, "ref.txt", "-i", "a.txt", "-m", metric, "--confidence", "-w", "4")
    )
    asked = ["score", "-r", "ref.txt", "a.txt", "-m", metric, "--json", "-q", "--resamples", "4000"]
    (row,) = json.loads(metassay(capfd, folder, *asked)[0])["systems"]
    assert (row["high"] - row["low"]) / 2 == pytest.approx(official["confidence_var"], rel=0.12)
    assert (row["high"] + row["low"]) / 2 == pytest.approx(official["confidence_mean"], rel=0.02)


def test_one_row_for_each_system_and_one_column_for_each_metric(capfd, folder) -> None:
    asked = ["score", "-r", "ref.txt", "a.txt", "b.txt", "-m", "bleu,chrf++,rougel", "-q"]
    out, err = metassay(capfd, folder, *asked)
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert lines[0] == ["system", "BLEU", "chrF++", "ROUGE-L"]
    rows = json.loads(metassay(capfd, folder, *asked, "--json")[0])["systems"]
    for line, system in zip(lines[2:4], "ab"):
        own = [row for row in rows if row["system"] == system]
        shown = [f"{row['corpus']:.1f}" for row in own[:2]] + [f"{own[2]['segment']:.3f}"]
        halves = [(row["high"] - row["low"]) / 2 for row in own]
        widths = [f"{half:.1f}" for half in halves[:2]] + [f"{halves[2]:.3f}"]
        assert line == [system, *(word for pair in zip(shown, "±±±", widths) for word in pair)]
    assert "because there is no corpus score: ROUGE-L." in out
    assert "Note" not in err


def test_a_reference_is_never_scored_as_a_system_without_a_word(capfd, folder, tmp_path) -> None:
    copy = tmp_path / "newstest.refA.en.txt"
    copy.write_text((folder / "ref.txt").read_text())
    _, err = metassay(capfd, folder, "score", "-r", "ref.txt", "a.txt", str(copy), "-m", "chrf", "-q")
    assert f"{copy} is scored as a system, although its name suggests a reference." in err
    assert "whose outputs are the reference are scored too: newstest.refA.en." in err
    wrong = (["a.txt", "ref.txt"], ["-i", "a.txt", "b.txt", "ref.txt"], ["-i", "a.txt", "b.txt"])
    for arguments in wrong:
        assert run(["score", *(str(folder / one) if ".txt" in one else one for one in arguments)]) == 2
        assert "--reference FILE" in capfd.readouterr().err


def test_alignments_are_those_of_jiwer(capfd, tmp_path) -> None:
    draw = random.Random(5)
    words = ["a", "cat", "sat", "on", "the", "mat", "yesterday", "très", "loin"]
    references = [" ".join(draw.choices(words, k=draw.randint(2, 12))) for _ in range(60)]
    outputs = [
        " ".join(word for word in line.split() for _ in range(draw.choice([0, 1, 1, 1, 2]))) or "mat mat"
        for line in references
    ]
    for name, lines in (("ref.txt", references), ("hyp.txt", outputs)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    for flag, process in (([], jiwer.process_words), (["--characters"], jiwer.process_characters)):
        out, _ = metassay(capfd, tmp_path, "align", "-r", "ref.txt", "hyp.txt", *flag)
        assert out == jiwer.visualize_alignment(process(references, outputs), show_measures=True)
        out, _ = metassay(capfd, tmp_path, "align", "-r", "ref.txt", "hyp.txt", *flag, "--all")
        official = jiwer.visualize_alignment(process(references, outputs), skip_correct=False)
        assert out == official


def test_alignments_of_several_systems_as_json(capfd, folder) -> None:
    out, _ = metassay(capfd, folder, "align", "-r", "ref.txt", "a.txt", "b.txt", "--json")
    steps = pl.DataFrame(json.loads(out)["alignments"], infer_schema_length=None)
    for system in "ab":
        lines = [(folder / name).read_text().splitlines() for name in ("ref.txt", f"{system}.txt")]
        counts = jiwer.process_words(*lines)
        own = dict(steps.filter(system=system)["kind"].value_counts().iter_rows())
        assert own["substitution"] == counts.substitutions
        assert own["insertion"] == counts.insertions
        assert own["deletion"] == counts.deletions
    kept = folder / "kept"
    printed, _ = metassay(capfd, folder, "align", "-r", "ref.txt", "a.txt", "b.txt", "--out", str(kept))
    assert printed.count("=== SUMMARY ===") == printed.count("=== SYSTEM ") == 2
    assert printed.endswith(f"Results: {kept}/results\n")
    assert json.loads((kept / "results/align.json").read_text("utf-8")) == json.loads(out)
    assert pl.read_csv(kept / "results/align.csv", infer_schema=False).equals(steps)


def test_a_reader_that_has_seen_enough_is_no_error(folder) -> None:
    command = [sys.executable, "-m", "metassay"]
    lines = [f"{number} the cat" for number in range(3000)]
    (folder / "many.txt").write_text("\n".join(lines))
    (folder / "wrong.txt").write_text("\n".join(line.replace("cat", "dog") for line in lines))
    for arguments in (["align", "-r", "many.txt", "wrong.txt"], ["run", "--schema"]):
        with subprocess.Popen(
            [*command, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            process.stdout.readline()
            process.stdout.close()
            err = process.stderr.read()
        assert "Traceback" not in err
        assert "rror" not in err
        assert process.returncode == 141


def test_out_leaves_scores_and_what_was_checked(capfd, folder, tmp_path) -> None:
    asked = ["-r", "ref.txt", "a.txt", "b.txt", "-m", "bleu,rougel", "-q"]
    out, _ = metassay(capfd, folder, "score", *asked, "--out", str(tmp_path / "run"), "--json")
    assert json.loads((tmp_path / "run/results/score.json").read_text()) == json.loads(out)
    segments = pl.read_parquet(tmp_path / "run/results/segments.parquet")
    assert segments.columns == ["item", "system", "metric", "score"]
    assert pl.read_csv(tmp_path / "run/results/score.csv").height == 4
    first = {path.name: path.read_bytes() for path in (tmp_path / "run/results").iterdir()}
    metassay(capfd, folder, "score", *asked, "--out", str(tmp_path / "run"))
    assert {path.name: path.read_bytes() for path in (tmp_path / "run/results").iterdir()} == first
    refused = ["score", *asked[:-1], "--seed", "3", "--out", str(tmp_path / "run")]
    assert run([str(folder / one) if one.endswith(".txt") else one for one in refused]) == 2
    assert "this folder holds another run" in capfd.readouterr().err
    metassay(capfd, folder, "check", "-r", "ref.txt", "a.txt", "--out", str(tmp_path / "checked"))
    found = json.loads((tmp_path / "checked/results/check.json").read_text())
    assert found["outputs"] == len((folder / "a.txt").read_text().splitlines())


def test_a_run_has_intervals_although_only_the_score_is_printed(capfd, folder, tmp_path) -> None:
    arguments = ["score", "-r", "ref.txt", "a.txt", "-m", "chrf", "-q", "-b", "--out", str(tmp_path / "run")]
    assert metassay(capfd, folder, *arguments)[0].strip().replace(".", "").isdigit()
    (row,) = json.loads((tmp_path / "run" / "results" / "score.json").read_text())["systems"]
    assert row["low"] < row["corpus"] < row["high"]
