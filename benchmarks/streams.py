"""Commands that make tables of tables: time and peak memory at some records and at ten times as many.

    python -m benchmarks.streams [--records 1000000] [--out docs/engineering/benchmarks-streams.md] [--folder FOLDER]

The table has eight columns whose values are about as common as those of Adult. Its records are drawn from a list of
people (``PEOPLE``), so that distinct rows are no more than those; in a second table each record has a name of its own,
so that distinct rows are as many as records.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from benchmarks.machine import machine
from treewarden.terminal.exits import PASS, UNDETERMINED

PEOPLE = 200_000
CATEGORIES = {"workclass": (7, 1.5), "education": (16, 1.0), "marital": (7, 1.3), "race": (5, 2.5)}
CATEGORIES |= {"sex": (2, 0.6), "country": (41, 3.0), "occupation": (14, 0.7)}
"""How many values a column has, and how much rarer each is than the one before: the power of its rank."""
PIECE = 1_000_000
AGES = (
    "[age]\ncuts = [[20,25,30,35,40,45,50,55,60,65,70,75,80,85],[20,30,40,50,60,70,80],[40,60]]\n"
)
DOMAINS = "[columns.age]\nlow = 17\nhigh = 90\n"
GROUPS = ["--k", "5", "--l", "1.5", "--taxonomy", "ages.toml", "-o", "out.csv"]
NOISE = ["--level", "1", "--noise", "gaussian", "--columns", "age", "--domains", "domains.toml"]
COMMANDS = {
    "`anonymize`, Parquet": ["anonymize", "{n}.parquet", "--sensitive", "occupation", *GROUPS],
    "`anonymize`, CSV": ["anonymize", "{n}.csv", "--sensitive", "occupation", *GROUPS],
    "`anonymize`, Parquet, all rows differ": [
        *("anonymize", "{n}.names.parquet", "--sensitive", "name", "--qi", "age,sex,race"),
        *("--k", "5", "--taxonomy", "ages.toml", "-o", "out.csv"),
    ],
    "`randomize`, Parquet": [
        *("randomize", "{n}.parquet", *NOISE, "-o", "out.parquet", "--manifest", "m.json")
    ],
    "`randomize`, CSV": ["randomize", "{n}.csv", *NOISE, "-o", "out.csv", "--manifest", "m.json"],
    "`synthesize`, Parquet": ["synthesize", "tree.json", "--rows", "{n}", "-o", "out.parquet"],
    "`synthesize`, CSV": ["synthesize", "tree.json", "--rows", "{n}", "-o", "out.csv"],
    "`sanitize`, Parquet (holds all records)": [
        *("sanitize", "{n}.parquet", "--target", "sex", "--sensitive", "occupation", "--k", "5"),
        *("--max-splits", "3", "-o", "out"),
    ],
}
INSIDE = """
import re, time
from treewarden.cli import cli
try:
    cli()
finally:
    peak = re.search(r"VmHWM:\\s+([0-9]+)", open("/proc/self/status").read())[1]
    open("took.txt", "w").write(f"{time.process_time()} {peak}")
