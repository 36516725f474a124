"""Losses whose leaf values are no sums of labels are refused by their names, in whatever library, with the reason."""

from dataclasses import replace

import pytest

from tests.kit.grown_models import FOLDER, case_of
from tests.kit.rows import rows
from treewarden.audit.inverters import inverters, leaf_sums
from treewarden.audit.inverters._rounds import not_turned_back

NAMES = [
    ("rank:ndcg", "ranking"),
    ("lambdarank", "ranking"),
    ("YetiRankPairwise", "ranking"),
    ("QueryRMSE", "ranking"),
    ("count:poisson", "amounts"),
    ("reg:tweedie", "amounts"),
    ("Poisson", "amounts"),
    ("survival:cox", "times"),
    ("reg:quantileerror", "quantiles"),
    ("absolute_error", "quantiles"),
    ("regression_l1", "quantiles"),
    ("MAE", "quantiles"),
    ("exponential", "difference of label and probability"),
    ("binary:hinge", "difference of label and probability"),
    ("Focal", "difference of label and probability"),
    ("custom", "custom"),
    ("PythonUserDefinedPerObject", "custom"),
    ("CrossEntropy", "shares"),
    ("cross_entropy", "shares"),
]


@pytest.fixture(scope="module")
def case():
    return case_of(FOLDER / "plain.json", FOLDER / "two.csv")[0]


@rows(("library", "name", "why"), [(each, *name) for each in inverters() for name in NAMES])
def test_a_loss_is_refused_by_its_name(library, name, why, case):
    growth = replace(case.growth, library=library, objective=name, refused="")
    found = leaf_sums(replace(case, growth=growth))
    assert repr(name) in found.reason
    assert why in found.reason


def test_a_loss_without_a_name_is_refused():
    assert "names no objective" in not_turned_back("objective", "").reason


def test_a_loss_that_nobody_knows_is_refused():
    assert not_turned_back("loss", "Squares").reason.endswith("'Squares' are not inverted")
