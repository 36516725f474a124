"""The audits that plans are held against: real tables at several sizes and levels, and generated ones of many rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
from sklearn.tree import DecisionTreeClassifier

from benchmarks.report_cases import EVERY_WORLD, Case, binary, income, large, study
from treewarden.ppdm_models.formats.pmml._write import written
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn

SOME = "sex,race,marital-status,native-country"
STUDIES = [("gini", 1000.0), ("gini", 100.0), ("entropy", 1000.0), ("entropy", 100.0)]


def planned_cases(data: Path, folder: Path) -> Iterator[Case]:
    """Write the files of each case into a folder, and yield the commands."""
    for case in binary(data, folder):
        if case.arguments[0] == "audit":
            words = tuple(word for word in case.arguments if word not in EVERY_WORLD)
            yield Case(case.name, case.folder, words)
            yield Case(f"{case.name}, JSON", case.folder, (*words, "--format", "json"))
            if "--leaf" not in words:
                yield Case(f"{case.name}, labels", case.folder, (*words, "--leaf", "labels"))
                yield Case(f"{case.name}, some", case.folder, (*words, "--knows", "age"))
    for case in study(data, folder, STUDIES):
        yield case
        if "100" in case.name.split():
            yield Case(f"{case.name}, some", case.folder, (*case.arguments, "--knows", SOME))
            words = (*case.arguments, "--secret", "income", "--knows", SOME, "--target-known")
            yield Case(f"{case.name}, a column", case.folder, words)
    for case in income(data, folder):
        yield case
        without = tuple(word for word in case.arguments if word != "--no-worlds")
        yield Case(f"{case.name}, worlds", case.folder, without)
    for case in list(large(folder))[:2]:
        yield case
        yield Case(f"{case.name}, some", case.folder, (*case.arguments, "--knows", "x0,x1,x2,x3"))
    for rows in (100_000, 300_000, 1_000_000):
        yield from _generated(rows, folder)


def _generated(rows: int, folder: Path) -> Iterator[Case]:
    """Yield a tree on a table of so many rows, without and with whole records."""
    draw = np.random.default_rng(7)
    values = np.column_stack([draw.integers(0, most, rows) for most in (4, 6, 8, 12, 20)])
    score = values[:, 0] + values[:, 1] * (values[:, 2] > 3) - values[:, 3] / 3
    labels = np.where(score + draw.normal(0, 2, rows) > 3, "yes", "no")
    fitted = DecisionTreeClassifier(max_leaf_nodes=60, min_samples_leaf=20, random_state=0)
    names = tuple(f"x{number}" for number in range(values.shape[1]))
    tree = from_sklearn(
        fitted.fit(values.astype(float), labels), feature_names=names, target="class"
    )
    name = f"rows-{rows}"
    (folder / f"{name}.pmml").write_bytes(written(tree))
    columns = {**dict(zip(names, values.T, strict=True)), "class": labels}
    pyarrow.csv.write_csv(pyarrow.table(columns), folder / f"{name}.csv")
    asked = (f"{name}.pmml", "--data", f"{name}.csv", "--sensitive", "class")
    yield Case(f"{rows:,} rows, no worlds", folder, ("audit", *asked, "--no-worlds"))
    if rows < 1_000_000:
        yield Case(f"{rows:,} rows", folder, ("audit", *asked))
