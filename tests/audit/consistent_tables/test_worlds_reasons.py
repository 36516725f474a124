"""Reasons in words: the split that would otherwise have been taken, and what another table trades."""

from __future__ import annotations

import numpy as np
import pytest

from tests.judges.worlds_by_hand import ONLY_PROOFS, system_of, worlds_of
from tests.kit.grown_trees import grow_tree, heart
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.facts.facts import facts_of, joined
from treewarden.audit.consistent_tables.result import Tiers
from treewarden.audit.system.system import build_system

EXAMPLE = ([2, 1, 1, 2], [[0], [1, 2], [3]], [(2, 0), (1, 1), (0, 2)])
R1 = system_of(*EXAMPLE, [(0, "1010")])
R10 = system_of(
    [2, 1, 1, 2, 1, 1],
    [[[0, 1], [2, 3]], [4, 5]],
    [(0, 3), (1, 2), (1, 1)],
    [(0, "101110"), (1, "0010")],
    criterion="entropy",
)
LIST_ONLY = Tiers(propagate=False)


@pytest.mark.parametrize("tiers", [Tiers(), ONLY_PROOFS, LIST_ONLY])
def test_one_row_that_proves_a_value_is_named_with_its_node(tiers):
    told = worlds_of(R1, tiers=tiers)
    assert told.reasons[1] == told.reasons[2] == "node 0 would have split on a1010"
    assert told.reasons[0] == "the counts of its leaf"


@pytest.mark.parametrize("tiers", [Tiers(), LIST_ONLY])
def test_only_splits_that_another_table_would_have_changed_are_named(tiers):
    told = worlds_of(R10, tiers=tiers)
    assert told.certain.any()
    assert all("table" not in said for said in told.reasons.values())


def test_several_rows_are_joined_and_shortened():
    facts = facts_of(R1)
    said = [f"node 7 would have split on {test}" for test in ("a", "b", "c", "d")]
    assert joined(facts, 0, said[:2]) == "node 7 would have split on a, or on b"
    assert joined(facts, 0, said[:3]).endswith(", or another split would have been chosen")
    assert "one of 2 other splits" in joined(facts, 0, said)
    assert joined(facts, 0, []) == "the counts of the leaves below node 0"
    other = "node 9 would have split on e"
    assert joined(facts, 0, [said[0], other]) == f"{said[0]}, or {other}"
    assert joined(facts, 0, [said[0], "P(c) = 1"]) == f"{said[0]} (given also: P(c) = 1)"


def test_every_profile_that_is_certain_by_a_split_names_one():
    case = grow_tree(*heart(), criterion="gini", max_depth=5)
    told = reason(build_system(case), budget_seconds=120)
    said = [told.reasons[q] for q in np.flatnonzero(told.certain)]
    assert all("would have split" in each or each == "the counts of its leaf" for each in said)
    alone = [each for each in said if "would have split" in each and ", or" not in each]
    assert len(alone) > 30
    assert not any("000001" in each for each in said)


def test_a_witness_says_only_what_differs():
    told = worlds_of(system_of(*EXAMPLE, []))
    witness = next(one for one in told.witnesses if one.profile == 1)
    assert "and give a record with who = q3 (otherwise equal)" in witness.says
    assert (
        "give one of these records “c0” instead of “c1”" in witness.says
        or "give one of these records “c1” instead of “c0”" in witness.says
    )
