"""Kernels are cached on disk."""

import os
import subprocess
import sys
from pathlib import Path

SCORE_WITH_KERNEL = """
import numpy as np
from metassay.metrics.kernels.bleu import SMOOTH_NONE, compute_bleu
statistics = np.array([[4.0, 5.0, 3.0, 4.0]])
print(compute_bleu(statistics, SMOOTH_NONE, 0.0, True), sum(compute_bleu.stats.cache_hits.values()))
"""


def run_in_new_process(program: str, cache_folder: Path) -> list[str]:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache_folder)}
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return process.stdout.split()


def test_the_second_process_loads_the_kernel_from_the_cache(tmp_path: Path) -> None:
    *first_scores, first_cache_hits = run_in_new_process(SCORE_WITH_KERNEL, tmp_path)
    *second_scores, second_cache_hits = run_in_new_process(SCORE_WITH_KERNEL, tmp_path)
    assert first_cache_hits == "0"
    assert second_cache_hits == "1"
    assert first_scores == second_scores
