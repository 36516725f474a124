"""Scores are whole numbers, the same for every order of branches and classes."""

import numpy as np

from tests.ppdm_models.methods.vertical.cases import TENNIS, table
from treewarden.ppdm_models.methods.vertical.party_view import crossed
from treewarden.ppdm_models.methods.vertical.session import STEPS_PER_BIT, Session, score

COLUMNS = table(TENNIS, ["outlook", "temp", "humidity", "windy", "play"])


def test_play_tennis_has_the_scores_that_are_known_of_it():
    *attributes, label = COLUMNS
    found = [
        score(crossed(each.codes, len(each.categories), label.codes, 2)) for each in attributes
    ]
    assert found == [10181155, 13374469, 11574503, 13096950]


def test_a_pure_split_scores_nothing_and_a_useless_one_what_was_there():
    assert score(np.array([[5, 0], [0, 9]])) == 0
    assert score(np.array([[4, 4]])) == 8 * STEPS_PER_BIT
    assert score(np.array([[4, 4], [0, 0]])) == 8 * STEPS_PER_BIT


def test_whoever_has_no_attribute_left_never_wins():
    few = Session(("a", "b"), ((0,), (1,)), 4, ("x", "y"), 0)
    many = Session(("a", "b"), (tuple(range(600)), (600,)), 2**31, tuple(map(str, range(999))), 0)
    for session in (few, many):
        share = session.records // len(session.classes) + 1
        worst = score(np.full((1, len(session.classes)), share))
        assert session.key(0, len(session.ranks[0]) - 1, worst) < session.nothing
