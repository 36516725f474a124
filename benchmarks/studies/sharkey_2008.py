"""Repeats the study of Sharkey, Tian, Zhang & Xu (2008): models learnt from what sources share.

    python -m benchmarks.studies.sharkey_2008 --data FOLDER --paper --jobs 2

Writes sharkey-2008.md and its figure. All draws have fixed seeds, and the figures are the same for any number of jobs.
--paper runs all that the paper did, --quick one fold; --extent Adult=2:10000 repeats one data set less often, and on
fewer records.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from matplotlib.figure import Figure

from benchmarks.studies.pruning_data import Records
from benchmarks.studies.sharkey_data import SETS, missing, whole
from benchmarks.studies.sharkey_findings import Found
from benchmarks.studies.sharkey_runs import (
    DIVERSITY,
    PRIVACY_MODELS,
    Fold,
    Private,
    Pseudo,
    Size,
    private_run,
    pseudo_run,
)
from benchmarks.studies.sharkey_text import document
from benchmarks.studies.zhu_du_figures import COLOURS, write
from tests.judges.spread import ask_where, imported, in_order
from treewarden.ppdm_models.tree.column import NumericColumn

Key = TypeVar("Key")
Score = TypeVar("Score")

DEFAULT = Size(10, 3, 2, 1, (1, 2, 5, 10), (1, 5, 10), {"Adult": 4_000})
QUICK = Size(10, 1, 1, 1, (1, 5), (1, 5), {"Adult": 1_500})
PAPER = Size(10, 10, 10, 5, tuple(range(1, 11)), (1, 5, 10))
DIVERSE_SETS = ("Nursery", "Car", "CMC")
DRAWN = "Nursery"


@dataclass(frozen=True)
class Task:
    """One fold of one repetition of one data set."""

    folder: Path
    name: str
    size: Size
    repetition: int
    fold: int
    is_private: bool

    def run(self) -> tuple[Pseudo, Private]:
        """Do both parts of the study, each where it is due."""
        records = whole(self.folder, self.name, self.size.most.get(self.name))
        part = Fold(records, self.size, self.repetition, self.fold)
        return (
            pseudo_run(part, self.size) if self.fold < self.size.tested else {},
            private_run(part, self.size) if self.is_private else {},
        )


def study(
    folder: Path, size: Size, sets: tuple[str, ...], jobs: int = 1, cluster: str | None = None
) -> tuple[Found, dict[str, str]]:
    """Do every run on the data sets that are there; the outcome is the same for any number of jobs."""
    there = [name for name in SETS if name not in missing(folder)]
    tasks = [task for name in there for task in _tasks(folder, size, name, name in sets)]
    found = Found({}, {}, size.sources, size.privacy_sources)
    for task, (pseudo, private) in zip(tasks, _outcomes(tasks, jobs, cluster), strict=True):
        _join(found.pseudo.setdefault(task.name, {}), pseudo)
        if private:
            _join(found.private.setdefault(task.name, {}), private)
        print(
            f"{task.name}: repetition {task.repetition + 1}, fold {task.fold + 1}", file=sys.stderr
        )
    return found, {name: _said(whole(folder, name, size.most.get(name))) for name in there}


def _tasks(folder: Path, size: Size, name: str, is_diverse: bool) -> Iterator[Task]:
    for repetition in range(size.repetitions_of(name)):
        for fold in range(max(size.tested, size.privacy_tested)):
            is_private = is_diverse and fold < size.privacy_tested
            yield Task(folder, name, size, repetition, fold, is_private)


def _outcomes(
    tasks: list[Task], jobs: int, cluster: str | None
) -> Iterator[tuple[Pseudo, Private]]:
    """Yield what each task came to, in their order; a cluster reads the data sets in the same folder."""
    return in_order(Task.run, [(task,) for task in tasks], jobs, cluster, chunk=1)


def _join(found: dict[Key, list[Score]], more: Mapping[Key, list[Score]]) -> None:
    for key, scores in more.items():
        found.setdefault(key, []).extend(scores)


def _said(records: Records) -> str:
    numbers = sum(isinstance(column, NumericColumn) for column in records.columns.values())
    return (
        f"{len(records.target):,} records, {len(records.columns)} attributes ({numbers} numeric), "
        f"{len(records.classes)} classes"
    )


def draw(path: Path, found: Found) -> None:
    """Write the figure: accuracy on Nursery over the demands, from weak to strong."""
    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    axes = figure.add_subplot()
    count = found.private_sources[-1]
    lines = (("LD", 0), ("PPGEN", 1), ("PPGEN", count), ("PPGEN, real counts", count))
    for number, (method, sources) in enumerate(lines):
        for model, style in zip(PRIVACY_MODELS, ("-", "--"), strict=True):
            right = [found.diverse(DRAWN, method, need, sources, model) for need in DIVERSITY]
            label = f"{method}{f' {sources}' if sources else ''}, {model}"
            values = [float("nan") if each is None else each for each in right]
            axes.plot(values, style, marker=".", color=COLOURS[number], label=label)
    axes.set_xticks(range(len(DIVERSITY)), [f"{l}, {c}" for l, c in DIVERSITY], fontsize=7)  # noqa: E741  # the notion's name
    axes.set_xlabel("l, c")
    axes.set_ylabel("% right")
    axes.set_ylim(0, 100)
    axes.legend(fontsize=6, frameon=False, ncols=2)
    write(figure, path)


def main() -> None:
    """Run the study as the command line says."""
    ask = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.sharkey_2008", description=__doc__
    )
    ask.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    ask.add_argument("--out", type=Path, default=Path("docs/engineering/studies"))
    extent = ask.add_mutually_exclusive_group()
    extent.add_argument("--quick", action="store_true", help="one fold, few sources; a minute")
    extent.add_argument("--paper", action="store_true", help="all the paper ran; about an hour")
    ask_where(ask, jobs=1)
    ask.add_argument(
        "--extent",
        type=_extent,
        action="append",
        default=[],
        metavar="NAME=REPETITIONS[:RECORDS]",
        help="repeat one data set less often, on so many records drawn once; may be repeated",
    )
    given = ask.parse_args()
    size = QUICK if given.quick else PAPER if given.paper else DEFAULT
    for name, repetitions, most in given.extent:
        size = replace(size, repeated={**size.repeated, name: repetitions})
        size = size if most is None else replace(size, most={**size.most, name: most})
    begun = time.monotonic()
    sets = DIVERSE_SETS[:1] if given.quick else DIVERSE_SETS
    found, sizes = study(given.data.absolute(), size, sets, given.jobs, given.cluster)
    given.out.mkdir(parents=True, exist_ok=True)
    if DRAWN in found.private:
        draw(given.out / "sharkey-2008.svg", found)
    options = [o for o in ("quick", "paper") if getattr(given, o)]
    said = "".join(f" --{option}" for option in options)
    said += "".join(f" --extent {_text(*each)}" for each in given.extent)
    command = f"python -m benchmarks.studies.sharkey_2008 --data FOLDER{said}"
    if given.jobs > 1:
        command += f" --jobs {given.jobs}"
    minutes = (time.monotonic() - begun) / 60
    text = document(found, size, sizes, missing(given.data), command, minutes)
    (given.out / "sharkey-2008.md").write_text(text, encoding="utf-8")
    print(given.out / "sharkey-2008.md")


def _extent(said: str) -> tuple[str, int, int | None]:
    """Read ``Adult=2`` or ``Adult=5:10000``."""
    name, _, numbers = said.partition("=")
    repetitions, _, most = numbers.partition(":")
    if name not in SETS or not repetitions.isdecimal() or not (most or "1").isdecimal():
        raise argparse.ArgumentTypeError(f"{said!r} is not NAME=REPETITIONS[:RECORDS]")
    return name, int(repetitions), int(most) if most else None


def _text(name: str, repetitions: int, most: int | None) -> str:
    return f"{name}={repetitions}" + ("" if most is None else f":{most}")


if __name__ == "__main__":
    imported(__spec__).main()
