"""Binary trees on heart_cleveland, german_credit and a part of Adult, grown by scikit-learn, with their tables.

Data: UCI machine learning repository, Heart Disease (10.24432/C52P4X), Statlog German Credit (10.24432/C5NC77) and
Adult (10.24432/C5XW20). Every column but the class is a quasi-identifier; text becomes the rank of its value.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.adult import SENSITIVE, adult
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.read_table import read_table, table_of
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.tree import Tree

ADULT_NAMES = ("workclass", "occupation", "relationship", "race", "sex", "income")
MISSING = {"", "?", "NA"}


def grown(name: str, folder: Path, **settings: object) -> tuple[Tree, Table]:
    """Return a tree (random_state 0) on heart, german or adult, and the table it was grown on; the class is `class`."""
    columns, labels = {"heart": _heart, "german": _german, "adult": _adult}[name](folder)
    fitted = DecisionTreeClassifier(random_state=0, **settings)
    fitted.fit(np.stack(list(columns.values()), axis=1), labels)
    tree = from_sklearn(fitted, feature_names=list(columns), target="class")
    table = table_of({**{key: part.tolist() for key, part in columns.items()}, "class": labels})
    return tree, table


def _heart(folder: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    columns, target = _read(folder / "heart_cleveland.csv", "num")
    return columns, ["yes" if float(said) > 0 else "no" for said in target]


def _german(folder: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    return _read(folder / "german_credit.csv", "class")


def _adult(folder: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    table = adult(folder, classes=2)
    columns = {name: _numbers(table.columns[name].cells()) for name in ADULT_NAMES}
    return columns, [str(said) for said in table.columns[SENSITIVE].cells()]


def _read(path: Path, target: str) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the columns and the class of the records without missing values."""
    raw = read_table(path)
    said = {name: [str(cell) for cell in raw.columns[name].cells()] for name in raw.columns}
    whole = [i for i, row in enumerate(zip(*said.values(), strict=True)) if not MISSING & set(row)]
    kept = {name: [cells[i] for i in whole] for name, cells in said.items()}
    labels = kept.pop(target)
    return {name: _numbers(cells) for name, cells in kept.items()}, labels


def _numbers(said: list[str]) -> np.ndarray:
    try:
        return np.array([float(cell) for cell in said])
    except ValueError:
        return np.unique(said, return_inverse=True)[1].astype(float)
