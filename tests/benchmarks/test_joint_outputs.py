"""The study of outputs beside a tree: its outputs are those of the table, and what is told of people adds up."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("statsmodels", reason="fits the regression")

from benchmarks.studies import joint_outputs as study


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(3)
    table = pd.DataFrame({"age": draw.integers(20, 80, 60), "sex": draw.integers(0, 2, 60)}).astype(
        float
    )
    ill = table["age"] + draw.normal(0, 15, 60) > 50
    return table.assign(**{study.LABEL: np.where(ill, *reversed(study.CLASSES))})


def test_few_values_are_counted_and_many_have_means(people):
    made = study.characteristics(people).set_index("characteristic")
    assert list(made.index) == ["age, mean (SD)", "sex = 0, n (%)", "sex = 1, n (%)"]
    yes = people[people[study.LABEL] == "yes"]
    assert made.loc["sex = 1, n (%)", "yes"].startswith(f"{(yes['sex'] == 1).sum()} (")
    assert made.loc["age, mean (SD)", "yes"] == f"{yes['age'].mean():.1f} ({yes['age'].std():.1f})"


@pytest.mark.studies
def test_outputs_beside_a_tree_tell_more_than_the_totals(people):
    totals = study.told(people, (study.NO_TREE, ()))
    together = study.told(people, (study.TREE, (study.TABLE_1, study.REGRESSION)))
    assert totals.sure == 0
    assert together.mean > totals.mean
    assert together.right[0] > totals.right[0]
