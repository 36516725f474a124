"""Writes trees behind computed columns by sklearn2pmml, each with records and where scikit-learn sends them.

python tests/data/make_sklearn2pmml.py

needs sklearn2pmml 0.133.1, scikit-learn 1.9.0, category_encoders 2.11.2 and Java, in an environment of their own. Of
each pipeline there is the PMML without its time stamp, and in ``records.json`` the records with what scikit-learn
predicts for them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from category_encoders import TargetEncoder
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder, PowerTransformer
from sklearn.preprocessing import TargetEncoder as OwnTargetEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn2pmml import sklearn2pmml
from sklearn2pmml.pipeline import PMMLPipeline
from sklearn2pmml.preprocessing import ExpressionTransformer
from sklearn2pmml.util import Reshaper

OUT = Path(__file__).parent / "sklearn2pmml"
RECORDS = 300


def table() -> tuple[pd.DataFrame, pd.Series]:
    """Return people of a credit table: some months are zero, some kinds begin with a blank."""
    draw = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "amount": draw.gamma(2.0, 1500.0, RECORDS).round(0),
            "months": draw.choice([0.0, 6.0, 12.0, 24.0, 36.0], RECORDS),
            "balance": draw.normal(0.0, 400.0, RECORDS).round(1),
            "kind": draw.choice([" car", "house", " school", "b2", "other one"], RECORDS),
        }
    )
    ratio = np.where(frame.months > 0, frame.amount / frame.months.replace(0, 1), -1)
    risk = (ratio > 250) ^ (frame.kind == " car") ^ (frame.balance < -200)
    noise = draw.random(RECORDS) < 0.1
    return frame, pd.Series(np.where(risk ^ noise, "bad", "good"), name="outcome")


def expression(text: str) -> Any:
    """Return what computes a column as an expression says."""
    return make_pipeline(ExpressionTransformer(text), Reshaper((-1, 1)))


PIPELINES: dict[str, tuple[Any, list[str]]] = {
    "guarded_division": (expression("X[0] / X[1] if X[1] != 0 else 0"), ["amount", "months"]),
    "guarded_reciprocal": (expression("1 / X[0] if X[0] != 0 else -1"), ["months"]),
    "logarithm": (expression("numpy.log(X[0] + 1)"), ["amount"]),
    "nested_if": (expression("1 if X[0] > 24 else (2 if X[0] > 6 else 3)"), ["months"]),
    "power": (PowerTransformer(), ["amount", "balance"]),
    "box_cox": (PowerTransformer(method="box-cox"), ["amount"]),
    "ordinal": (OrdinalEncoder(), ["kind"]),
    "unknown_value": (
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        ["kind"],
    ),
    "bins": (
        KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf"),
        ["amount"],
    ),
    "target_encoder": (TargetEncoder(), ["kind"]),
    "own_target_encoder": (OwnTargetEncoder(random_state=0), ["kind"]),
}
"""What computes a column, and from which."""


def transformed(made: Any, given: Any, width: int, columns: Any) -> Any:
    """Return the columns that the tree sees; a pipeline whose last step needs no fitting is taken for unfitted."""
    if not hasattr(made, "steps"):
        return columns.transform(given)
    computed = made.steps[0][1].transform(given[:, :width]).reshape(-1, 1)
    return np.column_stack([computed, given[:, width:]])


def make(name: str) -> dict[str, Any]:
    """Write one pipeline, and return its records with scikit-learn's predictions."""
    frame, outcome = table()
    made, own = PIPELINES[name]
    kept = [column for column in ("balance", "months") if column not in own]
    frame = frame[[*own, *kept]]
    places = list(range(len(own))), list(range(len(own), len(own) + len(kept)))
    columns = ColumnTransformer(
        [("made", made, places[0]), ("kept", "passthrough", places[1])], sparse_threshold=0.0
    )
    tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=3, random_state=0)
    pipeline = PMMLPipeline([("columns", columns), ("tree", tree)])
    given = frame.to_numpy() if "kind" not in own else frame
    pipeline.fit(given, outcome)
    names = list(frame) if given is frame else [f"x{place + 1}" for place in range(frame.shape[1])]
    path = OUT / f"{name}.pmml"
    sklearn2pmml(pipeline, str(path))
    text = re.sub(r"<Timestamp>.*?</Timestamp>", "", path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    return {
        "columns": {
            name: frame[column].tolist() for name, column in zip(names, frame, strict=True)
        },
        "predicted": [
            str(label) for label in tree.predict(transformed(made, given, len(own), columns))
        ],
    }


def main() -> int:
    """Write all of them."""
    OUT.mkdir(exist_ok=True)
    found = {}
    for name in PIPELINES:
        try:
            found[name] = make(name)
        except Exception as error:  # noqa: BLE001  # a tool that cannot write one pipeline must not hide the others
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    (OUT / "records.json").write_text(json.dumps(found) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
