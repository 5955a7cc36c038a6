"""The kernels for CUDA give what those for processors give: in Numba's simulator, without a device."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "cuda"


@pytest.mark.parametrize(
    ("arguments", "tests"), [(("simulated.py",), 4), (("on_device.py", "-k", "small"), 17)]
)
def test_cuda_in_the_simulator(arguments: tuple[str, ...], tests: int, tmp_path: Path) -> None:
    """So many tests: one that is not found or skipped would go unnoticed here."""
    file, *options = arguments
    pytest_command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*pytest_command, f"--basetemp={tmp_path}", str(FOLDER / file), *options],
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{tests} passed" in done.stdout
