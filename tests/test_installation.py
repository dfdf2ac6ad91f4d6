"""What an installation needs, and what it does not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

RUSSIAN_WITHOUT_SETUPTOOLS = """
import sys
sys.modules["pkg_resources"] = sys.modules["setuptools"] = None  # importing them is an error now
import metassay
outputs = ["Анна Каренина встретила Ивана Петрова в Лондоне.", "Компания Яндекс открыла офис в Берлине."]
rows = [{"seg_id": n, "system": "a", "hyp": text, "ref": "Иван приехал."} for n, text in enumerate(outputs)]
data = metassay.read(rows, task="mt", language="ru")
print(sorted(metassay.perturb(data, perturbations="entity,removal").to_frame()["perturbation"].unique()))
"""


def test_russian_does_not_need_setuptools() -> None:
    """The module of natasha imports pymorphy2, which needs pkg_resources. Its models do not."""
    pytest.importorskip("slovnet")
    command = [sys.executable, "-c", RUSSIAN_WITHOUT_SETUPTOOLS]
    output = subprocess.run(command, capture_output=True, text=True, check=False)
    assert output.stdout.strip() == "['entity', 'removal']", output.stderr
