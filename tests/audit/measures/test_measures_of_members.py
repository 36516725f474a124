"""How well membership can be told, of a register worked by hand."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.small_audits import evidence_of, flat_tree, read
from treewarden.audit.evidence import RecordEvidence
from treewarden.audit.measures.membership_advantage import NOBODY_ELSE, found_at
from treewarden.audit.membership.candidates import Candidates, MembershipInference
from treewarden.audit.reading import Undetermined, exactly

SIZES, MEMBERS, LIKELY = (2, 2, 9), (2, 1, 0), (0.9, 0.5, 0.1)
"""Three groups of candidates: how many, how many of them are members, and how likely each is to be one."""


def advantage(false_alarms=0.1, sizes=SIZES, probability=None):
    members = np.array([[count, 0] for count in MEMBERS])
    candidates = Candidates({}, np.array(sizes), None, members, ("c0", "c1"))
    nobody = np.zeros(3, dtype=int)
    likely = np.array(LIKELY) if probability is None else probability
    found = MembershipInference(
        *[nobody, candidates.sizes] * 2, candidates=candidates, probability=likely
    )
    evidence = replace(
        evidence_of(flat_tree([[3, 1], [2, 2]])), records=RecordEvidence(membership=found)
    )
    return read("membership_advantage", evidence, false_alarms=false_alarms).reading


def test_members_are_named_likeliest_first_and_a_tie_is_shared_out():
    # 2 of 3 members before anybody else; then one member and one of the 10 others, who are equally likely
    assert advantage(0.1) == exactly(1.0)
    assert advantage(0.05).low == pytest.approx((2 + 0.5) / 3)
    assert advantage(0.01).low == pytest.approx((2 + 0.1) / 3)


def test_where_all_are_equally_likely_as_many_members_as_others_are_named():
    alike, members, others = np.full(2, 0.5), np.array([3, 1]), np.array([10, 90])
    assert found_at(alike, members, others, 0.25) == pytest.approx(0.25)


def bounded(measure, low, high):
    members = np.array([[count, 0] for count in MEMBERS])
    candidates = Candidates({}, np.array(SIZES), None, members, ("c0", "c1"))
    unknown = Undetermined("not estimated")
    found = MembershipInference(
        *[np.array(low), np.array(high)] * 2, candidates=candidates, probability=unknown
    )
    evidence = replace(
        evidence_of(flat_tree([[3, 1], [2, 2]])), records=RecordEvidence(membership=found)
    )
    return read(measure, evidence).reading


def test_what_is_proved_of_groups_bounds_both_metrics():
    # 3 of 13 are members: odds of 3/10 before. Of a group of 2 one is a member at most, of one of 9 three.
    odds = bounded("membership_odds", (0, 0, 0), (1, 1, 3))
    assert (odds.low, odds.high) == pytest.approx((1.0, 10 / 3))
    odds = bounded("membership_odds", (1, 0, 0), (2, 2, 3))
    assert (odds.low, odds.high) == (pytest.approx(10 / 3), np.inf)
    told = bounded("membership_advantage", MEMBERS, MEMBERS)
    assert told == exactly(advantage(0.001, probability=np.array([1.0, 0.5, 0.0])).low)
    wide = bounded("membership_advantage", (0, 0, 0), (2, 2, 8))
    assert (wide.low, wide.high) == (0.0, 1.0)


def test_nothing_is_said_where_there_is_nobody_else_or_no_estimate():
    assert advantage(sizes=MEMBERS) == NOBODY_ELSE
    unknown = Undetermined("not estimated")
    assert advantage(probability=unknown) == unknown
    assert bounded("membership_odds", (0, 0, 0), SIZES).reason == unknown.reason
