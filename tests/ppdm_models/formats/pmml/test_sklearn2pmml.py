"""Trees behind computed columns, as sklearn2pmml writes them, predict what scikit-learn predicts."""

import json
from pathlib import Path

import numpy as np
import pytest

from treewarden.ppdm_models.files.load import load_tree
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

FOLDER = Path(__file__).parents[3] / "data" / "sklearn2pmml"
RECORDS = json.loads((FOLDER / "records.json").read_text(encoding="utf-8"))


def column(cells):
    if isinstance(cells[0], float):
        return NumericColumn(np.array(cells))
    names = tuple(dict.fromkeys(cells))
    return CategoricalColumn(np.array([names.index(cell) for cell in cells]), names)


def ratio(cells):
    """What the file computes of two columns."""
    one, two = np.array(cells["x1"]), np.array(cells["x2"])
    quotient = np.where(two != 0, one / np.where(two != 0, two, 1), 0)
    return quotient.astype(np.float32).astype(np.float64)


def widened(cells):
    """What the file computes of a column and its absolute value."""
    numbers = np.array(cells["x1"])
    return numbers + (1e-8 + 1e-5 * np.abs(numbers))


COMPUTED = {"eval(X[0] / X[1] if X[1] != 0 else 0)": ratio, "add_eps(x1)": widened}


def columns_of(tree, cells):
    """The columns of the records, with those that the file computes and no raw one says."""
    columns = {name: column(values) for name, values in cells.items()}
    for feature in tree.features:
        if feature.computation:
            columns[feature.name] = NumericColumn(COMPUTED[feature.name](cells))
    return columns


@pytest.mark.parametrize("name", RECORDS)
def test_a_pipeline_predicts_what_scikit_learn_predicts(name):
    tree = load_tree((FOLDER / f"{name}.pmml").read_bytes(), f"{name}.pmml")
    found = labels(tree, predict(tree, columns_of(tree, RECORDS[name]["columns"])))
    assert list(found) == RECORDS[name]["predicted"]


def test_only_what_reads_two_values_at_once_stays_a_field_of_its_own():
    trees = {
        name: load_tree((FOLDER / f"{name}.pmml").read_bytes(), name) for name in sorted(RECORDS)
    }
    own = [name for name, tree in trees.items() if any(one.computation for one in tree.features)]
    assert own == ["bins", "guarded_division"]
