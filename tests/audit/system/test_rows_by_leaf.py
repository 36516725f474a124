"""Which rows concern the people of a leaf: what changes there can break no other row."""

import numpy as np
import pytest

from tests.kit.cases import multiway_case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.system.system import build_system, max_violation, rows_by_leaf


@pytest.mark.parametrize("leaf", ["labels", "rates", "counts"])
def test_what_changes_in_a_leaf_breaks_no_row_but_its_own(leaf):
    case = multiway_case(3, Knowledge(leaf=leaf, split="gini", marginal=True))
    system, counts, draw = build_system(case), case.population.counts, np.random.default_rng(7)
    by_leaf, every = rows_by_leaf(system), set(range(len(system.rows)))
    mass = draw.dirichlet(np.full(3, 0.5), size=len(counts)) * counts[:, None]
    assert set().union(*by_leaf.values()) == every
    for node, own in by_leaf.items():
        changed, inside = mass.copy(), case.population.leaf == node
        changed[inside] = draw.permutation(changed[inside], axis=1)
        others = every - set(own)
        assert max_violation(system, changed, numbers=others) == max_violation(
            system, mass, numbers=others
        )
        both = (
            max_violation(system, changed, numbers=own),
            max_violation(system, mass, numbers=others),
        )
        assert max_violation(system, changed) == max(both)
