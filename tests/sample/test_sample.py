"""The bundled sample: its size, shape and honesty, and that its script makes it again."""

from __future__ import annotations

import gzip
import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jiwer
import polars as pl
import pytest
import pytrec_eval
import sacrebleu

from metassay.errors import UnknownName
from metassay.sample import get_bundled_sample_path, list_sample_tasks

ROOT = Path(__file__).parents[2]
SAMPLE = get_bundled_sample_path("mt").parent


@pytest.fixture(scope="module")
def mt() -> pl.DataFrame:
    return pl.read_parquet(get_bundled_sample_path("mt"))


def rebuild(part: str, folder: Path) -> None:
    command = [sys.executable, "-m", "scripts.make_sample", part, "--out", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=600)


def debian_version(package: str) -> str:
    if shutil.which("dpkg-query") is None:
        return ""
    query = ["dpkg-query", "-W", "-f", "${Version}", package]
    return subprocess.run(query, check=False, capture_output=True, text=True).stdout


def test_an_unknown_task_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="ranking"):
        get_bundled_sample_path("summarisation")


@pytest.mark.parametrize("task", list_sample_tasks())
def test_every_task_has_its_sample(task: str) -> None:
    assert get_bundled_sample_path(task).exists()


def test_it_is_smaller_than_a_megabyte() -> None:
    data = [file for file in SAMPLE.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    assert 0 < sum(file.stat().st_size for file in data) < 1_000_000


def test_the_translations_are_a_full_table(mt: pl.DataFrame) -> None:
    names = ["lp", "domain", "doc_id", "seg_id", "system", "src", "ref", "hyp", "mqm", "rater", "human_kind"]
    assert mt.columns == names
    assert mt.null_count().row(0) == (0,) * len(names)
    items, systems = mt["seg_id"].n_unique(), mt["system"].n_unique()
    assert items >= 150
    assert systems >= 6
    assert mt.select("seg_id", "system").n_unique() == mt.height == items * systems
    per_item = mt.group_by("seg_id").agg(pl.col("src", "ref", "domain", "doc_id", "rater").n_unique())
    assert per_item.drop("seg_id").max().row(0) == (1,) * 5
    assert mt.group_by("domain").agg(pl.col("seg_id").n_unique())["seg_id"].to_list() == [54, 54, 54]
    assert mt["hyp"].str.strip_chars().str.len_chars().min() > 0


def test_the_scores_are_called_simulated_and_look_like_mqm(mt: pl.DataFrame) -> None:
    assert mt["human_kind"].unique().to_list() == ["simulated"]
    assert mt["mqm"].max() == 0
    assert -25 <= mt["mqm"].min() < -10
    same_output = mt.group_by("seg_id", "hyp").agg(pl.col("mqm").n_unique())
    assert same_output["mqm"].max() == 1


def test_no_system_is_its_own_reference(mt: pl.DataFrame) -> None:
    equal = mt.group_by("system").agg((pl.col("hyp") == pl.col("ref")).mean().alias("equal"))
    assert equal["equal"].max() < 0.5


def test_the_translators_differ_in_quality(mt: pl.DataFrame) -> None:
    bleu, mqm = {}, {}
    for (system,), rows in mt.group_by("system"):
        bleu[system] = sacrebleu.corpus_bleu(rows["hyp"].to_list(), [rows["ref"].to_list()]).score
        mqm[system] = rows["mqm"].mean()
    assert bleu["gloss"] < bleu["apertium"] < bleu["postedit"]
    assert max(bleu.values()) - min(bleu.values()) > 30
    # The freest translation is the best one and the last for BLEU: what people and the metric disagree on.
    assert max(mqm, key=mqm.__getitem__) == min(bleu, key=bleu.__getitem__) == "second"
    assert mqm["gloss"] < mqm["apertium"] < mqm["postedit"]


def test_the_domains_disagree_on_the_best_channel(mt: pl.DataFrame) -> None:
    channels = mt.filter(pl.col("system").is_in(["brief", "mixup", "jumble"]))
    means = channels.group_by("domain", "system").agg(pl.col("mqm").mean()).sort("mqm")
    best = dict(means.group_by("domain", maintain_order=True).agg(pl.col("system").last()).iter_rows())
    assert best["news"] == best["howto"] == "jumble"
    assert best["conversation"] != "jumble"


@pytest.mark.skipif(debian_version("apertium-eng-spa") != "0.8.1-2", reason="needs apertium-eng-spa 0.8.1-2")
def test_the_script_makes_the_translations_again(mt: pl.DataFrame, tmp_path: Path) -> None:
    rebuild("mt", tmp_path)
    assert pl.read_parquet(tmp_path / "mt.parquet").equals(mt)


@pytest.fixture(scope="module")
def asr() -> pl.DataFrame:
    return pl.read_parquet(get_bundled_sample_path("asr"))


def word_error_rate(rows: pl.DataFrame) -> float:
    plain = rows.with_columns(pl.col("ref", "hyp").str.to_lowercase().str.replace_all(r"[^\w' ]+", " "))
    return jiwer.wer(plain["ref"].to_list(), plain["hyp"].to_list())


def test_the_utterances_are_a_full_table(asr: pl.DataFrame) -> None:
    assert asr.columns == ["utt_id", "speaker_id", "gender", "accent", "domain", "system", "ref", "hyp"]
    assert asr.null_count().row(0) == (0,) * 8
    items, systems = asr["utt_id"].n_unique(), asr["system"].n_unique()
    assert items >= 150
    assert systems >= 4
    assert asr.select("utt_id", "system").n_unique() == asr.height == items * systems
    assert asr.group_by("speaker_id").agg(pl.col("utt_id").n_unique())["utt_id"].to_list() == [18] * 9
    assert asr.group_by("utt_id").agg(pl.col("ref", "speaker_id").n_unique())["ref"].max() == 1
    assert not asr["ref"].str.contains(r"[0-9]").any()


def test_the_recognisers_differ_in_quality(asr: pl.DataFrame) -> None:
    wer = {system: word_error_rate(rows) for (system,), rows in asr.group_by("system")}
    assert wer["rehearsed"] < 0.15
    assert wer["rehearsed"] < wer["general"] < wer["noisy"] < 0.7
    assert wer["general"] < wer["hasty"] < 0.7
    accents = {accent: word_error_rate(rows) for (accent,), rows in asr.group_by("accent")}
    assert accents["american"] < accents["british"]


def pocketsphinx_version() -> str:
    try:
        return importlib.metadata.version("pocketsphinx")
    except importlib.metadata.PackageNotFoundError:
        return ""


@pytest.mark.slow
@pytest.mark.skipif(
    pocketsphinx_version() != "5.1.1" or not debian_version("espeak-ng").startswith("1.51+"),
    reason="needs pocketsphinx 5.1.1 and espeak-ng 1.51",
)
def test_the_script_makes_the_speech_again(asr: pl.DataFrame, tmp_path: Path) -> None:
    rebuild("asr", tmp_path)
    assert pl.read_parquet(tmp_path / "asr.parquet").equals(asr)


def read_qrels() -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for line in (get_bundled_sample_path("ranking") / "qrels.txt").read_text(encoding="utf-8").splitlines():
        topic, _, document, grade = line.split()
        qrels.setdefault(topic, {})[document] = int(grade)
    return qrels


def read_runs() -> dict[str, dict[str, dict[str, float]]]:
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for file in sorted((get_bundled_sample_path("ranking") / "runs").glob("*.run.gz")):
        for line in gzip.decompress(file.read_bytes()).decode().splitlines():
            topic, _, document, _, score, tag = line.split()
            assert tag == file.name.removesuffix(".run.gz")
            runs.setdefault(tag, {}).setdefault(topic, {})[document] = float(score)
    return runs


def test_every_ranker_answers_every_query() -> None:
    topics = pl.read_csv(
        get_bundled_sample_path("ranking") / "topics.tsv",
        separator="\t",
        schema_overrides={"topic": pl.String},
    )
    documents = pl.read_csv(get_bundled_sample_path("ranking") / "documents.tsv", separator="\t")
    runs = read_runs()
    assert topics.height == topics["text"].n_unique() >= 60
    assert len(runs) >= 6
    for run in runs.values():
        assert set(run) == set(topics["topic"])
        assert {len(ranking) for ranking in run.values()} == {30}
        assert {document for ranking in run.values() for document in ranking} <= set(documents["docid"])


def test_every_query_has_an_answer_and_a_wrong_document() -> None:
    grades = [set(judged.values()) for judged in read_qrels().values()]
    assert len(grades) >= 60
    assert all({0, 2} <= found <= {0, 1, 2} for found in grades)


def test_the_rankers_differ_in_quality() -> None:
    evaluator = pytrec_eval.RelevanceEvaluator(read_qrels(), {"map"})
    mean = {
        name: sum(scores["map"] for scores in evaluator.evaluate(run).values()) / len(run)
        for name, run in read_runs().items()
    }
    assert max(mean["random"], mean["longest"]) < 0.1
    assert 0.2 < mean["bm25-shaken"] < mean["overlap"] < mean["bm25"] < mean["bm25-stemmed"] < 0.9


def test_the_script_makes_the_rankings_again(tmp_path: Path) -> None:
    rebuild("ranking", tmp_path)
    made = tmp_path / "ranking"
    names = sorted(file.relative_to(made) for file in made.rglob("*") if file.is_file())
    kept = get_bundled_sample_path("ranking")
    assert names == sorted(file.relative_to(kept) for file in kept.rglob("*") if file.is_file())
    for name in names:  # zlib's builds may compress differently: the content is what counts
        read = gzip.decompress if name.suffix == ".gz" else bytes
        assert read((made / name).read_bytes()) == read((kept / name).read_bytes()), name


@pytest.fixture(scope="module")
def text() -> pl.DataFrame:
    return pl.read_parquet(get_bundled_sample_path("text"))


CRITERIA = ["coherence", "consistency", "fluency", "relevance"]


def sentences(text: str) -> list[str]:
    """By full stops alone: what the corpus needs, and not the splitter that the perturbations use."""
    return re.split(r"(?<=[.!?]) ", text)


def test_the_summaries_are_a_full_table(text: pl.DataFrame, mt: pl.DataFrame) -> None:
    names = ["id", "domain", "system", "document", "output", "ref1", "ref2", *CRITERIA, "human_kind"]
    assert text.columns == names
    assert text.null_count().row(0) == (0,) * len(names)
    items, systems = text["id"].n_unique(), text["system"].n_unique()
    assert items == 27
    assert systems == 8
    assert text.select("id", "system").n_unique() == text.height == items * systems
    per_item = text.group_by("id").agg(pl.col("document", "ref1", "ref2", "domain").n_unique())
    assert per_item.drop("id").max().row(0) == (1,) * 4
    segments = mt.unique("seg_id").sort("seg_id").group_by("doc_id", maintain_order=True)
    whole = segments.agg(pl.col("ref").str.join(" "))
    documents = dict(text.select("id", "document").iter_rows())
    assert documents == dict(whole.select("doc_id", "ref").iter_rows())


def test_the_criteria_are_called_simulated_and_are_means_of_three_marks(text: pl.DataFrame) -> None:
    assert text["human_kind"].unique().to_list() == ["simulated"]
    possible = {round(total / 3, 2) for total in range(3, 16)}
    assert all(set(text[name]) <= possible and text[name].n_unique() > 6 for name in CRITERIA)
    same_output = text.group_by("id", "output").agg(pl.col(CRITERIA).n_unique())
    assert same_output.select(CRITERIA).max().row(0) == (1,) * 4


def test_each_criterion_falls_for_the_errors_that_it_is_about(text: pl.DataFrame) -> None:
    means = text.group_by("system").agg(pl.col(CRITERIA).mean())
    worst = {name: means.sort(name)["system"].head(2).to_list() for name in CRITERIA}
    assert worst["coherence"] == ["echo", "stray"]
    assert worst["consistency"] == ["stray", "mixup"]
    assert sorted(worst["fluency"]) == ["brief", "jumble"]
    assert worst["relevance"] == ["stray", "echo"]


def test_the_summaries_are_what_the_readme_says(text: pl.DataFrame) -> None:
    everything = {one: row["id"] for row in text.iter_rows(named=True) for one in sentences(row["document"])}
    for row in text.iter_rows(named=True):
        said, document = sentences(row["output"]), row["document"]
        if row["system"] in {"lead", "centroid", "graph"}:
            assert row["system"] != "lead" or document.startswith(row["output"])
            assert all(one in document for one in said)
            assert sorted(said, key=document.index) == said
        elif row["system"] == "echo":
            assert all(one in document for one in said)
            assert row["output"].startswith(said[0])
            assert row["output"].endswith(said[-1])
            assert max(map(said.count, said)) == 2
        elif row["system"] == "stray":
            assert document.startswith(said[0])
            assert everything[said[-1]] != row["id"]
        else:
            assert row["output"] not in document
        assert row["output"] not in {row["ref1"], row["ref2"]}


def test_word_overlap_likes_extracts_and_the_relevant_summaries_are_abstracts(text: pl.DataFrame) -> None:
    bleu, relevance = {}, {}
    for (system,), rows in text.group_by("system"):
        references = [rows["ref1"].to_list(), rows["ref2"].to_list()]
        bleu[system] = sacrebleu.corpus_bleu(rows["output"].to_list(), references).score
        relevance[system] = rows["relevance"].mean()
    abstracts = {"brief", "mixup", "jumble"}
    assert set(sorted(bleu, key=bleu.__getitem__)[:3]) == abstracts
    assert set(sorted(relevance, key=relevance.__getitem__)[-3:]) == abstracts
    assert max(bleu, key=bleu.__getitem__) == "centroid"


def test_the_script_makes_the_summaries_again(text: pl.DataFrame, tmp_path: Path) -> None:
    made = []
    for name in ("once", "again"):
        rebuild("text", tmp_path / name)
        made.append(tmp_path / name / "text.parquet")
    assert pl.read_parquet(made[0]).equals(text)
    assert made[0].read_bytes() == made[1].read_bytes()


def test_the_readme_describes_every_system(mt: pl.DataFrame, asr: pl.DataFrame, text: pl.DataFrame) -> None:
    described = (SAMPLE / "README.md").read_text(encoding="utf-8")
    assert "simulated" in described
    rows = set(re.findall(r"^\| `([^`]+)` \|", described, flags=re.MULTILINE))
    assert rows == {*mt["system"], *asr["system"], *read_runs(), *text["system"]}
    of_summaries = set(re.findall(r"^\| `([^`]+)` \|", described.split("## Text")[1], flags=re.MULTILINE))
    assert of_summaries == {*text["system"]}
