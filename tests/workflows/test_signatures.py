"""Scores with the same signature were computed in the same way."""

from __future__ import annotations

import json
import warnings

import polars as pl
import pytest
from sacrebleu import corpus_bleu

import metassay
from metassay.reporting.assay_report import prepare_assay_report
from metassay.sample import get_bundled_sample_path
from metassay.workflows.assay import assay
from metassay.workflows.read import read

FAST = {"resamples": 20, "permutations": 19, "perturbations": "removal"}
CHINESE = {
    "good": ["他昨天去了北京。", "这家公司的收入增长了。", "我不知道你在说什么！", "猫坐在垫子上。"],
    "poor": ["昨天北京。", "公司增长了收入。", "你在说什么我不懂。", "狗坐在垫子。"],
}
REFERENCES = ["昨天他去了北京。", "该公司的收入增长了。", "我不明白你在说什么！", "猫在垫子上。"]


def _signatures(result) -> dict[str, str]:
    return {row["metric"]: row["signature"] for row in result.to_dict()["systems"]}


def _chinese(**more: object) -> pl.DataFrame:
    rows = [
        {"seg_id": item, "system": system, "hyp": output, "ref": REFERENCES[item], **more}
        for system, outputs in CHINESE.items()
        for item, output in enumerate(outputs)
    ]
    return pl.DataFrame(rows)


@pytest.fixture
def table(tmp_path):
    def write(frame: pl.DataFrame):
        path = tmp_path / "table.csv"
        frame.write_csv(path)
        return path

    return write


def test_signature_names_the_normalisation_of_transcripts() -> None:
    data = read(get_bundled_sample_path("asr"), task="asr")
    by_scheme = {
        scheme: _signatures(metassay.score(data, metrics="wer", normalize=scheme))["wer"]
        for scheme in (None, "english", "whisper", "none")
    }
    plain = "wer|equals:jiwer 4.0.0|implementation:1"
    assert by_scheme == {
        None: f"{plain}|text:english",
        "english": f"{plain}|text:english",
        "whisper": f"{plain}|text:whisper",
        "none": plain,
    }


def test_signature_names_the_normalisation_of_translations() -> None:
    data = read(get_bundled_sample_path("mt"))
    changed = metassay.score(data, metrics="bleu", normalize="english")
    plain = metassay.score(data, metrics="bleu")
    assert changed.systems[0].corpus != plain.systems[0].corpus
    assert _signatures(changed)["bleu"] == f"{_signatures(plain)['bleu']}|text:english"


def test_preprocessing_is_in_the_signature_the_manifest_and_the_names_of_parts(tmp_path) -> None:
    data = read(get_bundled_sample_path("mt"))
    result = assay(data, metrics="bleu,chrf", preprocess="paper", out=tmp_path / "run", **FAST)
    assert {row["signature"].rpartition("|")[2] for row in result.to_dict()["metrics"]} == {"text:paper"}
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert all(signature.endswith("|text:paper") for signature in manifest["metrics"].values())
    assay(data, metrics="bleu,chrf", out=tmp_path / "plain", **FAST)
    parts = [{part.name for part in (tmp_path / run / "scores").iterdir()} for run in ("run", "plain")]
    assert not parts[0] & parts[1]


def test_signature_names_normalisation_and_preprocessing() -> None:
    data = read(get_bundled_sample_path("asr"), task="asr")
    result = assay(data, metrics="wer,cer", preprocess="paper", normalize="whisper", **FAST)
    assert result.metrics[0].signature.endswith("|text:whisper+paper")


def test_check_lists_the_signatures_of_an_assay() -> None:
    found = metassay.check(read(get_bundled_sample_path("asr"), task="asr"), metrics="wer").to_dict()
    assert found["metrics"] == [
        {
            "metric": "wer",
            "signature": "wer|equals:jiwer 4.0.0|implementation:1|text:english",
            "higher_is_better": False,
        }
    ]


