"""COMET and its unified models against a slow transcription: one text at a time, all layers kept."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from metassay.errors import InputError
from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric
from metassay.recorded_warnings import CountedWarning

LIMIT = 18
"""22 positions, less 4, are what COMET lets a text of the tiny encoder have."""


class Slow:
    """The encoder of a checkpoint, run by transformers on single sequences without padding."""

    def __init__(self, torch, transformers, encoder, state) -> None:
        self.torch, self.state = torch, state
        config = json.loads((encoder / "config.json").read_text())
        self.model = transformers.AutoModel.from_config(transformers.XLMRobertaConfig(**config)).eval()
        own = {
            k.removeprefix("encoder.model."): v for k, v in state.items() if k.startswith("encoder.model.")
        }
        self.model.load_state_dict(own)
        self.vocabulary = json.loads((encoder / "tokenizer.json").read_text())["model"]["vocab"]

    def ids(self, text: str) -> list[int]:
        inner = [self.vocabulary.get(word, 3) for word in text.replace(",", " ,").split()]
        return [0, *inner[: LIMIT - 2], 2]

    def layers(self, ids: list[int]):
        with self.torch.no_grad():
            return self.model(self.torch.tensor([ids]), output_hidden_states=True).hidden_states

    def mixed(self, ids: list[int], *, norm: bool = False):
        scalars = self.torch.cat([self.state[f"layerwise_attention.scalar_parameters.{k}"] for k in range(3)])
        weights = self.torch.softmax(scalars, 0)
        layers = [h[0] for h in self.layers(ids)]
        if norm:
            layers = [(h - h.mean()) / (h.var(unbiased=False) + 1e-12).sqrt() for h in layers]
        return self.state["layerwise_attention.gamma"] * sum(w * h for w, h in zip(weights, layers))

    def vector(self, text: str, *, norm: bool = False):
        ids = self.ids(text)
        mixed = self.mixed(ids, norm=norm)
        kept = self.torch.stack([row for row, token in zip(mixed, ids) if token != 1])
        return kept.sum(0) / len(ids)

    def estimate(self, features) -> float:
        values = features
        for number in (0, 3, 6):
            weight, bias = (self.state[f"estimator.ff.{number}.{part}"] for part in ("weight", "bias"))
            values = weight @ values + bias
            values = self.torch.tanh(values) if number != 6 else values
        return float(values)

    def joined(self, *texts: str) -> list[int]:
        parts = [[token for token in self.ids(text) if token != 1][1:-1] for text in texts]
        sequence = [0, *parts[0]]
        for part in parts[1:]:
            sequence += [2, 2, *part]
        sequence.append(2)
        return sequence[:20] if sum(map(len, parts)) > 20 - (1 + 2 * len(parts)) else sequence


@pytest.fixture
def slow(torch, transformers, encoder):
    return lambda state: Slow(torch, transformers, encoder, state)


def scored(metric: str, folder, batch: Batch) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountedWarning)
        return parse_metric(f"{metric}(model={folder})").score(batch)


@pytest.mark.parametrize("norm", [False, True])
def test_regression_is_the_formula(comet_folder, slow, batch, torch, norm) -> None:
    folder, state = comet_folder("regression_metric", layer_norm=norm)
    by_hand = slow(state)
    expected = []
    for output, source, references in zip(batch.output, batch["source"], batch.references):
        mt, src = by_hand.vector(output, norm=norm), by_hand.vector(source, norm=norm)
        own = []
        for reference in references:
            ref = by_hand.vector(reference, norm=norm)
            features = [mt, ref, mt * ref, (mt - ref).abs(), mt * src, (mt - src).abs()]
            own.append(by_hand.estimate(torch.cat(features)))
        expected.append(np.mean(own))
    assert scored("comet", folder, batch) == pytest.approx(expected, abs=1e-5)


def test_referenceless_is_the_formula(comet_folder, slow, batch, torch) -> None:
    folder, state = comet_folder("referenceless_regression_metric")
    by_hand = slow(state)
    expected = []
    for output, source in zip(batch.output, batch["source"]):
        mt, src = by_hand.vector(output), by_hand.vector(source)
        expected.append(by_hand.estimate(torch.cat([mt, src, mt * src, (mt - src).abs()])))
    assert scored("comet_qe", folder, batch) == pytest.approx(expected, abs=1e-5)


def test_unified_is_the_mean_of_three_readings(comet_folder, slow, batch) -> None:
    folder, state = comet_folder("unified_metric", layer_transformation="sparsemax_patch")
    by_hand = slow(state)

    def score(*texts: str) -> float:
        return by_hand.estimate(by_hand.mixed(by_hand.joined(*texts))[0])

    src, ref, all_three = [], [], []
    for output, source, references in zip(batch.output, batch["source"], batch.references):
        src.append(score(output, source))
        ref.append(np.mean([score(output, own) for own in references]))
        all_three.append(np.mean([score(output, source, own) for own in references]))
    assert scored("unite_src", folder, batch) == pytest.approx(src, abs=1e-5)
    assert scored("comet_qe", folder, batch) == pytest.approx(src, abs=1e-5)
    assert scored("unite_ref", folder, batch) == pytest.approx(ref, abs=1e-5)
    expected = np.mean([src, ref, all_three], axis=0)
    assert scored("unite", folder, batch) == pytest.approx(expected, abs=1e-5)


def test_xcomet_marks_stretches_and_counts_them(comet_folder, slow, batch) -> None:
    folder, state = comet_folder("xcomet_metric")
    by_hand = slow(state)
    metric = parse_metric(f"xcomet_qe(model={folder})")
    outputs = [text for text in batch.output if text and "<" not in text and "," not in text]
    sources = outputs[::-1]
    spans = metric.find_error_spans(Batch.of(outputs, source=sources))
    expected_scores = []
    for output, source, own in zip(outputs, sources, spans):
        ids = by_hand.joined(output, source)
        states = by_hand.layers(ids)[2][0]
        tags = (states @ state["hidden2tag.weight"].T + state["hidden2tag.bias"]).argmax(1).tolist()
        # the words between <s> and </s>, then </s> itself: what is open there is closed by O or dropped
        starts = [0, *np.cumsum([len(word) + 1 for word in output.split()]).tolist()]
        ends = [start + len(word) for start, word in zip(starts, output.split())]
        bounds = [(0, 0), *zip(starts, ends), (0, 0)]
        expected, open_span = [], None
        for tag, (start, end) in zip(tags, bounds):
            if tag and open_span is None:
                open_span = [start, end, ("", "minor", "major", "critical")[tag]]
            elif tag:
                open_span[1] = end
            elif open_span is not None:
                expected.append(tuple(open_span))
                open_span = None
        assert [(span.start, span.end, span.severity) for span in own] == expected
        penalty = sum({"minor": 1, "major": 5, "critical": 10}[severity] for *_, severity in expected)
        score = min(by_hand.estimate(by_hand.mixed(ids)[0]), 1.0)
        expected_scores.append(0.78 * score + 0.22 * (25 - min(25, penalty)) / 25)
    found = metric.score(Batch.of(outputs, source=sources))
    assert found == pytest.approx(expected_scores, abs=1e-5)


def test_scores_do_not_depend_on_order_or_company(comet_folder, batch) -> None:
    folder, _ = comet_folder("regression_metric")
    whole = scored("comet", folder, batch)
    order = np.random.default_rng(0).permutation(len(batch))
    shuffled = Batch({name: [column[i] for i in order] for name, column in batch.fields.items()})
    assert (scored("comet", folder, shuffled) == whole[order]).all()
    alone = Batch({name: [column[5]] for name, column in batch.fields.items()})
    assert scored("comet", folder, alone) == pytest.approx([whole[5]], abs=1e-6)


def test_a_missing_source_has_no_score(comet_folder) -> None:
    folder, _ = comet_folder("referenceless_regression_metric")
    found = scored("comet_qe", folder, Batch.of(["birds", "birds"], source=[None, "the cat"]))
    assert np.isnan(found[0])
    assert np.isfinite(found[1])


def test_truncation_is_counted(comet_folder) -> None:
    folder, _ = comet_folder("referenceless_regression_metric")
    long = "the cat " * 20
    with pytest.warns(CountedWarning, match="1 inputs were longer than the 18 tokens"):
        parse_metric(f"comet_qe(model={folder})").score(Batch.of([long, "birds"], source=["a", "a"]))


def test_sparsemax_of_a_unified_model_warns_and_is_softmax(comet_folder) -> None:
    batch = Batch.of(["the cat", "birds"], source=["a dog", "a red bird"])
    folder, _ = comet_folder("unified_metric", layer_transformation="sparsemax")
    with pytest.warns(UserWarning, match="trained with softmax"):
        found = parse_metric(f"unite_src(model={folder})").score(batch)
    patched, _ = comet_folder("unified_metric", layer_transformation="sparsemax_patch")
    assert (found == scored("unite_src", patched, batch)).all()
    forced = parse_metric(f"unite_src(model={folder},sparsemax=true)")
    assert not np.allclose(forced.score(batch), found)


def test_a_model_of_another_class_says_so(comet_folder, batch) -> None:
    folder, _ = comet_folder("referenceless_regression_metric")
    with pytest.raises(InputError, match="referenceless_regression_metric, which comet cannot score"):
        scored("comet", folder, batch)


def test_sparsemax_is_the_nearest_point_of_the_simplex(torch) -> None:
    from metassay.metrics.neural.layer_mix import sparsemax

    scores = torch.tensor([0.3, 0.1, -0.8, 0.9, 0.85])
    grid = np.random.default_rng(0).dirichlet(np.ones(5) * 0.4, 200_000)
    nearest = grid[((grid - scores.numpy()) ** 2).sum(1).argmin()]
    found = sparsemax(scores).numpy()
    assert found.sum() == pytest.approx(1, abs=1e-6)
    assert found == pytest.approx(nearest, abs=0.05)
    assert (found == 0).any()
