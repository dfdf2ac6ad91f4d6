"""What takes a run: from a file of options, or where it was stopped; and what takes finished ones."""

from __future__ import annotations

import json as jsons
import signal
import tomllib
from collections.abc import Mapping
from contextlib import chdir, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from metassay.cli.printing import print_table, say
from metassay.errors import InputError, NoSuchFile, Place, UnknownName, display_path, is_remote

FROM_FILES = ("assay", "check", "demo", "score", "perturb", "rank", "depend", "aggregate", "judge")
"""The commands that a file of options may name."""
FOLDER = "folder"
CALL = "call.json"
MANIFEST = "manifest.json"
_WORKING = "Paths are relative to this folder; default the current one."
_AGAIN = "Run the same command again with this --out, or from Python the same function with this `out`."


def run_run(
    config: Annotated[
        str | None, typer.Argument(help="A TOML or JSON file, or the manifest of a run.", metavar="CONFIG")
    ] = None,
    *,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of such a file, for editors.")
    ] = False,
) -> None:
    """Run what a file says: command = "assay", data = ["FILE"], and any option of that command."""
    if schema:
        print(jsons.dumps(config_schema(), indent=1, ensure_ascii=False))
        return
    if config is None:
        raise InputError("no file of options was named.", remedy="Name one, or print its schema: --schema")
    if config.endswith(f"/{MANIFEST}") or config == MANIFEST:
        run_resume(config.removesuffix(MANIFEST).removesuffix("/") or ".")
    else:
        _carry_out(read_config(config), config)


def run_resume(
    run: Annotated[str, typer.Argument(help="A run folder.", metavar="RUN")],
    *,
    workers: Annotated[int | None, typer.Option(help="Threads; default as before.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Go on with a run that was stopped, as the command that began it; a finished one is looked through."""
    asked = _begun(run)
    asked |= {
        name: value for name, value in (("workers", workers), ("json", json), ("quiet", quiet)) if value
    }
    _carry_out(asked, f"{run}/{CALL}")


def run_work(
    run: Annotated[str, typer.Argument(help="A run folder, or a file as for `run`.", metavar="RUN")],
    *,
    parts: Annotated[str, typer.Option("--parts", "--part", help="A number, or two such as 0-9.")],
    workers: Annotated[int | None, typer.Option(help="Threads; default as before.")] = None,
) -> None:
    """Score some parts of an assay, as one of many processes; once all are done, `resume` ends it."""
    is_file = run.endswith((".toml", ".json")) if is_remote(run) else not Path(run).is_dir()
    asked = read_config(run) if is_file else _begun(run)
    _carry_out(asked | {"parts": parts} | ({} if workers is None else {"workers": workers}), run)


def _begun(run: str) -> dict[str, Any]:
    """The options of the command that began a run."""
    try:
        asked = read_config(f"{run}/{CALL}")
    except NoSuchFile:
        raise InputError(
            "nothing here says which command began the run.", place=Place(file=run), remedy=_AGAIN
        ) from None
    if "-" in asked.get("data", []):
        raise InputError("its data came from standard input.", place=Place(file=run), remedy=_AGAIN)
    return asked | {"out": run if is_remote(run) else str(Path(run).absolute())}


def read_config(file: str) -> dict[str, Any]:
    """The table of options in a TOML or JSON file."""
    place, kind = Place(file=file), "JSON" if file.endswith(".json") else "TOML"
    try:
        text = _here(file).read_text(encoding="utf-8")
        found = jsons.loads(text) if kind == "JSON" else tomllib.loads(text)
    except InputError:
        raise
    except FileNotFoundError:
        raise NoSuchFile(place=place) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror}).", place=place) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not {kind} ({error}).", place=place) from None
    if not isinstance(found, dict):
        raise InputError("a table of options was expected.", place=place)
    if found.get("command") not in FROM_FILES:
        raise InputError(
            f"command is {found.get('command')!r}.",
            place=place,
            remedy=f"Use one of: {', '.join(FROM_FILES)}.",
        )
    return found


def _here(file: str) -> Path:
    """Where a file can be read."""
    if not is_remote(file):
        return Path(file)
    from metassay.workflows.read import download_if_remote

    return Path(download_if_remote(file))


def _carry_out(asked: Mapping[str, Any], file: str) -> None:
    """The command with its options, as if they had been typed; a run elsewhere goes on in any folder."""
    from metassay.cli.app import command

    asked = dict(asked)
    name, folder = asked.pop("command"), asked.pop(FOLDER, None)
    arguments = _typed(name, asked, file)
    if folder is not None and not Path(str(folder)).is_dir():
        if not is_remote(file):
            raise InputError(f"there is no folder {folder!r} any more.", place=Place(file=file))
        folder = None
    with nullcontext() if folder is None else chdir(folder):
        status = command().main([name, *arguments], prog_name="metassay", standalone_mode=False)
    if isinstance(status, int) and status:
        raise typer.Exit(status)


def _typed(command: str, asked: Mapping[str, Any], file: str) -> list[str]:
    """Options of a file as they are typed; what comes without a flag last."""
    known = _parameters(command)
    flagged: list[str] = []
    bare: list[str] = []
    for name, value in asked.items():
        if name not in known:
            raise UnknownName(f"option of {command}", name, known, place=Place(file=file))
        one = known[name]
        texts = _texts(value, name, file)
        if one.nargs == -1 or not one.opts[0].startswith("-"):
            bare += texts
        elif one.is_flag:
            if not isinstance(value, bool):
                raise InputError(f"{name} is {value!r}, neither true nor false.", place=Place(file=file))
            flagged += [max(one.opts, key=len)] if value else one.secondary_opts[:1]
        else:
            flagged += [
                f"{max(one.opts, key=len)}={text}" for text in (texts if one.multiple else [",".join(texts)])
            ]
    return [*flagged, "--", *bare]


