"""Write small random checkpoints of every architecture, and the scores of the original libraries.

    python -m scripts.neural_oracles.write DATA OUT

Runs in the environment of `requirements.txt` (make neural-oracles). OUT gets `cases.json`, one folder per
checkpoint in its official form, and `scores.json`.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.insert(0, str(Path(__file__).parents[2]))

from scripts.neural_oracles import comet_family, other_families
from scripts.neural_oracles.cases import ENGLISH, draw_cases


def main(data: Path, out: Path) -> None:
    warnings.filterwarnings("ignore")
    out.mkdir(parents=True, exist_ok=True)
    cases = draw_cases(data)
    (out / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    (out / "many.json").write_text(json.dumps(draw_cases(data, 2000, files=ENGLISH)), encoding="utf-8")
    file = out / "scores.json"
    scores: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for name, write in {**comet_family.ORACLES, **other_families.ORACLES}.items():
        if name not in scores:
            print(name, flush=True)
            scores[name] = write(out, name, cases)
            file.write_text(json.dumps(scores), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
