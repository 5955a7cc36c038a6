"""Tables as data sets, for DuckDB, Polars and data frames, and a data set that can be published and cited.

columns.py     the boards of a table as columns: `to_arrow`, `write_parquet`
benchmarks.py  tasks with fixed names, and the score of an agent: `benchmark`
making.py      the data set: tables, Parquet in three parts, benchmarks, checksums: `make_dataset`
card.py        its data card, for readers, and its Croissant metadata, for programs
"""

from __future__ import annotations

from tilebase.datasets.benchmarks import BENCHMARKS, Benchmark, benchmark
from tilebase.datasets.columns import SPLITS, split_of, to_arrow, write_parquet
from tilebase.datasets.making import make_dataset

__all__ = [
    "BENCHMARKS", "SPLITS", "Benchmark", "benchmark", "make_dataset", "split_of", "to_arrow", "write_parquet",
]  # fmt: skip
