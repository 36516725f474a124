"""Times wide trees, large tables and forests of full trees: whole commands, as ratios within one run.

    python -m benchmarks.wide --data FOLDER [--only WORD] [--out docs/engineering/benchmarks-wide.md]

Multiway trees of the study of Zhu & Du 2010 on Adult are read beside a bare lxml.iterparse. A complete tree of 262,143
nodes, and a random forest of 500 full trees on Adult, are audited for the size of their leaves. Trees of 1,000
and 10,000 leaves are audited with and without the levels of knowledge. A table of a million profiles is audited beside
DuckDB, which counts them. XGBoost's 100 trees on Adult are audited whole. Each is a process of its own.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.machine import machine
from benchmarks.report_cases import study
from benchmarks.scale.tables import SENSITIVE, WEIGHTS, people, write_counted
from benchmarks.scale.trees import tree_of
from benchmarks.studies.ensembles_data import LABEL, data_of
from benchmarks.tables import number, table
from treewarden.ppdm_models.formats.pmml._write import written

STUDIED = (1000, 300, 100, 30, 2)
LEAVES = (1_000, 10_000)
DEPTH = 17
"""Of a complete tree with 2 ** 18 - 1 nodes: of a larger one PMML has more elements than are read."""
LEAF_CLAUSES = """name = "leaves"
version = "1"
title = "Large leaves"

[[check]]
id = "leaf-size"
measure = "k_anonymity"
rule = "at_least"
limit = 5
"""
HEAD = ("what", "processor s", "GB", "compared with", "its processor s", "ratio", "goal")
DICTIONARY = """<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>
<DataField name="x" optype="continuous" dataType="double"/>
<DataField name="y" optype="categorical" dataType="string"><Value value="a"/><Value value="b"/></DataField>
</DataDictionary><TreeModel functionName="classification" splitCharacteristic="binarySplit">
<MiningSchema><MiningField name="x"/><MiningField name="y" usageType="target"/></MiningSchema>
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a process took: seconds of a processor, and the most memory that it held, in GB."""

    seconds: float
    memory: float
    said: str


def spent(words: Sequence[str]) -> Spent:
    """Run this Python with some words, and return what it took.

    Raises:
        RuntimeError: it failed.
    """
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as failed:
        child = subprocess.Popen([sys.executable, *words], stdout=said, stderr=failed)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0), failed.seek(0)
        if child.returncode not in (0, 1, 3):
            raise RuntimeError(failed.read()[-500:])
        return Spent(used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6, said.read())


def audited(*words: str) -> Spent:
    """Return what an audit takes."""
    return spent(["-m", "treewarden", "audit", *words, "--quiet"])


def read(work: str, path: Path) -> tuple[float, float]:
    """Return the processor seconds and the memory (GB) of reading a file in one way, without the start of Python."""
    found = json.loads(spent(["-m", "benchmarks.formats.reading", work, str(path)]).said)
    return found["seconds"], found["peak_mb"] / 1e3


def reading(data: Path, folder: Path) -> Iterator[list[str]]:
    """Yield how long multiway trees of more and more leaves take to be read."""
    for case in study(data, folder, [("gini", least) for least in STUDIED]):
        path = folder / case.arguments[1]
        (ours, memory), (bare, _) = read("treewarden", path), read("bare lxml.iterparse", path)
        said = f"read {case.name}, {path.stat().st_size / 1e6:.1f} MB"
        yield line(said, Spent(ours, memory, ""), "bare lxml.iterparse", bare, "")


def many_nodes(_: Path, folder: Path) -> Iterator[list[str]]:
    """Yield how long the leaf clauses of a large tree take."""
    path, policy = folder / "nodes.pmml", folder / "leaves.toml"
    path.write_text("".join([DICTIONARY, *complete(), "</TreeModel></PMML>"]), "utf-8")
    policy.write_text(LEAF_CLAUSES, "utf-8")
    bare, _memory = read("bare lxml.iterparse", path)
    words = f"leaf clauses of {2 ** (DEPTH + 1) - 1:,} nodes"
    found = audited(str(path), "--no-table", "--policy", str(policy))
    yield line(words, found, "bare lxml.iterparse", bare, "20")


def complete() -> Iterator[str]:
    """Yield the nodes of a complete tree whose leaves hold seven people each."""
    stack = [(1, 0.0, 1.0, "<True/>")]
    while stack:
        place, low, high, test = stack.pop()
        if not place:
            yield "</Node>"
            continue
        below = 2 ** (DEPTH + 1 - place.bit_length())
        counts = f'<ScoreDistribution value="a" recordCount="{4 * below}"/>'
        counts += f'<ScoreDistribution value="b" recordCount="{3 * below}"/>'
        yield f'<Node id="{place}" score="a" recordCount="{7 * below}">{test}{counts}'
        stack.append((0, 0.0, 0.0, ""))
        if below > 1:
            middle = (low + high) / 2
            for child, operator, ends in (
                (2 * place + 1, "greaterThan", (middle, high)),
                (2 * place, "lessOrEqual", (low, middle)),
            ):
                said = f'<SimplePredicate field="x" operator="{operator}" value="{middle!r}"/>'
                stack.append((child, *ends, said))


def levels(_: Path, folder: Path) -> Iterator[list[str]]:
    """Yield what the levels of knowledge add to audits of 1,000 and 10,000 leaves over 100,000 profiles."""
    for leaves in LEAVES:
        model, counts = counted(folder, 100_000, leaves)
        words = [*asked(model, counts), "--no-worlds"]
        found, without = audited(*words), audited(*words, "--no-levels")
        name = f"audit of {leaves:,} leaves with levels"
        yield line(name, found, "without levels", without.seconds, "1.18")


def profiles(_: Path, folder: Path) -> Iterator[list[str]]:
    """Yield what a table of a million profiles takes, beside DuckDB that counts them."""
    model, counts = counted(folder, 1_000_000, 100)
    beside = spent(["-m", "benchmarks.scale.grouping", str(counts)]).seconds
    found = audited(*asked(model, counts), "--no-worlds")
    name = f"audit of {pq.read_metadata(counts).num_rows:,} counted rows"
    yield line(name, found, "DuckDB counts them", beside, "8")


def full_trees(data: Path, folder: Path) -> Iterator[list[str]]:
    """Yield what the leaf clauses of 500 full trees on Adult take."""
    adult, path, policy = data_of("adult", data), folder / "full.skops", folder / "leaves.toml"
    ensemble = importlib.import_module("sklearn.ensemble")
    grown = ensemble.RandomForestClassifier(500, random_state=0, n_jobs=-1)
    importlib.import_module("skops.io").dump(grown.fit(adult.columns, adult.labels), path)
    policy.write_text(LEAF_CLAUSES, "utf-8")
    name = f"leaf clauses of 500 full trees, {path.stat().st_size / 1e6:.0f} MB"
    yield line(
        name, audited(str(path), "--no-table", "--policy", str(policy)), "-", 0.0, "60 s, 2 GB"
    )


def boosted(data: Path, folder: Path) -> Iterator[list[str]]:
    """Yield what a whole audit of XGBoost's 100 trees on Adult takes."""
    adult, path, rows = data_of("adult", data), folder / "boosted.json", folder / "people.csv"
    library = importlib.import_module("xgboost")
    grown = library.XGBClassifier(n_estimators=100, max_depth=6, learning_rate=0.3, n_jobs=1)
    grown.fit(adult.columns, adult.labels).save_model(path)
    adult.table.to_csv(rows, index=False)
    found = audited(str(path), "--data", str(rows), "--sensitive", LABEL, "--jobs", "1")
    yield line("audit of XGBoost's 100 trees", found, "-", 0.0, "10 s")


