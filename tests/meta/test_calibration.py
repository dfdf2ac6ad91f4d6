"""Error rates on data with a known truth: a small run of `benchmarks/calibration.py`."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "calibration.py"


@pytest.fixture(scope="module")
def calibration():
    spec = importlib.util.spec_from_file_location("calibration", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_permutation_test_keeps_its_level_with_crossed_contexts(calibration):
    permuted, _ = calibration.rejection_rates(calibration.crossed_null, 400, permutations=199)
    assert 0.025 <= permuted <= 0.08


def test_permutation_test_keeps_its_level_with_nested_contexts_where_chi_square_does_not(calibration):
    permuted, plain = calibration.rejection_rates(calibration.nested_null, 400, permutations=199)
    assert 0.025 <= permuted <= 0.08
    assert plain > 0.5


@pytest.mark.parametrize("truth", [0.3, 0.7])
def test_intervals_cover(calibration, truth):
    assert 0.92 <= calibration.coverage(truth, 50, 400, resamples=400) <= 0.98


@pytest.mark.parametrize("truth", [0.02, 0.98])
def test_intervals_stay_honest_near_the_ends(calibration, truth):
    assert calibration.coverage(truth, 50, 400, resamples=400) >= 0.92


def test_top_group_holds_the_best(calibration):
    kept, size = calibration.best_kept(600, 60, resamples=300)
    assert kept >= 0.95
    assert size < 8


def test_length_is_flagged_and_a_noisy_but_fair_metric_is_not(calibration):
    length, fair = calibration.flag_rates(10)
    assert (length, fair) == (1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("design", ["crossed_null", "nested_null"])
def test_permutation_test_in_full(calibration, design):
    permuted, _ = calibration.rejection_rates(getattr(calibration, design), 2000)
    assert 0.035 <= permuted <= 0.065
