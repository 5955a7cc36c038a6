"""Tables as data sets, for DuckDB, Polars and data frames, and tasks with fixed names.

columns.py     the boards of a table as columns: `to_arrow`, `write_parquet`
exporting.py   the same as one file, Parquet or CSV, or as fractions
benchmarks.py  tasks with fixed names, and the score of an agent: `benchmark`
"""

from __future__ import annotations

from tilebase.datasets.benchmarks import BENCHMARKS, Benchmark, benchmark
from tilebase.datasets.columns import SPLITS, split_of, to_arrow, write_parquet

__all__ = [
    "BENCHMARKS", "SPLITS", "Benchmark", "benchmark", "split_of", "to_arrow", "write_parquet",
]  # fmt: skip
