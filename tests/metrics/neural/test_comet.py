"""COMET and its unified models against a slow transcription: one text at a time, without padding."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from metassay.errors import InputError
from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric
from metassay.recorded_warnings import CountedWarning
from metassay.workflows.models import list_installed_models

LIMIT = 18
"""22 positions, less 4, are what COMET lets a text of the tiny encoder have."""


class SlowComet:
    """The encoder of a checkpoint, run by transformers on single sequences without padding."""

    def __init__(self, torch, transformers, encoder, state) -> None:
        self.torch, self.state = torch, state
        config = json.loads((encoder / "config.json").read_text())
        self.model = transformers.AutoModel.from_config(transformers.XLMRobertaConfig(**config)).eval()
        encoder_state = {
            k.removeprefix("encoder.model."): v for k, v in state.items() if k.startswith("encoder.model.")
        }
        self.model.load_state_dict(encoder_state)
        self.vocabulary = json.loads((encoder / "tokenizer.json").read_text())["model"]["vocab"]

    def tokenize(self, text: str) -> list[int]:
        inner = [self.vocabulary.get(word, 3) for word in text.replace(",", " ,").split()]
        return [0, *inner[: LIMIT - 2], 2]

    def compute_layers(self, ids: list[int]):
        with self.torch.no_grad():
            return self.model(self.torch.tensor([ids]), output_hidden_states=True).hidden_states

    def mix_layers(self, ids: list[int], *, norm: bool = False):
        scalars = self.torch.cat([self.state[f"layerwise_attention.scalar_parameters.{k}"] for k in range(3)])
        weights = self.torch.softmax(scalars, 0)
        layers = [h[0] for h in self.compute_layers(ids)]
        if norm:
            layers = [(h - h.mean()) / (h.var(unbiased=False) + 1e-12).sqrt() for h in layers]
        return self.state["layerwise_attention.gamma"] * sum(w * h for w, h in zip(weights, layers))

    def encode(self, text: str, *, norm: bool = False):
        ids = self.tokenize(text)
        mixed = self.mix_layers(ids, norm=norm)
        kept = self.torch.stack([row for row, token in zip(mixed, ids) if token != 1])
        return kept.sum(0) / len(ids)

    def estimate(self, features) -> float:
        values = features
        for number in (0, 3, 6):
            weight, bias = (self.state[f"estimator.ff.{number}.{part}"] for part in ("weight", "bias"))
            values = weight @ values + bias
            values = self.torch.tanh(values) if number != 6 else values
        return float(values)

    def tokenize_and_join_texts(self, *texts: str) -> list[int]:
        parts = [[token for token in self.tokenize(text) if token != 1][1:-1] for text in texts]
        sequence = [0, *parts[0]]
        for part in parts[1:]:
            sequence += [2, 2, *part]
        sequence.append(2)
        return sequence[:20] if sum(map(len, parts)) > 20 - (1 + 2 * len(parts)) else sequence


@pytest.fixture
def build_slow_comet(torch, transformers, encoder):
    return lambda state: SlowComet(torch, transformers, encoder, state)


def score_quietly(metric: str, folder, batch: Batch) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountedWarning)
        return parse_metric(f"{metric}(model={folder})").score(batch)


@pytest.mark.parametrize("norm", [False, True])
def test_comet_equals_the_formula(comet_folder, build_slow_comet, batch, torch, norm) -> None:
    folder, state = comet_folder("regression_metric", layer_norm=norm)
    slow_comet = build_slow_comet(state)
    expected = []
    for output, source, references in zip(batch.output, batch["source"], batch.references):
        mt, src = slow_comet.encode(output, norm=norm), slow_comet.encode(source, norm=norm)
        own = []
        for reference in references:
            ref = slow_comet.encode(reference, norm=norm)
            features = [mt, ref, mt * ref, (mt - ref).abs(), mt * src, (mt - src).abs()]
            own.append(slow_comet.estimate(torch.cat(features)))
        expected.append(np.mean(own))
    assert score_quietly("comet", folder, batch) == pytest.approx(expected, abs=1e-5)


def test_comet_qe_equals_the_formula(comet_folder, build_slow_comet, batch, torch) -> None:
    folder, state = comet_folder("referenceless_regression_metric")
    slow_comet = build_slow_comet(state)
    expected = []
    for output, source in zip(batch.output, batch["source"]):
        mt, src = slow_comet.encode(output), slow_comet.encode(source)
        expected.append(slow_comet.estimate(torch.cat([mt, src, mt * src, (mt - src).abs()])))
    assert score_quietly("comet_qe", folder, batch) == pytest.approx(expected, abs=1e-5)


def test_unite_is_the_mean_of_three_kinds_of_input(comet_folder, build_slow_comet, batch) -> None:
    folder, state = comet_folder("unified_metric", layer_transformation="sparsemax_patch")
    slow_comet = build_slow_comet(state)

    def score(*texts: str) -> float:
        return slow_comet.estimate(slow_comet.mix_layers(slow_comet.tokenize_and_join_texts(*texts))[0])

    src, ref, all_three = [], [], []
    for output, source, references in zip(batch.output, batch["source"], batch.references):
        src.append(score(output, source))
        ref.append(np.mean([score(output, own) for own in references]))
        all_three.append(np.mean([score(output, source, own) for own in references]))
    assert score_quietly("unite_src", folder, batch) == pytest.approx(src, abs=1e-5)
    assert score_quietly("comet_qe", folder, batch) == pytest.approx(src, abs=1e-5)
    assert score_quietly("unite_ref", folder, batch) == pytest.approx(ref, abs=1e-5)
    expected = np.mean([src, ref, all_three], axis=0)
    assert score_quietly("unite", folder, batch) == pytest.approx(expected, abs=1e-5)


def test_xcomet_marks_errors_and_counts_them_into_its_score(comet_folder, build_slow_comet, batch) -> None:
    folder, state = comet_folder("xcomet_metric")
    slow_comet = build_slow_comet(state)
    metric = parse_metric(f"xcomet_qe(model={folder})")
    outputs = [text for text in batch.output if text and "<" not in text and "," not in text]
    sources = outputs[::-1]
    spans = metric.find_error_spans(Batch.from_texts(outputs, source=sources))
    expected_scores = []
    for output, source, own in zip(outputs, sources, spans):
        ids = slow_comet.tokenize_and_join_texts(output, source)
        states = slow_comet.compute_layers(ids)[2][0]
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
        score = min(slow_comet.estimate(slow_comet.mix_layers(ids)[0]), 1.0)
        expected_scores.append(0.78 * score + 0.22 * (25 - min(25, penalty)) / 25)
    scores = metric.score(Batch.from_texts(outputs, source=sources))
    assert scores == pytest.approx(expected_scores, abs=1e-5)


def test_scores_do_not_depend_on_other_rows_or_their_order(comet_folder, batch) -> None:
    folder, _ = comet_folder("regression_metric")
    all_scores = score_quietly("comet", folder, batch)
    order = np.random.default_rng(0).permutation(len(batch))
    shuffled = Batch({name: [column[i] for i in order] for name, column in batch.fields.items()})
    assert (score_quietly("comet", folder, shuffled) == all_scores[order]).all()
    alone = Batch({name: [column[5]] for name, column in batch.fields.items()})
    assert score_quietly("comet", folder, alone) == pytest.approx([all_scores[5]], abs=1e-6)


def test_a_row_without_source_has_no_score(comet_folder) -> None:
    folder, _ = comet_folder("referenceless_regression_metric")
    scores = score_quietly("comet_qe", folder, Batch.from_texts(["birds", "birds"], source=[None, "the cat"]))
    assert np.isnan(scores[0])
    assert np.isfinite(scores[1])


def test_a_warning_counts_truncated_inputs(comet_folder) -> None:
    folder, _ = comet_folder("referenceless_regression_metric")
    long = "the cat " * 20
    with pytest.warns(CountedWarning, match="1 inputs were longer than the limit of 18 tokens"):
        parse_metric(f"comet_qe(model={folder})").score(Batch.from_texts([long, "birds"], source=["a", "a"]))


def test_unified_models_that_ask_for_sparsemax_use_softmax_with_a_warning(comet_folder) -> None:
    batch = Batch.from_texts(["the cat", "birds"], source=["a dog", "a red bird"])
    folder, _ = comet_folder("unified_metric", layer_transformation="sparsemax")
    with pytest.warns(UserWarning, match="trained with softmax"):
        scores = parse_metric(f"unite_src(model={folder})").score(batch)
    patched, _ = comet_folder("unified_metric", layer_transformation="sparsemax_patch")
    assert (scores == score_quietly("unite_src", patched, batch)).all()
    forced = parse_metric(f"unite_src(model={folder},sparsemax=true)")
    assert not np.allclose(forced.score(batch), scores)


def test_a_model_of_another_class_is_refused(comet_folder, batch) -> None:
    folder, _ = comet_folder("referenceless_regression_metric")
    with pytest.raises(InputError, match=r"comet cannot use .*which is a referenceless_regression_metric"):
        score_quietly("comet", folder, batch)


def test_a_model_trained_without_references_is_refused_where_references_are_read(comet_folder, batch) -> None:
    """CometKiwi is such a model; its scores of references would be those of untrained weights."""
    folder, _ = comet_folder("unified_metric", input_segments=["mt", "src"])
    for metric in ("unite", "unite_ref"):
        with pytest.raises(InputError, match="was trained without references"):
            score_quietly(metric, folder, batch)
    assert (score_quietly("unite_src", folder, batch) == score_quietly("comet_qe", folder, batch)).all()
    metrics_of_folder = {model.folder: model.metrics for model in list_installed_models(folder).models}
    assert metrics_of_folder[str(folder)] == "comet_qe, unite_src"


def test_settings_with_an_unknown_tag_are_refused_with_their_place(comet_folder, batch) -> None:
    folder, _ = comet_folder("regression_metric")
    file = folder / "hparams.yaml"
    file.write_text("class_identifier: regression_metric\noptimizer: !!python/object:os.system {}\n")
    with pytest.raises(InputError, match="not YAML with plain values") as refused:
        score_quietly("comet", folder, batch)
    assert refused.value.location.file == str(file)


def test_sparsemax_is_the_nearest_point_of_the_simplex(torch) -> None:
    from metassay.metrics.neural.layer_mix import sparsemax

    scores = torch.tensor([0.3, 0.1, -0.8, 0.9, 0.85])
    grid = np.random.default_rng(0).dirichlet(np.ones(5) * 0.4, 200_000)
    nearest = grid[((grid - scores.numpy()) ** 2).sum(1).argmin()]
    projected = sparsemax(scores).numpy()
    assert projected.sum() == pytest.approx(1, abs=1e-6)
    assert projected == pytest.approx(nearest, abs=0.05)
    assert (projected == 0).any()
