"""Grows the trees of `benchmarks.partial` in a process of its own, so that what is measured holds no scikit-learn.

python -m benchmarks.partial_trees --data FOLDER --out FOLDER
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.partial import LEAVES, TARGET, columns_of
from treewarden.ppdm_models.files.load import writers
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.read_table import read_table, table_of
from treewarden.ppdm_models.tables.table import Table


def adult_in_numbers(folder: Path) -> Table:
    """Return Adult's records without missing values, categories as numbers in the order of their names."""
    raw = read_table(folder / "adult_train.csv")
    cells = {name: raw.columns[name].cells() for name in raw.columns}
    whole = [row for row in range(raw.rows) if all(column[row] != "?" for column in cells.values())]
    columns: dict[str, list[object]] = {}
    for name, column in cells.items():
        kept = [column[row] for row in whole]
        if name == TARGET or raw.columns[name].is_numeric():
            columns[name] = kept
            continue
        codes = {value: place for place, value in enumerate(sorted(set(map(str, kept))))}
        columns[name] = [codes[str(value)] for value in kept]
    return table_of(columns)


def grow(data: Path, folder: Path) -> None:
    """Write trees of all sizes that scikit-learn grows, and the table."""
    table = adult_in_numbers(data)
    names = columns_of(table)
    x = np.stack([table.numbers(name).numbers for name in names], axis=1)
    y = np.array(table.columns[TARGET].cells(), dtype=str)
    for leaves in LEAVES:
        fitted = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(x, y)
        tree = from_sklearn(fitted, names, fitted.classes_, target=TARGET)
        (folder / f"{leaves}.pmml").write_bytes(writers()["pmml"].write(tree))
    rows = zip(*(table.columns[name].cells() for name in (*names, TARGET)), strict=True)
    lines = [",".join((*names, TARGET)), *(",".join(map(str, row)) for row in rows)]
    (folder / "table.csv").write_text("\n".join(lines))


def main() -> None:
    """Write the trees and the table."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.partial_trees", description=__doc__)
    ask.add_argument("--data", type=Path, required=True)
    ask.add_argument("--out", type=Path, required=True)
    asked = ask.parse_args()
    grow(asked.data, asked.out)


if __name__ == "__main__":
    main()
