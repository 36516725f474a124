"""Made-up ensembles are what they are said to be."""

from __future__ import annotations

import pytest

from benchmarks.joint import Task, made_up
from treewarden.audit.engine.counts import counts_of


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("slack", [0, 2])
def test_the_true_table_of_a_made_up_ensemble_fits_its_rows(classes, slack):
    rows, truth = made_up(Task("few", 80, 5, 6, classes, slack))
    assert counts_of(rows).fits(truth[:, -counts_of(rows).width :])
    assert len(set(rows.trees.tolist())) == 6
