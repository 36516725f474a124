"""Privacy against utility: how far the weakest clause is met, and what nothing else beats."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.small_audits import audit_of, evidence_of, flat_tree, pack_of
from treewarden.audit.reading import Interval, Undetermined
from treewarden.policies.judging.judge import judge
from treewarden.policies.repair.attempts import MOST, privacy, unbeaten

TREE = flat_tree([[6, 2], [2, 2]])
POINTS = st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=8)


def met(*clauses, reading=None):
    pack = pack_of(*clauses)
    decision = judge(audit_of(evidence_of(TREE), pack), pack)
    if reading is not None:
        last = replace(decision.findings[-1], reading=reading)
        decision = replace(decision, findings=(*decision.findings[:-1], last))
    return privacy(decision)


@pytest.mark.parametrize(
    ("clause", "share"),
    [
        (("k_anonymity", "at_least", 4), 1),
        (("k_anonymity", "at_least", 8), 0.5),
        (("k_anonymity", "at_least", 1), MOST),
        (("label_disclosure", "at_most", 0.75), 1),
        (("label_disclosure", "at_most", 0.375), 0.5),
        (("label_disclosure", "at_most", 0), 0),
    ],
)
def test_a_clause_is_met_as_far_as_its_bad_end_reaches_the_limit(clause, share):
    assert met(clause) == share


def test_the_weakest_error_clause_counts():
    demands = (("k_anonymity", "at_least", 5), ("label_disclosure", "at_most", 0.75))
    assert met(*demands, ("k_anonymity", "at_least", 400, "warning")) == pytest.approx(0.8)


def test_of_a_range_the_bad_end_counts():
    clause = ("k_anonymity", "at_least", 4)
    assert met(clause, reading=Interval(1, 100)) == 0.25


def test_what_could_not_be_told_of_one_clause_is_told_of_none():
    clauses = ("label_disclosure", "at_most", 0.75), ("k_anonymity", "at_least", 4)
    assert met(*clauses, reading=Undetermined("it stalled")) is None


def test_what_is_as_good_in_all_and_better_in_one_beats():
    assert unbeaten([(1, 1), (1, 2), (2, 0), (1, 2)]) == [False, True, True, True]


@given(POINTS)
def test_whatever_is_beaten_is_beaten_by_one_that_is_not(points):
    front = unbeaten(points)
    best = [point for point, on in zip(points, front, strict=True) if on]
    for point, on in zip(points, front, strict=True):
        above = [
            b for b in best if b != point and all(x >= y for x, y in zip(b, point, strict=True))
        ]
        assert bool(above) is not on
