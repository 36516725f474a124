"""What an ensemble predicts where some of its trees have nothing to say."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.forests import by_sex, forest, stump
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Combination, Member
from treewarden.ppdm_models.tree.predicate import NumericTest

RECORD = {
    "age": NumericColumn(np.array([np.nan])),
    "sex": CategoricalColumn(codes=np.array([0]), categories=("F", "M")),
}
SILENT, SPEAKING = stump(40.0, "no", "yes"), by_sex("yes", "no")
OTHERWISE = by_sex("no", "yes")


def said(combination, *trees):
    model = replace(forest(*trees), combination=combination)
    return labels(model, predict(model, RECORD))[0]


@pytest.mark.parametrize(
    ("trees", "label"),
    [
        ((SPEAKING, SPEAKING, SPEAKING), "yes"),
        ((SILENT, SPEAKING, SPEAKING), "yes"),
        ((SPEAKING, OTHERWISE, OTHERWISE, SILENT), "no"),
        ((SILENT, SILENT, SPEAKING), None),
        ((SILENT, SPEAKING, SILENT, OTHERWISE), None),
    ],
)
def test_nothing_is_a_vote_as_any_other(trees, label):
    assert said(Combination.MAJORITY_VOTE, *trees) == label


def test_an_average_with_nothing_is_nothing():
    assert said(Combination.AVERAGE, SILENT, SPEAKING) is None


def test_the_first_tree_that_is_asked_decides_also_by_saying_nothing():
    assert said(Combination.SELECT_FIRST, SILENT, SPEAKING) is None
    assert said(Combination.SELECT_FIRST, SPEAKING, SILENT) is not None


@pytest.mark.parametrize("combination", [Combination.SUM, Combination.WEIGHTED_AVERAGE])
def test_a_tree_that_speaks_of_all_adds_the_bytes_of_one_that_is_asked_for_whom_it_speaks(
    combination,
):
    ages = np.arange(90.0)
    columns = {"age": NumericColumn(ages)}
    of_all = NumericTest("age", high=200.0)
    told = [
        (stump(30.0, 0.1, 0.7), 0.3),
        (stump(50.0, 1 / 3, 0.2), -1.7),
        (stump(70.0, 0.5, None), 0.4),
    ]
    plain, asked = (
        replace(
            forest(*(tree for tree, _ in told)),
            combination=combination,
            members=tuple(Member(tree, weight=weight, **test) for tree, weight in told),
        )
        for test in ({}, {"test": of_all})
    )
    assert predict(plain, columns).tobytes() == predict(asked, columns).tobytes()
