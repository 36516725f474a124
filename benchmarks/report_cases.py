"""What reports are compared and timed on: trees as files with their tables, and the commands that audit them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.adult import CRITERIA, MIN_RECORDS, QUASI_IDENTIFIERS, SENSITIVE, adult, multiway
from benchmarks.worlds_tables import grown
from tests.judges.worlds.zhu_du_example import RECORDS
from treewarden.jobs.demo import SENSITIVE as AFFAIR
from treewarden.jobs.demo import survey
from treewarden.ppdm_models.formats.pmml._write import written
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.learn.growers import grow_id3
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.tree import Criterion, Tree

EVERY_WORLD = ("--worlds-budget", "600")
"""So much that no answer depends on how fast the machine is."""


@dataclass(frozen=True)
class Case:
    """One command, run in the folder that holds its files."""

    name: str
    folder: Path
    arguments: tuple[str, ...]


def cases(data: Path, folder: Path) -> Iterator[Case]:
    """Write the files of each case into a folder, and yield the commands."""
    yield from demo(folder)
    yield from example(folder)
    yield from binary(data, folder)
    yield from study(data, folder, [("gini", 1000), ("gini", 300), ("entropy", 1000)])


def demo(folder: Path) -> Iterator[Case]:
    found = survey()
    (folder / "survey.csv").write_bytes(found.csv)
    (folder / "survey.pmml").write_bytes(written(found.tree))
    asked = ("survey.pmml", "--data", "survey.csv", "--sensitive", AFFAIR, "--policy", "strict")
    yield Case("demo", folder, ("audit", *asked, *EVERY_WORLD))
    yield Case("demo, repaired", folder, ("repair", *asked, *EVERY_WORLD, "--list"))


def example(folder: Path) -> Iterator[Case]:
    """Yield Example 1 of Zhu & Du 2010 under what the leaves can publish."""
    table = table_of(RECORDS)
    truth = np.array([[said == "<=50K", said == ">50K"] for said in RECORDS["income"]], dtype=float)
    tree = grow_id3(
        {name: table.categories(name) for name in ("Age", "Education")},
        truth,
        ("<=50K", ">50K"),
        target="income",
        criterion=Criterion.ENTROPY,
        min_records=3,
    )
    asked = _written(folder, "example1", tree, table, "income")
    for leaf in ("as-published", "rates", "labels"):
        for split in ("as-published", "none"):
            more = ("--leaf", leaf, "--split", split)
            yield Case(f"Example 1, {leaf}, {split}", folder, ("audit", *asked, *more))


def binary(data: Path, folder: Path) -> Iterator[Case]:
    for name, settings in (("heart", {"max_depth": 5}), ("german", {"max_depth": 4})):
        tree, table = grown(name, data, **settings)
        asked = (*_written(folder, name, tree, table, "class"), *EVERY_WORLD)
        yield Case(name, folder, ("audit", *asked))
        yield Case(f"{name}, rates", folder, ("audit", *asked, "--leaf", "rates"))
        yield Case(f"{name}, repaired", folder, ("repair", *asked, "--no-worlds", "--list"))


def study(
    data: Path, folder: Path, wanted: list[tuple[str, float]] | None = None
) -> Iterator[Case]:
    """Yield trees of the study of Zhu & Du 2010 on Adult, with rates and without whole records: all by default."""
    table = adult(data)
    for criterion, least in wanted or [(c, m) for c in CRITERIA for m in MIN_RECORDS]:
        tree, _ = multiway(table, criterion, least)
        asked = _written(folder, f"adult-{criterion}-{least:g}", tree, table, SENSITIVE)
        more = ("--leaf", "rates", "--no-worlds")
        yield Case(f"Adult {criterion} {least:g}", folder, ("audit", *asked, *more))


def income(data: Path, folder: Path) -> Iterator[Case]:
    """Yield trees of two classes on Adult, whose split choices are stated over whole records."""
    table = adult(data)
    names = [*(name for name in QUASI_IDENTIFIERS if name != "income"), SENSITIVE]
    columns, target = {name: table.categories(name) for name in names}, table.categories("income")
    for least in (300, 30):
        tree = grow_id3(
            columns,
            np.eye(2)[target.codes],
            target.categories,
            target="income",
            criterion=Criterion.GINI,
            min_records=least,
        )
        asked = _written(folder, f"income-{least}", tree, table, "income")
        yield Case(f"Adult, income, gini {least}", folder, ("audit", *asked, "--no-worlds"))


def large(folder: Path) -> Iterator[Case]:
    """Yield a scikit-learn tree of 500 leaves on a table of 30,000 rows and 20 columns whose labels are noisy."""
    draw = np.random.default_rng(15)
    values = draw.integers(0, 100, size=(30_000, 20)).astype(float)
    by = (values - 50) / 25
    score = by[:, 0] + by[:, 1] * (by[:, 2] > -0.4) + (by[:, 3] > 0.8) - (by[:, 4] < -1.2)
    is_yes = (score + draw.normal(size=len(score)) > 0.5) ^ (draw.random(len(score)) < 0.1)
    names = tuple(f"x{number}" for number in range(values.shape[1]))
    labels = np.where(is_yes, "yes", "no")
    fitted = DecisionTreeClassifier(max_leaf_nodes=500, random_state=0).fit(values, labels)
    tree = from_sklearn(fitted, feature_names=names, target="class")
    columns = dict(zip(names, values.T.tolist(), strict=True))
    asked = _written(
        folder, "large", tree, table_of({**columns, "class": labels.tolist()}), "class"
    )
    yield Case("500 leaves, 30,000 x 20", folder, ("audit", *asked))
    yield Case("the same without worlds", folder, ("audit", *asked, "--no-worlds"))
    yield Case("the same, all of worlds", folder, ("audit", *asked, "--worlds-all"))


def _written(folder: Path, name: str, tree: Tree, table: Table, sensitive: str) -> tuple[str, ...]:
    """Write a tree and its table; return how a command names them."""
    (folder / f"{name}.pmml").write_bytes(written(tree))
    columns = [table.columns[each].cells() for each in table.columns]
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.columns)
        writer.writerows(zip(*columns, strict=True))
    return (f"{name}.pmml", "--data", f"{name}.csv", "--sensitive", sensitive)
