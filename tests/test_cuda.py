"""The kernels for CUDA give what those for processors give: in Numba's simulator, without a device."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SIMULATED = Path(__file__).parent / "cuda" / "simulated.py"
TESTS = 11
"""So many tests are in that file: one that is not found or skipped would go unnoticed here."""


def test_cuda_in_the_simulator(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--basetemp={tmp_path}",
            str(SIMULATED),
        ],
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{TESTS} passed in" in done.stdout
