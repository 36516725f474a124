"""The data sets of Sharkey et al. 2008, parted into folds and among sources; all draws have fixed seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.studies.pruning_data import Part, Records, hierarchies
from treewarden.ppdm_models.methods.generalise.lattice import Ladder, ladder
from treewarden.ppdm_models.methods.synthesis.regions import Domain, NumericRange
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.taxonomy import IntervalHierarchy, Taxonomy
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.tree import Feature

SEED = 2008


@dataclass(frozen=True)
class Set:
    """One data set: its files, one below the other, the column that is learnt, and which columns hold numbers."""

    files: tuple[str, ...]
    target: str
    numbers: tuple[str, ...] = ()


SETS = {
    "Adult": Set(
        ("adult_train.csv", "adult_test.csv"),
        "income",
        (
            "age",
            "fnlwgt",
            "education-num",
            "capital-gain",
            "capital-loss",
            "hours-per-week",
        ),
    ),
    "Car": Set(("car.csv",), "class"),
    "CMC": Set(("cmc.csv",), "contraceptive_method", ("wife_age", "num_children")),
    "Nursery": Set(("nursery.csv",), "class"),
}


def missing(folder: Path) -> list[str]:
    """Return the data sets of the paper that are not in the folder; its set Train is published nowhere."""
    absent = [n for n, s in SETS.items() if not all((folder / file).exists() for file in s.files)]
    return [*absent, "Train"]


@cache
def whole(folder: Path, name: str, most: int | None = None) -> Records:
    """Return the records of a data set that lack no value; at most so many, drawn by a fixed seed."""
    said = SETS[name]
    tables = [read_table(folder / file) for file in said.files]
    features = [Feature(n, n in said.numbers) for n in tables[0].columns if n != said.target]
    columns = {f.name: _joined([t.column(f) for t in tables]) for f in features}
    target = _joined([t.column(Feature(said.target, numeric=False)) for t in tables])
    complete = ~np.any([column.missing for column in (*columns.values(), target)], axis=0)
    rows = np.flatnonzero(complete)
    if most is not None and most < len(rows):
        rows = np.sort(np.random.default_rng(SEED).permutation(rows)[:most])
    return Records(columns, target.codes, target.categories).take(rows)


def folds(
    records: int, repetition: int, count: int, tested: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the first ``tested`` of ``count`` folds: the rows learnt from, and those of the fold."""
    order = np.random.default_rng([SEED, repetition]).permutation(records)
    for fold in range(tested):
        held = np.zeros(records, dtype=bool)
        held[order[fold::count]] = True
        yield np.flatnonzero(~held), np.flatnonzero(held)


def sources(records: Records, count: int, seed: list[int]) -> list[Records]:
    """Return the records parted at random among so many sources, equally up to one record."""
    order = np.random.default_rng([SEED, *seed, count]).permutation(len(records.target))
    return [records.take(np.sort(order[source::count])) for source in range(count)]


@cache
def domains(records: Records) -> dict[str, Domain]:
    """Return what each attribute can be, which the paper takes as known: all its values, or its range."""
    return {
        name: column.categories
        if isinstance(column, CategoricalColumn)
        else NumericRange(float(column.numbers.min()), float(column.numbers.max()))
        for name, column in records.columns.items()
    }


@cache
def taxonomies(records: Records) -> dict[str, Taxonomy]:
    """Return each attribute's hierarchy: categories halved in alphabetical order, numbers in eight equal widths."""
    found = hierarchies(Part(records, records))
    for name, domain in domains(records).items():
        if isinstance(domain, NumericRange):
            found[name] = equal_width(name, domain.low, domain.high)
    return found


def equal_width(name: str, low: float, high: float, halvings: int = 3) -> IntervalHierarchy:
    """Return a hierarchy of equally wide intervals: 2 ** ``halvings`` of them, then half as many, at last one."""
    parts = 2**halvings
    cuts = tuple(low + (high - low) * part / parts for part in range(1, parts))
    steps = (2**level for level in range(halvings))
    return IntervalHierarchy(
        name, (*(cuts[step - 1 :: step] for step in steps), ()), "equal widths"
    )


@cache
def ladders(records: Records) -> tuple[Ladder, ...]:
    """Return each attribute on the levels of its hierarchy."""
    known = taxonomies(records)
    return tuple(ladder(name, column, known[name]) for name, column in records.columns.items())


def _joined(parts: list[Column]) -> Column:
    if isinstance(parts[0], NumericColumn):
        return NumericColumn(np.concatenate([part.numbers for part in parts]))
    categories = tuple(sorted({value for part in parts for value in part.categories}))
    place = {value: code for code, value in enumerate(categories)}
    recode = [np.array([*(place[v] for v in p.categories), -1]) for p in parts]
    codes = [new[part.codes] for new, part in zip(recode, parts, strict=True)]
    return CategoricalColumn(codes=np.concatenate(codes).astype(np.int64), categories=categories)