def _texts(value: Any, name: str, file: str) -> list[str]:
    """A value, each of several, or NAME=VALUE for each entry of a table."""
    if isinstance(value, dict):
        return [f"{key}={text}" for key, inner in value.items() for text in _texts(inner, name, file)]
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner, name, file)]
    if isinstance(value, str | int | float):
        return [str(value)]
    raise InputError(f"{name} is {value!r}, neither text nor number.", place=Place(file=file))


def _parameters(name: str) -> dict[str, Any]:
    from metassay.cli.app import command

    return {one.name: one for one in command().commands[name].params if one.name != "help"}


def config_schema() -> dict[str, Any]:
    """The JSON schema of a file of options: for each command, what it takes."""
    common = {FOLDER: {"type": "string", "description": _WORKING}}
    return schema_of({name: _parameters(name) for name in FROM_FILES}, common)


SCHEMA = "https://json-schema.org/draft/2020-12/schema"
_KINDS: dict[Any, str] = {bool: "boolean", int: "integer", float: "number"}


def schema_of(commands: Mapping[str, Mapping[str, Any]], common: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of a file that names one of the commands and any of its options."""
    return {
        "$schema": SCHEMA,
        "title": "Options of a metassay command",
        "oneOf": [
            {
                "title": name,
                "type": "object",
                "required": ["command"],
                "properties": {
                    "command": {"const": name},
                    **common,
                    **{key: _described(one) for key, one in parameters.items()},
                },
                "additionalProperties": False,
            }
            for name, parameters in commands.items()
        ],
    }


def _described(one: Any) -> dict[str, Any]:
    """One option: its type, what it does, its default."""
    asked = one.type_descriptor.annotation
    kind = next((named for known, named in _KINDS.items() if asked in (known, known | None)), "string")
    forms: dict[str, Any] = {"type": kind}
    if kind == "string" or one.multiple or one.nargs == -1:
        plain = {"type": ["string", "number"]}
        forms = {"anyOf": [plain, {"type": "array", "items": plain}]}
        if one.metavar and "=" in one.metavar:
            forms["anyOf"].append({"type": "object"})
    about = {"description": one.help} if getattr(one, "help", None) else {}
    default = one.default if isinstance(one.default, str | int | float) else None
    return {**forms, **about, **({} if default is None else {"default": default})}


CHANGED = 3


def run_compare(
    runs: Annotated[
        list[str],
        typer.Argument(help="Two or more runs, oldest first, or a folder of runs.", metavar="RUN…"),
    ],
    *,
    fail_on: Annotated[str | None, typer.Option(help="change: exit with 3 when something changed.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """What changed between runs by more than chance: accuracies, orders of metrics, recommendations."""
    from metassay.workflows.overview import compare

    if fail_on not in (None, "change"):
        raise InputError(f"--fail-on {fail_on!r} is not known.", remedy="Known: change.")
    result = compare(*runs)
    if json:
        print(result.to_json())
    else:
        _show(result.to_dict())
    if fail_on == "change" and result.changed:
        raise typer.Exit(CHANGED)


def _show(found: dict[str, object]) -> None:
    from metassay.reporting.wording import in_labels

    comparisons = in_labels(found["comparisons"])
    assert isinstance(comparisons, list)
    for entry in comparisons:
        say(f"{entry['before']} → {entry['after']}")
        say(*(entry["sentences"] or ["Nothing changed by more than chance."]))
        names = ("metric", "before", "after", "difference", "low", "high", "p_holm")
        rows = [
            {name: row[name] for name in names} for row in entry["accuracies"] if row["column"] == "global"
        ]
        print_table(rows, title="Accuracy over all contexts")


def run_report(
    runs: Annotated[
        list[str], typer.Argument(help="A run, or one of each verb on the same data.", metavar="RUN…")
    ],
    *,
    out: Annotated[
        str | None, typer.Option(help="The page; default report.html of the run.", metavar="FILE")
    ] = None,
    figures: Annotated[str | None, typer.Option(help="Every chart for papers: svg, pdf or png.")] = None,
    tables: Annotated[str | None, typer.Option(help="Every table: latex, markdown or csv.")] = None,
) -> None:
    """Write the page of a run anew, or one for runs of one data set (assay, rank, depend, aggregate)."""
    from metassay.workflows.recommend import report

    page = report(*runs, out=out, figures=figures, tables=tables)
    say(f"Report: {display_path(page)}")
    if figures is not None:
        say(f"Figures of one and two columns: {display_path(page.parent / 'figures')}")
    if tables is not None:
        say(f"Tables: {display_path(page.parent / 'tables')}")


def run_serve(
    runs: Annotated[
        list[str], typer.Argument(help="Runs, oldest first, or a folder of runs.", metavar="RUN…")
    ],
    *,
    host: Annotated[str, typer.Option(help="The address to serve on; the default is this machine only.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port; 0 takes any that is free.", min=0, max=65535)] = 8017,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Show runs in the browser: what changed, every pair, reports, notes. Ctrl-C ends it.

    Needs: pip install 'metassay[serve]'
    """
    from metassay.serve.server import RunServer

    with RunServer(runs, host=host, port=port) as server:
        if json:
            print(jsons.dumps({"schema_version": 1, "url": server.url}), flush=True)
        else:
            say(f"Runs are at {server.url} until Ctrl-C.")
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("Done.")
