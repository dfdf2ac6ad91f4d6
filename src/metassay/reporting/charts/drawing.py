"""Charts as pictures."""

from __future__ import annotations

import base64

from metassay.reporting.charts.theme import TOKENS, Spec, config


def drawn(spec: Spec, *, width: int = 640) -> str:
    """A chart as SVG, in light colours on paper."""
    from vl_convert import vegalite_to_svg

    look = {**config("light"), "background": TOKENS["light"]["paper"]}
    drawing: str = vegalite_to_svg({**spec, "width": width, "config": look})
    return drawing


def data_uri(svg: str) -> str:
    """A picture to put into a page, in which nothing can run."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
