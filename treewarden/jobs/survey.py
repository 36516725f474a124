"""The demonstration's data: a survey of marriages that statsmodels ships, and a tree grown on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv
from sklearn.tree import DecisionTreeClassifier
from statsmodels.datasets import fair

from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tree.tree import Tree

SENSITIVE = "affair"
FEATURES = {
    "rate_marriage": "rating",
    "age": "age",
    "yrs_married": "years_married",
    "children": "children",
    "religious": "religious",
    "educ": "education",
    "occupation": "occupation",
    "occupation_husb": "occupation_husband",
}


@dataclass(frozen=True, slots=True)
class Survey:
    """The survey as its owner holds it: the table as CSV, and the tree trained on it."""

    records: int
    share_yes: float
    csv: bytes
    tree: Tree
    accuracy: float


def survey() -> Survey:
    """Return Fair's survey of 6,366 married women (1978), and a tree that guesses who had an affair."""
    frame = fair.load_pandas().data
    columns = {ours: frame[theirs].to_numpy(float) for theirs, ours in FEATURES.items()}
    answers = np.where(frame["affairs"].to_numpy(float) > 0, "yes", "no")
    inputs = np.column_stack(list(columns.values()))
    fitted = DecisionTreeClassifier(criterion="entropy", max_depth=6, random_state=0)
    fitted.fit(inputs, answers)
    tree = from_sklearn(
        fitted, feature_names=tuple(columns), class_names=tuple(fitted.classes_), target=SENSITIVE
    )
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(pa.table({**columns, SENSITIVE: answers}), sink)
    return Survey(
        records=len(answers),
        share_yes=float(np.mean(answers == "yes")),
        csv=sink.getvalue().to_pybytes(),
        tree=tree,
        accuracy=float(fitted.score(inputs, answers)),
    )
