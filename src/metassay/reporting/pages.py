"""What all pages share: templates that escape every text, and a policy that lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from metassay.reporting.charts.theme import FONT, TOKENS

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.6 %(font)s; color: %(ink)s; background: %(ground)s; }
main { max-width: 62rem; margin: 0 auto; padding: 1.2rem; }
a { color: %(accent)s; }
.wordmark, .quiet, figcaption { color: %(quiet)s; font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid %(line)s; text-align: right; white-space: nowrap; }
th:first-child, .words { text-align: left; }
dt { font-weight: 600; }
td.words { white-space: normal; min-width: 18rem; }
summary { cursor: pointer; font-weight: 600; padding: .5rem 0; }
figure { margin: 1rem 0; }
img { max-width: 100%%; background: #ffffff; border-radius: 4px; }
@media (prefers-color-scheme: dark) {
  body { color: %(dark_ink)s; background: %(dark_ground)s; }
  a { color: %(dark_accent)s; }
  .wordmark, .quiet, figcaption { color: %(dark_quiet)s; }
  th, td { border-bottom-color: %(dark_line)s; }
}
"""


@cache
def plain_style() -> str:
    """The stylesheet of pages without scripts."""
    dark = {f"dark_{name}": value for name, value in TOKENS["dark"].items()}
    return STYLE % {**TOKENS["light"], **dark, "font": FONT}


@cache
def templates() -> Environment:
    """The templates, in which every value is escaped and none may be missing."""
    environment = Environment(
        loader=PackageLoader("metassay.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["data_block"] = data_block
    return environment


def policy(style: str, scripts: Sequence[str] = ()) -> str:
    """The content security policy that allows exactly this style and these scripts, by their hashes."""
    allowed = " ".join(_hash(script) for script in scripts if script)
    return "; ".join(
        [
            "default-src 'none'",
            *([f"script-src {allowed}"] if allowed else []),
            f"style-src {_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def data_block(value: Any) -> Markup:
    """JSON for a `<script type="application/json">`: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return Markup(text)  # noqa: S704 -- every character that HTML gives a meaning is escaped above


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
