"""Whole audits of large tables beside DuckDB counting the same files, in one run, as ratios.

    python -m benchmarks.scale [--small] [--folder FOLDER] [--out FILE] [--only WORD]

Made-up tables with 8 columns as skewed as Adult's and trees that were grown from their counts, every count published.
"DuckDB" is a process that groups the same files by all columns with two threads and fetches the groups; ratios are of
wall seconds of whole processes. Memory is the peak of the process. How a time grows is the exponent that fits best,
size ** exponent, over all of a command and over what is left without the time of the smallest table.
With --small tables are a hundred times smaller and trees have a tenth of the leaves. Needs DuckDB.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.machine import machine
from benchmarks.scale.cases import LISTED, Files, Size, counted, in_records, signatures
from benchmarks.scale.running import Taken, audit, grouped, taken

NO_WORLDS = ("--no-worlds",)
HEAD = (
    "# Large tables, measured",
    "",
    "Made by `python -m benchmarks.scale` (`make bench-scale`); what the tables are: [large tables](../scale.md).",
    "",
)
TABLE = "| {} | profiles | leaves | signatures | s | processor s | MB | DuckDB s | ÷ DuckDB |"


@dataclass(frozen=True)
class Case:
    """One audit: what it is called, how large it is, how its files are written, and its options."""

    name: str
    size: Size
    write: Callable[[Size, Path], Files]
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Done:
    """A case that was run: what it took, DuckDB's counting beside it, and the kinds of profiles it told apart."""

    case: Case
    taken: Taken
    beside: Taken
    signatures: int


def whole(scale: int) -> list[Case]:
    """Return the audits that have goals, ``scale`` times smaller."""
    leaves, records = _leaves(scale), 100_000_000 // scale
    few, many = Size(4_480, records, leaves), Size(1_000_000 // scale, records, leaves)
    ten_times = Size(4_480, records, leaves, LISTED)
    return [
        Case("records, listed ten times", ten_times, in_records),
        Case("records", few, in_records),
        Case("records, without worlds", many, in_records, NO_WORLDS),
        Case("records, with worlds", many, in_records),
        Case("counted, without worlds", many, counted, NO_WORLDS),
        Case("counted, with worlds", many, counted),
        Case("counted, without worlds", few, counted, NO_WORLDS),
        Case("counted, with worlds", few, counted),
    ]


def growing(scale: int) -> dict[str, list[Case]]:
    """Return audits that differ in one size alone, by its name."""
    middle = _leaves(scale)
    records = [Size(4_480, number // scale, middle) for number in (10**6, 10**7, 10**8)]
    profiles = [
        Size(number // scale, 10**8 // scale, middle) for number in (10**5, 3 * 10**5, 10**6)
    ]
    leaves = [
        Size(10**5 // scale, 10**8 // scale, each) for each in (middle // 10, middle, middle * 10)
    ]
    return {
        "records": [Case("records", size, in_records, NO_WORLDS) for size in records],
        "profiles": [Case("profiles", size, counted, NO_WORLDS) for size in profiles],
        "signatures": [Case("signatures", size, counted, NO_WORLDS) for size in leaves],
    }


def _leaves(scale: int) -> int:
    return 500 if scale == 1 else 50


def done(case: Case, folder: Path) -> Done:
    """Write a case's files where they are not there, and run both commands."""
    # A process is said to need what the one that starts it holds, so that this one must hold little.
    with ProcessPoolExecutor(1, get_context("spawn")) as apart:
        files = apart.submit(case.write, case.size, folder).result()
    beside = taken(grouped(files.listed), accepted=(0,))
    own = taken(audit(files.tree, files.data, folder, *files.options, *case.options))
    return Done(case, own, beside, signatures(folder))


def exponents(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Return how times grow with sizes: of the whole, and of what comes on top of the smallest, its share by size."""
    fitted = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    more = (seconds[-1] - seconds[0]) / (seconds[-2] - seconds[0])
    added = np.log(max(more, 1e-9)) / np.log((sizes[-1] - sizes[0]) / (sizes[-2] - sizes[0]))
    return float(fitted), float(added)


def told(case: Case, folder: Path) -> str:
    """Return a line of a table, or why there is none."""
    try:
        return row(done(case, folder))
    except RuntimeError as error:
        return f"| {case.size.all_records:,} {case.name} | not run: {str(error).splitlines()[0]}"


def row(one: Done) -> str:
    """Return a line of a table."""
    size, ratio = one.case.size, one.taken.seconds / one.beside.seconds
    cells = [f"{size.all_records:,} {one.case.name}", f"{size.profiles:,}", f"{size.leaves:,}"]
    cells += [f"{one.signatures:,}", f"{one.taken.seconds:.1f}", f"{one.taken.cpu_seconds:.1f}"]
    cells += [f"{one.taken.peak_mb:,.0f}", f"{one.beside.seconds:.1f}", f"{ratio:.2f}"]
    return f"| {' | '.join(cells)} |"


def lines(scale: int, only: str, folder: Path) -> Iterator[str]:
    """Yield the report, each case as soon as it is done."""
    yield from (*HEAD, machine(), "", TABLE.format("Audit"), "|---" * 9 + "|")
    for case in whole(scale):
        if only in case.name:
            yield told(case, folder)
    for name, cases in growing(scale).items():
        if only not in name:
            continue
        yield from ("", f"## Ten times the {name}", "", TABLE.format("Table"), "|---" * 9 + "|")
        found = [done(case, folder) for case in cases]
        yield from map(row, found)
        sizes = [float(_sizes(one)[name]) for one in found]
        fitted, added = exponents(sizes, [one.taken.seconds for one in found])
        yield ""
        yield f"Exponent: {fitted:.2f} of the whole command, {added:.2f} without the smallest table's time."


def _sizes(one: Done) -> dict[str, int]:
    size = one.case.size
    return {
        "records": size.all_records,
        "profiles": size.profiles,
        "signatures": one.signatures,
    }


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="tables a hundred times smaller")
    parser.add_argument("--folder", type=Path, help="where the tables are, or are written")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="", help="cases with this word in their name")
    given = parser.parse_args()
    said = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for line in lines(100 if given.small else 1, given.only, folder):
            said.append(line)
            print(line, flush=True)
    if given.out:
        given.out.write_text("\n".join(said) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