@pytest.mark.parametrize("how", ["lp", "language"])
def test_bleu_of_chinese_equals_sacrebleu(table, how) -> None:
    more = {"lp": "en-zh"} if how == "lp" else {}
    data = read(table(_chinese(**more)), **({"language": "zh", "task": "mt"} if how == "language" else {}))
    found = metassay.score(data, metrics="bleu,ter,rouge1,rougel,chrf")
    for row in found.systems:
        if row.metric == "bleu":
            official = corpus_bleu(CHINESE[row.system], [REFERENCES], tokenize="zh").score
            assert row.corpus == pytest.approx(official, rel=1e-12)
            assert "|tokenizer:zh|" in row.signature
    for name in ("bleu", "ter", "rouge1", "rougel"):
        scores = found.segments.filter(pl.col("metric") == name)["score"]
        assert scores.n_unique() > len(scores) / 2


def test_languages_of_one_table_get_their_own_tokenisers(table) -> None:
    reference = "Es regnet, und zwar heute."
    german = pl.DataFrame(
        [
            {"seg_id": 0, "system": name, "hyp": f"{text}, und zwar heute.", "ref": reference, "lp": "en-de"}
            for name, text in (("good", "Es regnet"), ("poor", "Regen fällt"))
        ]
    )
    data = read(table(pl.concat([_chinese(lp="en-zh"), german])))
    found = metassay.score(data, metrics="bleu")
    assert len({row.signature for row in found.systems}) == 1
    assert "|tokenizer:by-language(de=13a,zh=zh)|" in found.systems[0].signature
    for row in found.systems:
        if row.group == "en-de":
            own = german.filter(pl.col("system") == row.system)
            official = corpus_bleu(own["hyp"].to_list(), [[reference]]).score
        else:
            official = corpus_bleu(CHINESE[row.system], [REFERENCES], tokenize="zh").score
        assert row.corpus == pytest.approx(official)


def test_note_on_chinese_of_unknown_language(table) -> None:
    data = read(table(_chinese()), task="mt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scored, checked = metassay.score(data, metrics="chrf"), metassay.check(data, metrics="chrf")
    for notes in (scored.notes, checked.to_dict()["notes"]):
        assert [note for note in notes if "Name the language with --language" in note]
    assert not [
        n
        for n in metassay.score(read(get_bundled_sample_path("mt")), metrics="chrf").notes
        if "--language" in n
    ]


@pytest.mark.parametrize("pair", ["en-cn", "en-hk", "en-lzh", "en-zh-doc"])
def test_note_on_chinese_with_the_code_of_another_language(table, pair: str) -> None:
    notes = metassay.score(read(table(_chinese(lp=pair))), metrics="chrf").notes
    assert [note for note in notes if "their language is taken to be" in note]
    assert not [
        note for note in metassay.score(read(table(_chinese(lp="en-zh-Hant-HK")))).notes if "taken" in note
    ]


def test_rank_repeats_notes_about_the_texts_of_computed_metrics() -> None:
    scored = _chinese().with_columns(mqm=pl.int_range(pl.len()))
    notes = metassay.rank(scored, metrics="bleu", task="mt", significance="none").notes
    assert [note for note in notes if "Name the language with --language" in note or "language=" in note]


def test_requested_sentinel_is_a_metric_in_the_report() -> None:
    result = assay(read(get_bundled_sample_path("mt")), metrics="length,bleu", **FAST).content
    view = prepare_assay_report(result)
    assert sorted(row.metric for row in result.overall) == ["bleu", "length"]
    assert sorted(view.metrics) == ["bleu", "length"]
    assert set(view.sentinel_metrics) == {"random", "constant", "random_per_system"}


def characters(output, references):
    """Metric that counts the characters which an output shares with its reference."""
    return float(len({*output} & {*references[0]}))


def test_python_function_is_a_metric_of_every_command(tmp_path) -> None:
    data = read(get_bundled_sample_path("mt"))
    scored = metassay.score(data, metrics=[characters, "bleu"])
    assert {row.metric for row in scored.systems} == {"characters", "bleu"}
    result = assay(data, metrics=characters, out=tmp_path / "run", **FAST)
    assert [row["metric"] for row in result.to_dict()["global"]] == ["characters"]
    assert "characters" in (tmp_path / "run" / "report.html").read_text()
