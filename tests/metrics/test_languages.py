"""Metrics of languages written without spaces equal the official ones with the tokeniser in the signature."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from oracles import get_oracle
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.ter import TER

import metassay
from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric
from metassay.text.tokenizers import is_tokenizer_installed

CHINESE = (
    (
        "他昨天去了北京，参加了一个关于2023年气候变化的会议。",
        "昨天他去北京参加了一场有关2023年气候变化的会议。",
    ),
    ("这家公司的收入增长了12.5%。", "该公司的收入增长了12.5%。"),
    ("我不知道你在说什么！", "我不明白你在说什么！"),
    ("猫坐在垫子上。", "猫在垫子上。"),
    ("iPhone 15 今天发布。", "iPhone 15 于今天发布。"),
)
JAPANESE = (
    ("昨日、彼は東京で開かれた会議に参加した。", "彼は昨日、東京で行われた会議に出席しました。"),
    ("この会社の売上は12.5%増えた。", "当社の売上高は12.5%増加した。"),
    ("何を言っているのか分かりません。", "あなたが何を言っているのかわかりません。"),
    ("猫がマットの上に座っている。", "猫はマットに座っている。"),
)
DATA = {"zh": CHINESE, "ja": JAPANESE}


def build_batch(language: str) -> Batch:
    outputs, references = zip(*DATA[language])
    return Batch.from_texts(list(outputs), [[reference] for reference in references], language=language)


def score_language(spec: str, language: str) -> tuple[np.ndarray, str]:
    metric = parse_metric(spec).copy_metric_for_languages([language])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric.score(build_batch(language)), metric.signature


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_bleu_equals_sacrebleu_with_the_tokeniser_of_the_language(language):
    tokenizer = {"zh": "zh", "ja": "ja-mecab" if is_tokenizer_installed("ja-mecab") else "char"}[language]
    scores, signature = score_language("bleu", language)
    scorer = BLEU(tokenize=tokenizer, effective_order=True)
    expected = [scorer.sentence_score(output, [reference]).score for output, reference in DATA[language]]
    assert scores.tolist() == pytest.approx(expected, abs=1e-12)
    assert f"|tokenizer:{tokenizer}|" in signature
    metric = parse_metric("bleu").copy_metric_for_languages([language])
    outputs, references = map(list, zip(*DATA[language]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        corpus = metric.corpus_score(build_batch(language))
    assert corpus == pytest.approx(BLEU(tokenize=tokenizer).corpus_score(outputs, [references]).score)


def test_a_named_tokeniser_is_used_for_any_language():
    metric = parse_metric("bleu(tokenizer=13a)").copy_metric_for_languages(["zh"])
    assert metric.spec == "bleu(tokenizer=13a)"
    assert "tokenizer:13a" in metric.signature
    with pytest.warns(UserWarning, match="not suitable for zh"):
        scores = metric.score(build_batch("zh"))
    scorer = BLEU(tokenize="13a", effective_order=True)
    assert scores[0] == pytest.approx(scorer.sentence_score(CHINESE[0][0], [CHINESE[0][1]]).score)


@pytest.mark.skipif(is_tokenizer_installed("ja-mecab"), reason="MeCab is installed")
def test_without_mecab_a_warning_says_that_characters_are_used():
    with pytest.warns(UserWarning, match="ja-mecab, which sacrebleu would use, is not installed"):
        parse_metric("bleu").copy_metric_for_languages(["ja"]).score(build_batch("ja"))


def test_specs_do_not_depend_on_the_language_and_signatures_only_where_settings_do():
    bleu = parse_metric("bleu")
    assert bleu.copy_metric_for_languages(["zh"]).spec == "bleu"
    assert (
        bleu.copy_metric_for_languages(["de"]).signature
        == bleu.copy_metric_for_languages([None]).signature
        == bleu.signature
    )
    assert bleu.signature == (
        "bleu|tokenizer:13a|lowercase:False|smoothing:exp|smooth_value:None|order:4|effective_order:False"
        "|equals:sacrebleu 2.6.0|implementation:1"
    )
    assert parse_metric("ter").signature == (
        "ter|normalized:False|no_punct:False|asian_support:False|case_sensitive:False"
        "|equals:sacrebleu 2.6.0|implementation:1"
    )


def test_the_signature_of_several_languages_names_the_setting_of_each():
    signature = parse_metric("bleu").copy_metric_for_languages(["zh", "de", None, "zh"]).signature
    assert "|tokenizer:by-language(unknown=13a,de=13a,zh=zh)|" in signature


@pytest.mark.parametrize("tag", ["zh", "zh-Hant", "ZH_TW", "zh-Hans", "cmn"])
def test_language_tags_with_script_or_region_are_understood(tag):
    assert "tokenizer:zh" in parse_metric("bleu").copy_metric_for_languages([tag]).signature


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_ter_equals_sacrebleu_with_asian_support(language):
    scores, signature = score_language("ter", language)
    scorer = TER(normalized=True, asian_support=True)
    expected = [scorer.sentence_score(output, [reference]).score for output, reference in DATA[language]]
    assert scores.tolist() == pytest.approx(expected, abs=1e-12)
    assert "normalized:True" in signature
    assert "asian_support:True" in signature
    assert (
        "normalized:False"
        in parse_metric("ter(normalized=false)").copy_metric_for_languages([language]).signature
    )


class CharacterTokenizer:
    """A tokeniser for rouge-score: each Chinese or Japanese letter is a token, and so is each ASCII word."""

    def tokenize(self, text: str) -> list[str]:
        tokens: list[str] = []
        word = ""
        for character in f"{text.lower()} ":
            if character.isascii() and character.isalnum():
                word += character
                continue
            if word:
                tokens.append(word)
                word = ""
            if character.isalpha():
                tokens.append(character)
        return tokens


@pytest.mark.parametrize(("spec", "kind"), [("rouge1", "rouge1"), ("rouge2", "rouge2"), ("rougel", "rougeL")])
@pytest.mark.parametrize("language", ["zh", "ja"])
def test_rouge_equals_rouge_score_on_characters(spec, kind, language):
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer([kind], tokenizer=CharacterTokenizer())
    expected = [scorer.score(reference, output)[kind].fmeasure for output, reference in DATA[language]]
    scores, signature = score_language(spec, language)
    assert scores.tolist() == pytest.approx(expected)
    assert "tokenizer:characters" in signature
    assert len(set(scores.tolist())) > 1


@pytest.mark.parametrize("spec", ["meteor", "nltk_bleu"])
def test_meteor_and_nltk_bleu_equal_nltk_on_characters(spec):
    from nltk.translate.bleu_score import sentence_bleu
    from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

    pairs = [[TokenizerZh()(text) for text in pair] for pair in CHINESE]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [
            get_oracle("meteor")(output, [reference])
            if spec == "meteor"
            else sentence_bleu([reference.split()], output.split())
            for output, reference in pairs
        ]
    scores, signature = score_language(spec, "zh")
    assert scores.tolist() == pytest.approx(expected)
    assert "tokenizer:zh" in signature


@pytest.mark.parametrize("spec", ["wer", "mer", "meteor(tokenizer=whitespace)", "rouge1(tokenizer=unicode)"])
def test_word_metrics_warn_for_languages_without_spaces(spec):
    with pytest.warns(UserWarning, match="written without spaces"):
        parse_metric(spec).copy_metric_for_languages(["zh"]).score(build_batch("zh"))


def test_word_metrics_do_not_warn_for_languages_with_spaces():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_metric("wer").copy_metric_for_languages(["de"]).score(
            Batch.from_texts(["ein Haus"], [["das Haus"]], language="de")
        )


@pytest.mark.parametrize("pair", ["en-zh", "en-zh-Hans", "en-zh-TW", "en-cmn", "en-US-zh-CN"])
def test_score_of_chinese_equals_sacrebleu_for_every_tag(pair):
    outputs, references = map(list, zip(*CHINESE))
    rows = [
        {"seg_id": number, "lp": pair, "system": "a", "hyp": output, "ref": reference}
        for number, (output, reference) in enumerate(CHINESE)
    ]
    result = metassay.score(metassay.read(rows), metrics="bleu,ter")
    scores = {row.metric: row.corpus for row in result.systems}
    ter = TER(normalized=True, asian_support=True)
    assert scores["bleu"] == pytest.approx(BLEU(tokenize="zh").corpus_score(outputs, [references]).score)
    assert scores["ter"] == pytest.approx(ter.corpus_score(outputs, [references]).score)


THAI = [("แมวนั่งอยู่บนเสื่อ", "แมวอยู่บนเสื่อ"), ("วันนี้อากาศดีมาก", "อากาศวันนี้ดี")]


def test_bleu_of_thai_is_computed_on_characters_with_a_warning():
    metric = parse_metric("bleu").copy_metric_for_languages(["th"])
    batch = Batch.from_texts(
        [output for output, _ in THAI], [[reference] for _, reference in THAI], language="th"
    )
    with pytest.warns(UserWarning, match="BLEU for th is computed on characters"):
        scores = metric.score(batch)
    scorer = BLEU(tokenize="char", effective_order=True)
    expected = [scorer.sentence_score(output, [reference]).score for output, reference in THAI]
    assert scores.tolist() == pytest.approx(expected, abs=1e-12)
    assert "|tokenizer:char|" in metric.signature


def test_ter_of_thai_warns_that_words_are_not_found():
    batch = Batch.from_texts([THAI[0][0]], [[THAI[0][1]]], language="th")
    with pytest.warns(UserWarning, match="th is written without spaces"):
        parse_metric("ter").copy_metric_for_languages(["th"]).score(batch)
