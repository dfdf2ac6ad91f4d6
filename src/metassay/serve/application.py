"""The web application of the dashboard: its addresses, and how it responds to requests.

An address names a run, never a path, so that nothing but runs can be read. Every response has a content
security policy. A report may come from somebody else: it is shown in a sandbox, from which neither the
dashboard nor the network can be reached.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import parse_qs

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from metassay.errors import LinkOutsideFolder, MetassayError, UnknownName
from metassay.serve.host_check import HostCheck
from metassay.workflows.dashboard import (
    BadRequest,
    Dashboard,
    PageNotFound,
    build_dashboard_policy,
    render_error_page,
)

# Pages that are rendered at the same time. Each uses all cores where it pays.
PAGES_AT_ONCE = 2
# Bytes of a request with notes.
LARGEST_FORM = 2**18
# Seconds in which it must have arrived.
FORM_TIMEOUT = 10
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline';"
    " style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)
# Title and text of the error page for each HTTP status.
ERROR_PAGES = {
    400: ("Bad request", "The form has more fields than the form of this page."),
    404: ("Page not found", "There is no such page."),
    405: ("Not allowed", "This address does not accept requests of this kind."),
    408: ("Request too slow", f"The form did not arrive within {FORM_TIMEOUT} seconds.\nSend it again."),
    413: ("Form too large", f"The form is larger than {LARGEST_FORM // 1024} KiB.\nShorten the notes."),
}
ContentT = TypeVar("ContentT")


def build_web_application(dashboard: Dashboard, host: str) -> ASGIApp:
    """Build the web application that shows runs in the browser. It answers only requests for the host name
    `host`.
    """
    limiter = anyio.CapacityLimiter(PAGES_AT_ONCE)

    async def run_in_thread(make_content: Callable[[], ContentT]) -> ContentT:
        return await anyio.to_thread.run_sync(make_content, limiter=limiter)

    async def show_overview(request: Request) -> Response:
        page = request.query_params.get("page")
        return _build_page_response(await run_in_thread(lambda: dashboard.render_run_list(page)))

    async def send_overview(request: Request) -> Response:
        page = request.query_params.get("page")
        content = await run_in_thread(lambda: dashboard.build_run_list_json(page))
        return Response(content, media_type="application/json")

    async def show_watch(_: Request) -> Response:
        page = await run_in_thread(dashboard.render_page_of_changes_over_runs)
        return HTMLResponse(page.encode(errors="replace"), headers={"Content-Security-Policy": REPORT_POLICY})

    async def show_explorer(request: Request) -> Response:
        name = request.path_params["name"]
        values: dict[str, list[str]] = {}
        for key, value in request.query_params.multi_items():
            values.setdefault(key, []).append(value)
        return _build_page_response(
            await run_in_thread(lambda: dashboard.render_pair_explorer_page(name, values))
        )

    async def show_report(request: Request) -> Response:
        content = await run_in_thread(lambda: dashboard.read_report(request.path_params["name"]))
        headers = {"Content-Security-Policy": REPORT_POLICY}
        return Response(content, media_type="text/html", headers=headers)

    async def save_notes(request: Request) -> Response:
        name = request.path_params["name"]
        form = await _read_form(request)
        await run_in_thread(
            lambda: dashboard.save_notes(
                name,
                form.get("text", ""),
                token=form.get("token", ""),
                seen_version=form.get("seen_version", ""),
            )
        )
        explorer_path = request.url_for("explorer", name=name).path
        target = form.get("back", "")
        if not target.startswith(f"{explorer_path}?"):  # never redirect to another site
            target = explorer_path
        # 303 makes the browser load the page with GET, so that reloading it does not send the notes again.
        return RedirectResponse(target, status_code=303)

    routes = [
        Route("/", show_overview),
        Route("/api/overview", send_overview),
        Route("/watch", show_watch),
        Route("/runs/{name}/", show_explorer, name="explorer"),
        Route("/runs/{name}/report", show_report),
        Route("/runs/{name}/notes", save_notes, methods=["POST"]),
    ]
    handlers = {HTTPException: _respond_to_http_error, MetassayError: _respond_to_error}
    app = Starlette(routes=routes, exception_handlers=handlers)  # type: ignore[arg-type]
    app.router.redirect_slashes = False
    return HostCheck(app, host)


def _build_page_response(text: str, status: int = 200) -> Response:
    page_policy = f"{build_dashboard_policy()}; frame-ancestors 'none'"
    headers = {"Content-Security-Policy": page_policy}
    # Texts may have lone surrogates, which UTF-8 cannot encode.
    return HTMLResponse(text.encode(errors="replace"), status, headers=headers)


async def _respond_to_http_error(_: Request, error: HTTPException) -> Response:
    """Build the response to a request that cannot be handled, for example because the address does not
    exist.
    """
    page = render_error_page(*ERROR_PAGES[error.status_code])
    response = _build_page_response(page, error.status_code)
    response.headers.update(error.headers or {})
    return response


async def _respond_to_error(_: Request, error: MetassayError) -> Response:
    """Build the error page for a request that failed, with the HTTP status that fits the error."""
    if isinstance(error, PageNotFound):
        status = 404
    elif isinstance(error, BadRequest | UnknownName):
        status = 400
    elif isinstance(error, LinkOutsideFolder):
        status = 403
    else:
        status = 500
    return _build_page_response(render_error_page("This cannot be shown", str(error)), status)


async def _read_form(request: Request) -> dict[str, str]:
    """Read the fields of a form from a request. A form that is too large or arrives too slowly raises an
    error.
    """
    body = b""
    try:
        async with asyncio.timeout(FORM_TIMEOUT):
            async for chunk in request.stream():
                body += chunk
                # Checked while it arrives: the length in the header may be wrong or missing.
                if len(body) > LARGEST_FORM:
                    raise HTTPException(413)
    except (TimeoutError, ClientDisconnect):
        raise HTTPException(408) from None
    try:
        fields = parse_qs(body.decode(errors="replace"), keep_blank_values=True, max_num_fields=10)
    except ValueError:  # more fields than the form has
        raise HTTPException(400) from None
    return {name: values[0] for name, values in fields.items()}
