"""`python -m scripts.make_sample [PART …] [--out FOLDER]`: builds all parts, or those named."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

PARTS = {"mt": "mt", "asr": "speech", "ranking": "ranking", "text": "summaries"}
SAMPLE = Path(__file__).parents[2] / "src" / "metassay" / "sample"


def main() -> None:
    parser = argparse.ArgumentParser(description="Builds the bundled sample.")
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(PARTS)}; all if none is named")
    parser.add_argument("--out", type=Path, default=SAMPLE, help="where the files go")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.parts) - set(PARTS))
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for part in arguments.parts or PARTS:
        importlib.import_module(f"scripts.make_sample.{PARTS[part]}").build(arguments.out)


main()
