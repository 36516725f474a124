"""UCI Adult as Zhu & Du 2010 use it: 30,162 records, 8 categorical quasi-identifiers, education as the sensitive class.

Data: UCI machine learning repository, Adult (10.24432/C5XW20), as `adult_train.csv` with a header row.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from treewarden.audit.population.population import Population, build_population
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.learn.growers import grow_id3
from treewarden.ppdm_models.tables.read_table import read_table, table_of
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Tree

SENSITIVE = "education"
QUASI_IDENTIFIERS = (
    "workclass",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
    "income",
)
NUMBERS = ("age", "hours-per-week", "capital-gain")
MIN_RECORDS = (1000, 300, 100, 30, 2)
CRITERIA = ("gini", "entropy")

_SCHOOL = ("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th")
_COARSE = {
    2: {"Bachelors": 1, "Masters": 1, "Prof-school": 1, "Doctorate": 1},
    4: {"HS-grad": 1, "Some-college": 2, "Assoc-voc": 2, "Assoc-acdm": 2}
    | dict.fromkeys(("Bachelors", "Masters", "Prof-school", "Doctorate"), 3),
    6: {"HS-grad": 1, "Some-college": 2, "Assoc-voc": 3, "Assoc-acdm": 3, "Bachelors": 4}
    | dict.fromkeys(("Masters", "Prof-school", "Doctorate"), 5),
}
"""Coarser classes, for sizes between: each level of education that is not named here is class 0."""


@cache
def adult(folder: Path, *, records: int = 0, classes: int = 16) -> Table:
    """Return the records without missing values: all, or so many spread evenly, with 16 classes or coarser ones."""
    raw = read_table(folder / "adult_train.csv")
    columns = {name: raw.columns[name].cells() for name in raw.columns}
    whole = [i for i, row in enumerate(zip(*columns.values(), strict=True)) if "?" not in row]
    if records:
        whole = [whole[i * len(whole) // records] for i in range(records)]
    kept = {
        name: [columns[name][i] for i in whole]
        for name in (*QUASI_IDENTIFIERS, *NUMBERS, SENSITIVE)
    }
    if classes < 16:
        kept[SENSITIVE] = [f"level {_COARSE[classes].get(said, 0)}" for said in kept[SENSITIVE]]
    return table_of(kept, "adult_train.csv")


def multiway(
    table: Table, criterion: str, min_records: float, names: tuple[str, ...] = QUASI_IDENTIFIERS
) -> tuple[Tree, Population]:
    """Return the ID3-like tree on education, and the people: each attribute once per path, ties to the first."""
    columns = {name: table.column(Feature(name, numeric=False)) for name in names}
    target = table.column(Feature(SENSITIVE, numeric=False))
    tree = grow_id3(
        columns,
        np.eye(len(target.categories))[target.codes],
        target.categories,
        target=SENSITIVE,
        criterion=Criterion(criterion),
        min_records=min_records,
    )
    return tree, build_population(tree, table, sensitive=SENSITIVE)


def binary(
    table: Table, criterion: str, leaves: int, names: tuple[str, ...]
) -> tuple[Tree, Population]:
    """Return a scikit-learn tree with so many leaves on numeric and (as codes) categorical columns, and the people."""
    numbers = {}
    for name in names:
        column = table.column(Feature(name, numeric=name in NUMBERS))
        numbers[name] = (
            column.codes.astype(float) if isinstance(column, CategoricalColumn) else column.numbers
        )
    target = table.column(Feature(SENSITIVE, numeric=False))
    labels = np.array(target.categories)[target.codes]
    fitted = DecisionTreeClassifier(criterion=criterion, max_leaf_nodes=leaves, random_state=0)
    fitted.fit(np.stack(list(numbers.values()), axis=1), labels)
    tree = from_sklearn(fitted, feature_names=names, target=SENSITIVE)
    coded = table_of(
        {**{name: values.tolist() for name, values in numbers.items()}, SENSITIVE: labels.tolist()}
    )
    return tree, build_population(tree, coded, sensitive=SENSITIVE)
