"""What the page of system dependence claims of several metrics at once."""

from __future__ import annotations

from metassay.reporting.dependence_page import dependence_page
from metassay.reporting.pages import render_page


def _page(*p_fair: float | None) -> str:
    entries = [
        {
            "dataset": "en-de",
            "metric": f"m{n}",
            "sysdep": 1.0 + n,
            "low": None,
            "high": None,
            "constant": 4.0,
            "ratio": 0.25,
            "residual_range": 0.5 + n,
            "p_equal": 0.5,
            "p_fair": p,
            "residual": {"A": 0.2, "B": -0.3},
            "inversions": [],
        }
        for n, p in enumerate(p_fair)
    ]
    return render_page(dependence_page({"metrics": entries, "human": "mqm", "by": "system", "notes": []}))


def test_metrics_that_prefer_somebody_are_counted_after_holm():
    """.03 and .04 of two tests are .06 and .06 by Holm: nothing to claim; .01 and .04 are .02 and .04."""
    assert "prefer somebody" not in _page(0.03, 0.04)
    assert "2 of 2 metrics prefer somebody" in _page(0.01, 0.04)
    assert "1 of 2 metrics prefers somebody" in _page(0.01, None)


def test_conditions_stand_beside_the_numbers():
    page = _page(0.5)
    assert "supposes that residuals spread alike" in page
    assert "that the noise has one size" in page
