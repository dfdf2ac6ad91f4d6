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


def _read_style_and_script() -> tuple[str, str]:
    """Read the stylesheet and the script that all pages of the dashboard use."""
    return render_stylesheets("report.css.j2", "dashboard.css.j2"), read_scripts("dashboard.js")


@cache
def build_dashboard_policy() -> str:
    """Build the content security policy (CSP) of the dashboard. It allows forms to be sent only to the
    dashboard itself.
    """
    style, script = _read_style_and_script()
    return build_content_security_policy(style, [script]).replace("form-action 'none'", "form-action 'self'")


def render_dashboard_page(template: str, **content: Any) -> str:
    """Render a template of the dashboard with its stylesheet and script."""
    style, script = _read_style_and_script()
    return (
        load_templates()
        .get_template(template)
        .render(
            policy=build_dashboard_policy(),
            style=Markup(style),  # noqa: S704 -- our own stylesheet, no user text
            program=Markup(script),  # noqa: S704 -- our own script, no user text
            **content,
        )
    )


def render_error_page(title: str, message: str) -> str:
    """Render an error page of the dashboard. The first line of the message says what is wrong, the second
    what to do.
    """
    problem, _, remedy = message.partition("\n")
    return render_dashboard_page(
        "dashboard.html.j2", kind="problem", title=title, problem=problem, remedy=remedy
    )
