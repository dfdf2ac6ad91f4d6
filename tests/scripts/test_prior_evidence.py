"""The prior evidence that comes with the package, against the data that it was computed from."""

from __future__ import annotations

import pytest
from scripts.prior_evidence import TEST_SETS, rank_test_set

from metassay.reporting.prior_evidence import load_wmt_evidence


@pytest.mark.real_data
def test_one_test_set_gives_the_numbers_of_the_package(real_data):
    """The smallest test set with scores of the shared task."""
    folder = real_data("wmt23").parent
    evidence = load_wmt_evidence()
    assert evidence.test_sets == list(TEST_SETS)
    computed = rank_test_set(folder, "2023/en-de")
    assert len(computed) == 49
    for metric, values in computed.items():
        entry = evidence.get_published_results(metric)
        assert entry is not None
        assert entry.spa["2023/en-de"] == pytest.approx(values["spa"], abs=1e-4)
        if "labels_saved" in values:
            assert entry.labels_saved["2023/en-de"] == pytest.approx(values["labels_saved"], abs=1e-4)


def test_published_figures_on_wmt23():
    """Mean SPA as on the page of the shared task's metrics, which another script computes."""
    evidence = load_wmt_evidence()
    test_sets = ["2023/en-de", "2023/he-en", "2023/zh-en"]
    published = {"GEMBA-MQM": 0.954, "XCOMET-Ensemble": 0.925, "COMET": 0.917, "chrF": 0.813, "BLEU": 0.828}
    for metric, value in published.items():
        entry = evidence.get_published_results(metric)
        assert entry is not None
        assert entry.average_spa(test_sets) == pytest.approx(value, abs=1e-3)
