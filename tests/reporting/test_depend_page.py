"""What the page of `depend` claims about several metrics."""

from __future__ import annotations

import msgspec

from metassay.reporting.depend_page import (
    build_system_dependence_page,
    list_main_findings_on_favoured_systems,
    prepare_system_dependence_report,
)
from metassay.reporting.pages import render_page
from metassay.results.depend import DependContent, MetricDependence, Rankings


def build_entry(number: int, p_fair: float | None) -> MetricDependence:
    """A metric with two systems; only what the page shows is realistic."""
    residual = {"A": 0.2, "B": -0.3}
    return MetricDependence(
        metric=f"m{number}",
        dataset="en-de",
        sysdep=1.0 + number,
        low=None,
        high=None,
        constant=4.0,
        ratio=0.25,
        slope=-0.1,
        residual_range=0.5 + number,
        p_equal=0.5,
        p_fair=p_fair,
        pearson=0.5,
        outputs=20,
        deviations=residual,
        shrinkage={"A": 0.0, "B": 0.0},
        residual=residual,
        inversions=[],
        deviations_low={"A": None, "B": None},
        deviations_high={"A": None, "B": None},
        leave_one_out={"A": None, "B": None},
        human_means=residual,
        metric_means=residual,
        remapped_means=residual,
        rankings=Rankings(human=["A", "B"], metric=["A", "B"], remapped=["A", "B"]),
        estimators={},
        local=[],
        sensitivity=[],
    )


def render(*p_fair: float | None) -> str:
    entries = [build_entry(number, p) for number, p in enumerate(p_fair)]
    content = DependContent(human="mqm", by="system", metrics=entries, comparisons=[])
    verdict = list_main_findings_on_favoured_systems(prepare_system_dependence_report(content))
    return render_page(build_system_dependence_page(msgspec.structs.replace(content, verdict=verdict)))


def test_unfair_metrics_are_counted_after_holms_correction():
    """Holm turns .03 and .04 into .06 and .06, and .01 and .04 into .02 and .04."""
    assert "No metric is shown to favour any system." in render(0.03, 0.04)
    assert "2 of 2 metrics are shown to favour some systems" in render(0.01, 0.04)
    assert "1 of 2 metrics is shown to favour some systems" in render(0.01, None)
    assert "p fair is at most .05 after Holm" in render(0.01, None)


def test_assumptions_of_the_tests_are_on_the_page():
    page = render(0.5)
    assert "varies equally around this expectation everywhere" in page
    assert "assumes that the noise has the same size everywhere" in page
