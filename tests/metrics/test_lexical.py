"""Specs, signatures, errors and warnings of lexical metrics."""

from __future__ import annotations

import re

import numpy as np
import pytest
from oracles import JIWER, TRANSLATION, get_oracle

from metassay.errors import InputError
from metassay.metrics.base import Batch, StatisticsMetric
from metassay.metrics.chrf import Chrf
from metassay.metrics.registry import parse_metric

ALL_SPECS = (*TRANSLATION, *JIWER)
RUSSIAN = ("Кошка сидит на тёплом окне.", "Кошка сидит на окне.")


@pytest.mark.parametrize("spec", ALL_SPECS)
def test_a_spec_parses_back_to_the_same_metric(spec):
    metric = parse_metric(spec)
    assert parse_metric(str(metric)) == metric


@pytest.mark.parametrize("spec", ALL_SPECS)
def test_a_signature_names_the_official_version(spec):
    signature = parse_metric(spec).signature
    assert re.search(
        r"equals:(sacrebleu|jiwer|nltk|rouge-score) \d+\.\d+\.\d+\|implementation:\d+$", signature
    )


def test_signatures_name_the_installed_versions():
    from importlib.metadata import version

    for spec in ALL_SPECS:
        package, official_version = re.search(r"equals:(\S+) (\S+)\|", parse_metric(spec).signature).groups()
        assert version(package) == official_version


@pytest.mark.parametrize("spec", ALL_SPECS)
def test_transposed_references_are_refused(spec):
    with pytest.raises(InputError, match="transposed"):
        parse_metric(spec).score(Batch.from_texts(["a", "b", "c"], [["a", "b", "c"]]))


@pytest.mark.parametrize(
    ("output", "references", "message"),
    [
        ("one text", [["a"]], "output is one bare string"),
        (["a"], "a", "references is one bare string"),
        (["a", "b"], ["a", "b"], r"references\[0\] is a bare string"),
        (["a", "b"], [["a"]], "1 entries for 2 outputs"),
        (["a"], [[]], "output 0 has no reference"),
    ],
)
def test_batches_of_the_wrong_shape_are_refused(output, references, message):
    with pytest.raises(InputError, match=message):
        Batch.from_texts(output, references)


@pytest.mark.parametrize("spec", JIWER)
def test_error_rates_refuse_several_references(spec):
    with pytest.raises(InputError, match="one reference"):
        parse_metric(spec).score(Batch.from_texts(["a"], [["a", "b"]]))


@pytest.mark.parametrize("spec", ALL_SPECS)
def test_an_empty_batch_has_no_scores(spec):
    assert parse_metric(spec).score(Batch.from_texts([], [])).shape == (0,)


@pytest.mark.parametrize(
    "spec",
    [s for s in ALL_SPECS if isinstance(parse_metric(s), StatisticsMetric) and not s.startswith("ter(")],
)
def test_corpus_scores_come_from_sums_of_statistics(spec):
    """A corpus score is `from_statistics` of the sum; many corpora at once give the same numbers."""
    metric = parse_metric(spec)
    outputs = ["the cat sat on the mat", "a dog", "x y z w v"]
    statistics = metric.statistics(
        Batch.from_texts(outputs, [["the cat is on the mat"], ["a dog"], ["x y w z v"]])
    )
    totals = np.stack([statistics.sum(axis=0), statistics[:2].sum(axis=0)])
    together = metric.from_statistics(totals[None])
    assert together.shape == (1, 2)
    assert together[0, 0] == metric.from_statistics(totals[0])
    assert together[0, 1] == metric.from_statistics(totals[1])


@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougel"])
class TestRougeOnNonLatinScripts:
    def test_unicode_letters_are_used_with_a_warning(self, name):
        for language in ("ru", None):
            batch = Batch.from_texts([RUSSIAN[0]], [[RUSSIAN[1]]], language=language)
            with pytest.warns(UserWarning, match="Unicode letters"):
                scores = parse_metric(name).score(batch)
            assert scores == parse_metric(f"{name}(tokenizer=unicode)").score(batch)
            assert 0 < scores[0] < 1

    def test_the_official_tokeniser_is_refused(self, name):
        with pytest.raises(InputError, match="nothing is left"):
            parse_metric(f"{name}(tokenizer=official)").score(Batch.from_texts([RUSSIAN[0]], [[RUSSIAN[1]]]))

    def test_unicode_words_equal_official_words_in_english(self, name):
        output, reference = "The cat, a dog and 3 mice!", "A cat; the dog & 3 mice."
        scores = parse_metric(f"{name}(tokenizer=unicode)").score(Batch.from_texts([output], [[reference]]))
        assert scores[0] == get_oracle(name)(output, [reference])

    def test_the_tokeniser_follows_the_script_of_each_row(self, name):
        batch = Batch.from_texts([RUSSIAN[0], "a cat é"], [[RUSSIAN[1]], ["the cat é"]])
        with pytest.warns(UserWarning, match="Unicode letters"):
            scores = parse_metric(name).score(batch)
        assert scores[1] == get_oracle(name)("a cat é", ["the cat é"])


