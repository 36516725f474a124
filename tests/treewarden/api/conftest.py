"""Small fitted trees, the tables that they were fitted on, and policies as mappings."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

GROUPS = ((20, 1, 30, 20), (30, 0, 25, 22), (40, 1, 6, 20), (50, 0, 20, 4), (60, 1, 3, 5))
"""Age, sex, how many healthy, how many ill."""


def people():
    """Return a table of 155 people, numbers but for the class."""
    rows = [
        (age, sex, name)
        for age, sex, *counts in GROUPS
        for name, count in zip(("no", "yes"), counts, strict=True)
        for _ in range(count)
    ]
    return pd.DataFrame(rows, columns=["age", "sex", "ill"])


def pack(**limits):
    """Return a policy: ``k_anonymity`` at least, anything else at most so much."""
    clauses = [
        {
            "id": name,
            "measure": name,
            "rule": "at_least" if name == "k_anonymity" else "at_most",
            "limit": float(limit),
        }
        for name, limit in limits.items()
    ]
    return {"name": "small", "version": "1", "title": "small", "clause": clauses}


@pytest.fixture
def frame():
    return people()


@pytest.fixture
def tree(frame):
    return DecisionTreeClassifier(random_state=0).fit(frame[["age", "sex"]], frame["ill"])


@pytest.fixture
def quick():
    """What makes an audit of a few records quick."""
    return {"worlds": False, "jobs": 1, "levels": False}


@pytest.fixture
def noise():
    """A table on which every pattern is chance."""
    random = np.random.default_rng(0)
    columns = {name: random.integers(0, 8, 400) for name in ("a", "b", "c")}
    return pd.DataFrame({**columns, "y": random.integers(0, 2, 400)})
