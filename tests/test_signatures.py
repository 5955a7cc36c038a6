"""What each compiled kernel writes on a small input is what tests/signatures.tsv says.

A signature is the work of one run and the CRC-32 of what the kernel wrote (benchmarks/kernels.py).  If you
change a kernel's output on purpose, ``scripts/bench --kernels --signatures`` prints the new lines.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import kernels
from facts import facts

LINES = facts("signatures.tsv", folder=Path(__file__).parent)


@pytest.mark.parametrize("benchmark", kernels.BENCHMARKS, ids=lambda benchmark: benchmark.kernel)
def test_a_kernel_writes_what_it_wrote_before(benchmark: kernels.Benchmark) -> None:
    (line,) = facts("signatures.tsv", folder=Path(__file__).parent, kernel=benchmark.kernel)
    assert kernels.signature_line(benchmark) == (line["kernel"], line["input"], line["signature"]), line


def test_each_line_belongs_to_a_kernel() -> None:
    assert [line["kernel"] for line in LINES] == [benchmark.kernel for benchmark in kernels.BENCHMARKS]