def counted(folder: Path, size: int, leaves: int) -> tuple[Path, Path]:
    """Write a table of so many profiles and a tree of so many leaves over it."""
    model, counts = folder / f"{size}-{leaves}.pmml", folder / f"{size}.parquet"
    those = people(size, 100 * size)
    model.write_bytes(written(tree_of(those, leaves)))
    write_counted(those, counts)
    return model, counts


def asked(model: Path, counts: Path) -> list[str]:
    """Return the words that audit a tree over counted profiles."""
    return [str(model), "--data", str(counts), "--sensitive", SENSITIVE, "--weights", WEIGHTS]


def line(what: str, found: Spent, beside: str, seconds: float, goal: str) -> list[str]:
    """Return a row of the table."""
    ratio = number(found.seconds / seconds, 2) if seconds else "–"
    cells = [what, number(found.seconds, 2), number(found.memory, 2), beside]
    row = [*cells, number(seconds, 2) if seconds else "–", ratio, goal]
    print(" | ".join(row), flush=True)
    return row


PARTS: tuple[Callable[[Path, Path], Iterator[list[str]]], ...] = (
    reading,
    many_nodes,
    levels,
    profiles,
    full_trees,
    boosted,
)
TEXT = """# Wide trees, large tables, full trees

Made by `python -m benchmarks.wide --data FOLDER --out docs/engineering/benchmarks-wide.md`. Machine: {machine}.

Seconds of a processor of a whole command that ends in text, on one run. What is read takes that time alone, without
the start of Python. A tree of a million nodes has more elements in PMML than are read (`XML_ELEMENTS` in
`ppdm_models/limits.py`). That limit is for the memory that a file of strangers can take, so it stays as it is. With
`TREEWARDEN_LIMIT_XML_ELEMENTS=20000000`, the leaf clauses of 524,287 nodes take 29.7 s and 1.08 GB, twice as much as
those of 262,143.

{table}

The audit of counted rows includes the estimate, about a quarter of the time. XGBoost's trees are joined until what
their leaves say together is worked out: most of the time are Newton's steps over 2,088 rows ([engine](engine.md)).
"""


def main() -> None:
    """Run what the command line says."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__)
    ask.add_argument("--data", type=Path, required=True)
    ask.add_argument("--only", default="", help="part of the name of what is to be run")
    ask.add_argument("--out", type=Path)
    given = ask.parse_args()
    rows: list[list[str]] = []
    for part in PARTS:
        if given.only in part.__name__:
            with tempfile.TemporaryDirectory() as made:
                rows += part(given.data.resolve(), Path(made))
    said = TEXT.format(machine=machine().replace(";", ","), table=table(HEAD, rows))
    if given.out:
        given.out.write_text(said, "utf-8")


if __name__ == "__main__":
    main()
