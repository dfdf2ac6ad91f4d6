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
    permuted, _ = calibration.measure_rejection_rates(calibration.draw_crossed_null, 400, permutations=199)
    assert 0.025 <= permuted <= 0.08


def test_permutation_test_keeps_its_level_with_nested_contexts_where_chi_square_does_not(calibration):
    permuted, plain = calibration.measure_rejection_rates(calibration.draw_nested_null, 400, permutations=199)
    assert 0.025 <= permuted <= 0.08
    assert plain > 0.5


@pytest.mark.parametrize("truth", [0.3, 0.7])
def test_intervals_cover(calibration, truth):
    assert 0.92 <= calibration.measure_coverage(truth, 50, 400, resamples=400) <= 0.98


@pytest.mark.parametrize("truth", [0.02, 0.98])
def test_intervals_stay_honest_near_the_ends(calibration, truth):
    assert calibration.measure_coverage(truth, 50, 400, resamples=400) >= 0.92


def test_top_group_holds_the_best(calibration):
    kept, size = calibration.measure_top_group(600, 60, resamples=300)
    assert kept >= 0.95
    assert size < 8


def test_length_is_flagged_and_noisy_but_fair_metrics_are_as_often_as_said(calibration):
    length, fair = calibration.measure_confounding_flags(10)
    assert length == 1
    assert fair <= 0.09  # of 190 tests at .05


def test_documents_are_the_unit_of_intervals_where_items_of_one_go_together(calibration):
    assert 0.92 <= calibration.measure_document_coverage(400, resamples=400) <= 0.98
    assert calibration.measure_document_coverage(400, by_document=False, resamples=400) < 0.8


@pytest.mark.parametrize(
    "design",
    ["one overdispersed of 8 systems", "small heterogeneous domains", "250 contexts, one pair per item"],
)
def test_permutation_test_keeps_its_level_where_spreads_differ(calibration, design):
    permuted, _ = calibration.measure_rejection_rates(calibration.H1_DESIGNS[design], 400, permutations=199)
    assert permuted <= 0.08


def test_a_report_about_nothing_claims_nothing(calibration):
    """Twenty contexts, equally good metrics: tested one by one, something would be said in 40 %."""
    claimed, one_by_one = calibration.measure_false_claims(20, 30, 20)
    assert claimed <= 0.15
    assert one_by_one >= 0.2


def test_human_pairs_do_not_raise_the_rate_of_false_claims(calibration):
    claimed, _ = calibration.measure_false_claims(2, 60, 100, people=True)
    assert claimed <= 0.1


def test_a_clear_difference_in_one_of_twenty_contexts_is_found(calibration):
    assert calibration.measure_power(20, 100, 0.2, 5) == 1


def test_the_noise_ceiling_is_that_of_full_size(calibration):
    """Two samples agree better than two halves of one; extrapolated, halves say how well."""
    halves, extrapolated = calibration.measure_ceiling_error(12, 100, 400)
    assert halves > 0.04
    assert abs(extrapolated) < halves / 2


def test_people_are_followed_where_they_differ_and_not_where_they_do_not(calibration):
    equal, _ = calibration.measure_followed_people((0.9, 0.8, 0.75), (0.6, 0.6, 0.6), 60)
    clear, held = calibration.measure_followed_people((0.9, 0.8, 0.7), (0.6, 0.72, 0.55), 20)
    assert equal <= 0.1
    assert clear >= 0.9
    assert held >= 0.8


def test_corrected_accuracy_covers_what_wrong_labels_hide(calibration):
    corrected, raw = calibration.measure_corrected_coverage(0.15, 100)
    assert corrected >= 0.9
    assert raw <= 0.2


def test_a_rate_is_out_when_its_whole_interval_is(calibration):
    assert calibration.Rate("", 0.07, 100, (0, 0.06)).holds
    assert not calibration.Rate("", 0.07, 10_000, (0, 0.06)).holds
    low, high = calibration.Rate("", 0.5, 100, None).interval()
    assert (low, high) == pytest.approx((0.4038, 0.5962), abs=1e-4)  # Wilson (1927)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        "list_h1_rates",
        "list_interval_rates",
        "list_claim_rates",
        "list_dependence_rates",
        "list_people_rates",
    ],
)
def test_every_rate_keeps_its_bounds(calibration, part):
    out = [str(rate) for rate in getattr(calibration, part)(400) if not rate.holds]
    assert not out


def test_equally_good_metrics_rarely_seem_to_save_more_or_fewer_labels(calibration):
    saves, _ = calibration.measure_saving_claims(0.0, 100)
    _, left_out = calibration.measure_saving_claims(0.5, 100)
    assert saves <= 0.1  # 5 % and more than two standard errors of the simulation
    assert left_out <= 0.1


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_tests_of_systems_keep_their_level_and_find_differences(calibration, test):
    any_rejected, single_rejected, _ = calibration.measure_system_tests(test, 200, draws=299)
    assert any_rejected <= 0.11
    assert 0.02 <= single_rejected <= 0.1
    _, _, power = calibration.measure_system_tests(test, 30, draws=299, gain=0.6)
    assert power >= 0.9