def test_rouge_separates_russian_outputs_from_worse_ones(russian_translations):
    """The official tokeniser ties nearly every output with its worse version; ours does not."""
    texts = russian_translations.sample(500)
    worse = texts.perturb()
    metric = parse_metric("rougel(tokenizer=unicode)")
    scores, worse_scores = (
        metric.score(Batch.from_texts(t.outputs, [[r] for r in t.references])) for t in (texts, worse)
    )
    oracle = get_oracle("rougel")
    ties = [
        oracle(a, [r]) == oracle(b, [r]) for a, b, r in zip(texts.outputs, worse.outputs, texts.references)
    ]
    assert np.mean(ties) > 0.95
    assert np.mean(scores == worse_scores) < 0.5


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bleu(tokenizer=14a)", "unknown tokenizer '14a'. Did you mean 13a"),
        ("bleu(smoothing=much)", "unknown smoothing"),
        ("bleu(order=0)", "between 1 and 100"),
        ("bleu(order=four)", "order is a whole number, not 'four'"),
        ("bleu(lowercase=1)", "lowercase is true or false"),
        ("bleu(order=1000000)", "order is 1000000; it must be a number between 1 and 100"),
        ("bleu(smoothing=floor,smooth_value=-1)", "smooth_value is -1"),
        ("bleu(smoothing=floor,smooth_value=inf)", "smooth_value is inf"),
        ("chrf(char_order=0)", "positive"),
        ("chrf(char_order=1000000)", "char_order is 1000000; it must be a number between 0 and 100"),
        ("chrf(word_order=-1)", "word_order is -1"),
        ("chrf(beta=nan)", "beta is nan"),
        ("chrf(beta=-1)", "beta is -1"),
        ("meteor(alpha=2)", "alpha is 2"),
        ("meteor(gamma=-inf)", "gamma is -inf"),
        ("nltk_bleu(order=999)", "between 1 and 100"),
        ("set_f(beta=nan)", "beta is nan"),
        ("p_99999999999999999999", "too large a number"),
        ("map(depth=99999999999999999999)", "too large a number"),
        ("random(seed=99999999999999999999)", "too large a number"),
        ("rouge1(measure=f2)", "unknown measure"),
        ("meteor(tokenizer=spacy)", "unknown tokenizer"),
        ("nltk_bleu(tokenizer=spacy)", "unknown tokenizer"),
        ("wer(tokenizer=13a)", "unknown parameter of wer"),
    ],
)
def test_wrong_parameters_are_refused(spec, message):
    with pytest.raises(InputError, match=re.escape(message)):
        parse_metric(spec)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_wrong_parameters_in_python_are_refused(value):
    with pytest.raises(InputError, match="beta is"):
        Chrf(beta=value)


def test_a_missing_flores_model_says_where_to_put_it():
    with pytest.raises(InputError, match=r"model file.*\n.*models"):
        parse_metric("bleu(tokenizer=flores200)").score(Batch.from_texts(["a"], [["a"]]))


def test_bleu_on_chinese_recommends_a_tokeniser():
    batch = Batch.from_texts(["猫坐在垫子上。"], [["猫在垫子上。"]], language="zh")
    with pytest.warns(UserWarning, match="tokenizer=zh"):
        assert parse_metric("bleu").score(batch)[0] == get_oracle("bleu")("猫坐在垫子上。", ["猫在垫子上。"])
    assert parse_metric("bleu(tokenizer=zh)").score(batch)[0] > 0


def test_clipped_precision_equals_the_example_of_papineni():
    """Papineni et al. (2002), example 2: the clipped unigram precision of seven times `the` is 2/7."""
    batch = Batch.from_texts(
        ["the the the the the the the"], [["the cat is on the mat", "there is a cat on the mat"]]
    )
    statistics = parse_metric("bleu").statistics(batch)[0]
    assert statistics[2] / statistics[6] == 2 / 7
