"""Two real translators from Debian's `apertium-eng-spa`: the whole engine, and its dictionary alone."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

PAIR = Path("/usr/share/apertium/apertium-eng-spa")
_TRANSLATED_UNIT = re.compile(r"\^[^/$]*/([^/$]*)(?:/[^$]*)?\$")  # ^source/first target/other targets$


def translate(sources: list[str]) -> list[str]:
    """Translate with the full rule-based engine, `apertium spa-eng`; unknown words keep their `*`."""
    return _lines(_run("apertium spa-eng", "\n".join(sources) + "\n"), len(sources))


def gloss(sources: list[str]) -> list[str]:
    """Translate word for word: Apertium's analyser, tagger and dictionary without its transfer rules.

    Words stand in Spanish order and have no agreement; a form that the English generator does not know
    stays a bare lemma.
    """
    analyse = (
        f"apertium-destxt -n | lt-proc {PAIR}/spa-eng.automorf.bin | apertium-tagger -g {PAIR}/spa-eng.prob"
        f" | apertium-pretransfer | lt-proc -b {PAIR}/spa-eng.autobil.bin"
    )
    generate = (
        f"lt-proc -n {PAIR}/spa-eng.autogen.bin | lt-proc -p {PAIR}/spa-eng.autopgen.bin | apertium-retxt"
    )
    looked_up = _run(analyse, "\n".join(sources) + "\n")
    first_choice = _TRANSLATED_UNIT.sub(r"^\1$", looked_up)
    return _lines(_run(generate, first_choice), len(sources))


def plain(translation: str) -> str:
    """Return a translation without the engine's marks and with single spaces, as `apertium -u` prints it."""
    return " ".join(re.sub(r"[*#@]", "", translation).split())


def _run(command: str, text: str) -> str:
    return subprocess.run(
        command, input=text, capture_output=True, check=True, encoding="utf-8", shell=True
    ).stdout


def _lines(text: str, expected: int) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    if len(lines) != expected:
        raise RuntimeError(f"Apertium returned {len(lines)} lines for {expected} sentences.")
    return lines