"""
"""What is run: the peak is the system's of this program alone, as that of ``getrusage`` has its parent's in it."""
START = "a command that does nothing (`--version`)"


@dataclass(frozen=True)
class Run:
    """What one command took: wall and processor seconds, and its peak memory."""

    seconds: float
    processor: float
    megabytes: float


def write_tables(folder: Path, records: int) -> None:
    """Write a table as Parquet and CSV, and one whose records all differ; a piece at a time."""
    random = np.random.default_rng(1)
    people = _people(random)
    names = f"{records}.parquet", f"{records}.csv", f"{records}.names.parquet"
    schema = people.schema
    with (
        pa_parquet.ParquetWriter(folder / names[0], schema) as parquet,
        pa_csv.CSVWriter(folder / names[1], schema) as text,
        pa_parquet.ParquetWriter(
            folder / names[2], schema.append(pa.field("name", pa.string()))
        ) as own,
    ):
        for start in range(0, records, PIECE):
            size = min(PIECE, records - start)
            part = people.take(pa.array(random.integers(0, PEOPLE, size)))
            parquet.write_table(part)
            text.write_table(part)
            labels = pa.array([f"n{number:08}" for number in range(start, start + size)])
            own.write_table(part.append_column("name", labels))


def _people(random: np.random.Generator) -> pa.Table:
    ages = np.clip(np.rint(17 + random.gamma(2.2, 9.5, PEOPLE)), 17, 90).astype(np.int64)
    columns = {"age": pa.array(ages)}
    for name, (size, power) in CATEGORIES.items():
        odds = np.arange(1, size + 1) ** -power
        values = pa.array([f"{name} {number}" for number in range(size)])
        columns[name] = values.take(pa.array(random.choice(size, PEOPLE, p=odds / odds.sum())))
    return pa.table(columns)


def run(words: list[str], folder: Path) -> Run:
    """Run a command of this Python in a folder, in a process of its own, which says at its end what it took."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", INSIDE, *words]
    begun = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment, "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        check=False,
    )
    seconds = time.perf_counter() - begun
    if done.returncode not in (PASS, UNDETERMINED) or not (folder / "took.txt").exists():
        raise RuntimeError((done.stdout + done.stderr).decode("utf-8", "replace")[-500:])
    processor, kilobytes = (folder / "took.txt").read_text().split()
    (folder / "took.txt").unlink()
    return Run(seconds, float(processor), float(kilobytes) / 1024)


def lines(found: dict[str, tuple[Run, Run]], start: Run, records: int) -> Iterator[str]:
    yield "# Tables larger than memory"
    yield ""
    yield (
        f"`python -m benchmarks.streams --records {records}`: whole commands (`make bench-streams`) on eight "
        f"columns of {PEOPLE:,} people. "
        f"n is {records:,} records; seconds of wall clock and of processor, peak memory of the process; {machine()}."
    )
    yield ""
    yield "| Command | wall, n | wall, 10 n | processor, n | processor, 10 n | MB, n | MB, 10 n | MB, ratio |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name, (one, ten) in found.items():
        times = (one.seconds, ten.seconds, one.processor, ten.processor)
        cells = [f"{each:.1f}" for each in times]
        cells += [f"{one.megabytes:,.0f}", f"{ten.megabytes:,.0f}"]
        yield f"| {name} | {' | '.join(cells)} | {ten.megabytes / one.megabytes:.2f} |"
    yield ""
    yield f"For comparison, {START}: {start.seconds:.1f} s, {start.megabytes:,.0f} MB."
    yield ""
    yield (
        "`anonymize` holds distinct rows: where all rows differ, those are as many as the records. `randomize` and "
        "`synthesize` hold a piece of the table and sums. `sanitize` holds every record. "
        "Of CSV blocks are read ahead, up to a few hundred megabytes."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--folder", type=Path, help="Where the tables go: about 1 GB for each million."
    )
    given = parser.parse_args()
    sizes = (given.records, 10 * given.records)
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        (folder / "ages.toml").write_text(AGES)
        (folder / "domains.toml").write_text(DOMAINS)
        (folder / "out").mkdir()
        found: dict[str, list[Run]] = {}
        start = run(["--version"], folder)
        for records in sizes:
            write_tables(folder, records)
            if records == sizes[0]:
                run([*_filled("`sanitize`, Parquet (holds all records)", records)], folder)
                (folder / "out" / "tree.json").rename(folder / "tree.json")
            for title in COMMANDS:
                found.setdefault(title, []).append(run(_filled(title, records), folder))
                print(title, records, found[title][-1], file=sys.stderr)
    told = {title: (one, ten) for title, (one, ten) in found.items()}
    text = "\n".join(lines(told, start, given.records)) + "\n"
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    print(text, end="")


def _filled(title: str, records: int) -> list[str]:
    return [*(word.format(n=records) for word in COMMANDS[title]), "--force", "--quiet"]


if __name__ == "__main__":
    main()
