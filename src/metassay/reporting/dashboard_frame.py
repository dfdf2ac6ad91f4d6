"""What all pages of `metassay serve` share: style, script, content security policy, and the error page.

As in reports, every text is escaped, and the policy allows only our own script, by its hash.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from markupsafe import Markup

from metassay.reporting.pages import (
    build_content_security_policy,
    load_templates,
    read_scripts,
    render_stylesheets,
)


def _read_assets() -> tuple[str, str]:
    """Return the stylesheet (that of reports with additions) and the script of all pages."""
    return render_stylesheets("report.css.j2", "dashboard.css.j2"), read_scripts("dashboard.js")


@cache
def dashboard_policy() -> str:
    """Return the content security policy: our own style and script, and forms that lead back here."""
    style, script = _read_assets()
    return build_content_security_policy(style, [script]).replace("form-action 'none'", "form-action 'self'")


def render_dashboard_page(template: str, **content: Any) -> str:
    """Render a template with our style and script."""
    style, script = _read_assets()
    return (
        load_templates()
        .get_template(template)
        .render(
            policy=dashboard_policy(),
            style=Markup(style),  # noqa: S704 -- our own stylesheet, no user text
            program=Markup(script),  # noqa: S704 -- our own script, no user text
            **content,
        )
    )


def render_error_page(title: str, message: str) -> str:
    """Render a page that says what went wrong; the second line of the message is the remedy."""
    problem, _, remedy = message.partition("\n")
    return render_dashboard_page(
        "dashboard.html.j2", kind="problem", title=title, problem=problem, remedy=remedy
    )
