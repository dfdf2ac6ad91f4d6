"""Write the outputs that README and documentation quote: `python -m scripts.quote_outputs [--check]`.

A quote is a comment `<!-- output: COMMAND -->` followed by a `text` block. The block gets the first lines
that the command prints, up to the first empty line. `--check` changes nothing and exits with 1 if a quote is
old.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
QUOTE = re.compile(r"<!-- output: metassay (?P<arguments>[^\n]+) -->\n```text\n.*?```\n", re.DOTALL)
WIDTH = 100


def print_answer(arguments: str, folder: Path) -> str:
    """Run a command in a folder and return the first lines that it prints, up to an empty line."""
    environment = os.environ | {"COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    process = subprocess.run(
        [sys.executable, "-m", "metassay", *shlex.split(arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = itertools.takewhile(str.strip, process.stdout.strip().splitlines())
    return "".join(f"{line.rstrip()}\n" for line in lines)


def update_quotes(text: str, folder: Path) -> str:
    """Return the text of a page with the present output in every quote."""

    def replace(match: re.Match[str]) -> str:
        answer = print_answer(match["arguments"], folder)
        return f"<!-- output: metassay {match['arguments']} -->\n```text\n{answer}```\n"

    return QUOTE.sub(replace, text)


def find_old_quotes(folder: Path, *, write: bool) -> list[str]:
    """Return the names of pages whose quotes differ from the present output; rewrite them on request."""
    pages_with_old_quotes = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        updated = update_quotes(text, folder)
        if updated != text:
            pages_with_old_quotes.append(page.name)
            if write:
                page.write_text(updated, encoding="utf-8")
    return pages_with_old_quotes


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests" / "docs"))
    from documented_files import write_documented_files

    parser = argparse.ArgumentParser(description="Write the outputs that README and documentation quote.")
    parser.add_argument("--check", action="store_true", help="only say which pages have old quotes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_documented_files(folder)
        old = find_old_quotes(folder, write=not arguments.check)
    print(*(f"{page}: quotes differ from the present output" for page in old), sep="\n")
    if arguments.check and old:
        sys.exit(1)


if __name__ == "__main__":
    main()
