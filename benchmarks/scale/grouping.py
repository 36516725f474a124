"""Counts the records of Parquet files by all of their columns with DuckDB, with two threads, and does no more.

python -m benchmarks.scale.grouping FILE ...
"""

from __future__ import annotations

import sys

import duckdb

from benchmarks.scale.tables import SENSITIVE, SHARES, WEIGHTS


def count(files: list[str]) -> int:
    """Return how many groups there are; all of them are fetched, with what each counts."""
    read = duckdb.read_parquet(files)
    counted = f"sum({WEIGHTS})" if WEIGHTS in read.columns else "count(*)"
    names = ", ".join((*SHARES, SENSITIVE))
    with duckdb.connect(config={"threads": 2}) as connection:
        found = connection.sql(
            f"select {names}, {counted} as records from read_parquet($files) group by {names}",
            params={"files": files},
        ).to_arrow_table()
    return int(found.num_rows)


if __name__ == "__main__":
    print(count(sys.argv[1:]))
