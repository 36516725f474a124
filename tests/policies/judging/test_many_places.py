"""Verdicts at many places at once are those of each place by itself."""

from itertools import product

import numpy as np
import pytest

from treewarden.audit.measures import call
from treewarden.audit.reading import Interval
from treewarden.policies.clause import Atom
from treewarden.policies.judging.clause_evaluation import verdicts
from treewarden.policies.rules import rules

VALUES = (-np.inf, -1.0, 0.0, np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1), 1.0, np.inf)
PAIRS = [(low, high) for low, high in product(VALUES, VALUES) if low <= high]


@pytest.mark.parametrize("name", rules())
@pytest.mark.parametrize("limit", [0.0, 0.5, 1.0])
def test_places_are_judged_as_each_is_by_itself(name, limit):
    atom = Atom(call("disclosure"), name, limit)
    ends = tuple(np.array(PAIRS * 3).T)
    alone = [rules()[name].judge(Interval(*pair), limit) for pair in PAIRS * 3]
    assert verdicts(atom, ends, len(alone)).tolist() == [int(verdict) for verdict in alone]


@pytest.mark.parametrize("pair", [(np.nan, 0.2), (0.2, np.nan), (np.nan, np.nan), (0.4, 0.3)])
def test_ends_that_are_no_interval_are_never_judged(pair):
    ends = tuple(np.array([(0.1, 0.2), pair]).T)
    with pytest.raises(ValueError, match="no numbers, or not in order"):
        verdicts(Atom(call("disclosure"), "at_most", 0.5), ends, 2)


def test_no_place_has_no_verdict():
    ends = (np.zeros(0), np.zeros(0))
    assert verdicts(Atom(call("disclosure"), "at_most", 0.5), ends, 0).tolist() == []
