"""Kernels are cached on disk."""

import os
import subprocess
import sys
from pathlib import Path

MIX_WITH_KERNEL = """
import numpy as np
from metassay.stats.stream_kernels import hash_integer_in_compiled_code
print(hash_integer_in_compiled_code(np.uint64(7)), sum(hash_integer_in_compiled_code.stats.cache_hits.values()))
"""


def run_in_new_process(program: str, cache_folder: Path) -> list[str]:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache_folder)}
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return process.stdout.split()


def test_the_second_process_loads_the_kernel_from_the_cache(tmp_path: Path) -> None:
    *first_values, first_cache_hits = run_in_new_process(MIX_WITH_KERNEL, tmp_path)
    *second_values, second_cache_hits = run_in_new_process(MIX_WITH_KERNEL, tmp_path)
    assert first_cache_hits == "0"
    assert second_cache_hits == "1"
    assert first_values == second_values
