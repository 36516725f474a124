"""Times how fast columns are hidden, beside a plain copy: ``python -m benchmarks.randomising --records 10000000``.

Each way through the table is a process of its own, so that its peak memory is its own; the ways take turns, and the
fastest time of each counts. A plain copy is what pyarrow does by itself: batches read from Parquet, and written.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from benchmarks.machine import machine
from treewarden.ppdm_models.methods.randomised.domains import ColumnDomain
from treewarden.ppdm_models.methods.randomised.manifest import planned
from treewarden.ppdm_models.methods.randomised.noise import KINDS
from treewarden.ppdm_models.methods.randomised.streaming import Hider
from treewarden.ppdm_models.tables.batches import BATCH_RECORDS, BOUNDED, batch_file, open_batches

COPY = "copy"
WAYS = (COPY, *KINDS)
DOMAINS = (
    ColumnDomain("salary", 20_000, 150_000),
    ColumnDomain("age", 20, 80),
    ColumnDomain("loan", 0, 500_000),
    ColumnDomain("level", 0, 4, is_whole=True),
)


def write_table(path: Path, records: int) -> None:
    """Write a table of four numeric columns and a class."""
    random = np.random.default_rng(0)
    schema = pa.schema([*((own.name, pa.float64()) for own in DOMAINS), ("class", pa.string())])
    with pa_parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, records, BATCH_RECORDS):
            count = min(BATCH_RECORDS, records - start)
            columns = [random.uniform(own.low, own.high, count) for own in DOMAINS]
            columns = [
                np.round(each) if own.is_whole else each
                for own, each in zip(DOMAINS, columns, strict=True)
            ]
            classes = pa.array(random.choice(["a", "b"], count))
            writer.write_batch(pa.RecordBatch.from_arrays([*columns, classes], schema=schema))


def go(way: str, source: Path, output: Path) -> float:
    """Go through a table one way, and return how many seconds that took."""
    begun = time.perf_counter()
    if way == COPY:
        with (
            pa_parquet.ParquetFile(source, **BOUNDED) as file,
            pa_parquet.ParquetWriter(output, file.schema_arrow) as writer,
        ):
            for batch in file.iter_batches(BATCH_RECORDS):
                writer.write_batch(batch)
        return time.perf_counter() - begun
    table = open_batches(source)
    hider = Hider(table, tuple(planned(own, way, 1.0, 0.95) for own in DOMAINS), table.names)
    with batch_file(output, ".parquet", hider.schema, unlike=hider.unlike) as hidden:
        for batch in hider.hidden():
            hidden.write(batch)
    return time.perf_counter() - begun


def main() -> None:
    """Write a table, and print how each way through it compares with a plain copy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--way", nargs=2, metavar=("WAY", "TABLE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.way:
            seconds = go(asked.way[0], Path(asked.way[1]), Path(folder) / "out.parquet")
            print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
            return
        source = Path(folder) / "table.parquet"
        write_table(source, asked.records)
        _print(source, asked.records, asked.times)


def _print(source: Path, records: int, times: int) -> None:
    seconds = {way: float("inf") for way in WAYS}
    peaks = dict.fromkeys(WAYS, 0.0)
    for _ in range(times):
        for way in WAYS:
            command = [sys.executable, "-m", "benchmarks.randomising", "--way", way, str(source)]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            taken, peak = map(float, said.split())
            seconds[way], peaks[way] = min(seconds[way], taken), max(peaks[way], peak)
    print(f"{machine()}; pyarrow {pa.__version__}")
    print(f"{records:,} records, {len(DOMAINS)} hidden columns and a class, Parquet to Parquet")
    for way in WAYS:
        ratio = seconds[COPY] / seconds[way]
        print(
            f"{way:>10}: {seconds[way]:6.2f} s, {ratio:5.2f} of the copy's speed, peak {peaks[way]:,.0f} MiB"
        )


if __name__ == "__main__":
    main()
