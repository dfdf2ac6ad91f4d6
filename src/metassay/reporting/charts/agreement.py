"""Chart of how often people agree with a difference in metric scores."""

from __future__ import annotations

import msgspec

from metassay.reporting.charts.theme import Spec, build_chart, build_tooltip
from metassay.results.rank import AgreementCurve


def build_agreement_chart(agreement_curve: AgreementCurve, metric_label: str) -> Spec:
    """Draw how often people agree with a metric which of two systems or outputs is better, by the size of the
    score difference, with a 95 % band.
    """
    points = [msgspec.to_builtins(point) for point in agreement_curve.points]
    x = {
        "field": "difference",
        "type": "quantitative",
        "title": f"difference in {metric_label} between two {agreement_curve.between}",
    }
    y = {
        "field": "probability",
        "type": "quantitative",
        "title": "people agree",
        "scale": {"domain": [0.4, 1.0], "clamp": True},
        "axis": {"format": ".0%"},
    }
    tooltip = build_tooltip(
        ("difference", "difference", ".4g"),
        ("probability", "people agree", ".1%"),
        ("low", "95 % interval: low", ".1%"),
        ("high", "high", ".1%"),
    )
    band = {
        "mark": {"type": "area", "opacity": 0.2, "color": {"expr": "ink"}},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
    }
    line = {
        "mark": {"type": "line", "color": {"expr": "ink"}, "point": {"color": {"expr": "ink"}}},
        "encoding": {"x": x, "y": y, "tooltip": tooltip},
    }
    return build_chart(
        f"How often people agree with a difference in {metric_label} between two {agreement_curve.between}.",
        height=260,
        data={"values": points},
        layer=[band, line],
    )
