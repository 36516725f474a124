"""The public data sets of the study of ensembles: every column a number, two classes, no missing value."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

LABEL = "label"
ID = "id"


@dataclass(frozen=True, eq=False)
class Data:
    """One data set: its columns, and whether each record is of the class that is asked about."""

    name: str
    columns: pd.DataFrame
    labels: np.ndarray
    is_number: bool = False

    @property
    def table(self) -> pd.DataFrame:
        """Return the training table as it is audited."""
        return self.columns.assign(**{LABEL: self.labels})

    def take(self, rows: np.ndarray) -> Data:
        """Return some of the records."""
        columns = self.columns.iloc[rows].reset_index(drop=True)
        return replace(self, columns=columns, labels=self.labels[rows])


FILES = {
    "heart": ("heart_cleveland.csv", "num", lambda said: said.astype(float) > 0, ()),
    "german": ("german_credit.csv", "class", lambda said: said == said.unique().tolist()[1], ()),
    "breast": ("breast_cancer.csv", "class", lambda said: said.str.startswith("recur"), ()),
    "adult": ("adult_train.csv", "income", lambda said: said.str.contains(">"), ()),
}


def data_of(name: str, folder: Path) -> Data:
    """Return a data set; its categories are numbered in alphabetical order, and records that lack a value left out."""
    file, target, is_yes, without = FILES[name]
    read = pd.read_csv(folder / file, skipinitialspace=True, na_values=["?"])
    read = read.drop(columns=list(without)).dropna().reset_index(drop=True)
    labels = np.asarray(is_yes(read.pop(target)), dtype=np.int64)
    columns = {each: _numbered(read[each]) for each in read}
    return Data(name, pd.DataFrame(columns), labels)


def diabetes() -> Data:
    """Return the 442 people that come with scikit-learn, and a measure of how far their disease went after a year."""
    read = importlib.import_module("sklearn.datasets").load_diabetes(as_frame=True, scaled=False)
    return Data("diabetes", read.data.astype(np.float64), read.target.to_numpy(), is_number=True)


def _numbered(column: pd.Series) -> np.ndarray:
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64)
    return np.unique(column.astype(str), return_inverse=True)[1].astype(np.float64)
