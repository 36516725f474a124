"""Reference cases, counted by hand and by brute force: worlds, data sets, forced values and posteriors."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.judges.worlds_by_hand import (
    ONLY_PROOFS,
    brute_force,
    obeys,
    posterior_of,
    system_of,
    worlds_of,
)
from tests.kit.rows import rows
from treewarden.audit.consistent_tables.result import Consistency
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Feature, Learner

BOTH = ("gini", "entropy")
EXAMPLE = ([2, 1, 1, 2], [[0], [1, 2], [3]])
EXAMPLE_COUNTS = [(2, 0), (1, 1), (0, 2)]
SQUARE = [[0, 1], [2, 3]]
DEEP = [[[0, 1], [2, 3]], [4, 5]]
LABELS = [{"label": 0}, {"label": 1}]
RATES = [{"label": 0, "mass": 2}, {"label": 1, "mass": 2}]


def case(counts, shape, leaves, candidates, **more):
    return {"counts": counts, "shape": shape, "leaves": leaves, "candidates": candidates, **more}


R1 = case(*EXAMPLE, EXAMPLE_COUNTS, [(0, "1010")])
R2 = case(*EXAMPLE, EXAMPLE_COUNTS, [])
R3 = case(*EXAMPLE, [{"label": 0}, {"label": 1}, {"label": 1}], [(0, "1010")])
R4 = case([1, 1, 1, 1], SQUARE, [(1, 1), (1, 1)], [(0, "0101")])
R6 = case([2, 2, 2, 2], SQUARE, [(2, 1, 1), (1, 3, 0)], [(0, "0101")], classes=3)
R7 = case([1, 3, 3, 1], SQUARE, [(3, 1), (1, 3)], [(0, "0101")])
R8 = case([1] * 6, [[0, 1, 2], [3, 4, 5]], [(2, 1), (1, 2)], [(0, "011011"), (0, "001001")])
R9 = case([2, 1, 1, 2], SQUARE, LABELS, [(0, "0101")])
R10 = case([2, 1, 1, 2, 1, 1], DEEP, [(0, 3), (1, 2), (1, 1)], [(0, "101110"), (1, "0010")])
R11 = case([2, 1, 1, 1, 1, 2], DEEP, [(1, 2), (1, 1), (3, 0)], [(0, "011000"), (1, "1010")])
R12 = case([1, 2, 2, 1], SQUARE, RATES, [(0, "1001")], classes=3)
R13 = case([1, 2, 2, 1], SQUARE, RATES, [(0, "0101")], classes=3)
R14 = case(
    [1, 2, 2, 1, 2, 2],
    DEEP,
    [(2, 1), (1, 2), (0, 4)],
    [(0, "010101"), (0, "001101"), (1, "0101")],
)

COUNTS = [
    ("R1", R1, BOTH, (1, 2), None),
    ("R2", R2, BOTH, (2, 2), None),
    ("R3", R3, BOTH, (7, 12), (14, 27)),
    ("R4", R4, BOTH, (2, 4), None),
    ("R6", R6, BOTH, (6, 8), (40, 48)),
    ("R7", R7, ("gini",), (3, 4), (15, 16)),
    ("R8", R8, BOTH, (3, 9), (3, 9)),
    ("R9", R9, ("gini",), (8, 9), (15, 16)),
    ("R9 totals", {**R9, "totals": (3, 3)}, ("gini",), (4, 5), (9, 10)),
    ("R10", R10, ("gini",), (2, 4), (4, 6)),
    ("R10", R10, ("entropy",), (1, 4), (2, 6)),
    ("R11", R11, ("gini",), (1, 4), (1, 6)),
    ("R12", R12, ("gini",), (9, 16), (23, 36)),
    ("R12", R12, ("entropy",), (11, 16), (27, 36)),
    ("R13", R13, BOTH, (13, 16), (33, 36)),
    ("R14", R14, ("gini",), (3, 4), (8, 9)),
]
EACH = [
    pytest.param(spec, criterion, worlds, sets, id=f"{name} {criterion}")
    for name, spec, criteria, worlds, sets in COUNTS
    for criterion in criteria
]


def system(spec, criterion="gini"):
    return system_of(**spec, criterion=criterion)


def in_order(made, *names):
    """Return a system whose tree ID3 grew: it looked at these attributes in this order and chose "own" at the root."""
    tree = made.case.tree
    nodes = tuple(
        replace(node, test=CategoryTest("own", (node.name,))) if node.parent == 0 else node
        for node in tree.nodes
    )
    features = tuple(Feature(name, numeric=False) for name in names)
    tree = replace(tree, nodes=nodes, features=features, learner=Learner(multiway=True))
    return replace(made, case=replace(made.case, tree=tree))


@rows(("spec", "criterion", "worlds", "sets"), EACH)
def test_worlds_and_data_sets_are_counted(spec, criterion, worlds, sets):
    counted = worlds_of(system(spec, criterion)).enumeration.numbers
    assert (counted.worlds, counted.worlds_without_splits) == worlds
    if sets is not None:
        assert (counted.data_sets, counted.data_sets_without_splits) == sets


@rows(("spec", "criterion", "worlds", "sets"), EACH)
def test_the_brute_force_of_the_tests_counts_the_same(spec, criterion, worlds, sets):
    found, free, free_sets = brute_force(system(spec, criterion))
    assert (len(found), free) == worlds
    if sets is not None:
        assert (sum(ways for _, ways in found), free_sets) == sets


@rows(("spec", "criterion", "worlds", "sets"), EACH)
def test_ranges_and_posteriors_are_those_of_brute_force(spec, criterion, worlds, sets):
    made = system(spec, criterion)
    found, _, _ = brute_force(made)
    told = worlds_of(made)
    every = np.array([table for table, _ in found])
    assert (told.low == every.min(axis=0)).all()
    assert (told.high == every.max(axis=0)).all()
    # Of a program that is not known a table shows something where no other split is as good.
    shown = [table for table in every if obeys(made, table, strict=True)]
    if shown:
        assert (told.reached_low == np.min(shown, axis=0)).all()
        assert (told.reached_high == np.max(shown, axis=0)).all()
    assert (told.consistency is Consistency.CONSISTENT) == bool(shown)
    assert np.allclose(told.enumeration.posterior.values, posterior_of(found, spec["counts"]))


@rows(("spec", "criterion", "worlds", "sets"), EACH)
def test_proofs_and_witnesses_without_listing_worlds_are_sound(spec, criterion, worlds, sets):
    made = system(spec, criterion)
    every = np.array([table for table, _ in brute_force(made)[0]])
    told = worlds_of(made, tiers=ONLY_PROOFS)
    assert (told.low <= every.min(axis=0)).all()
    assert (told.high >= every.max(axis=0)).all()
    assert told.consistency is not Consistency.INCONSISTENT
    if told.consistency is Consistency.CONSISTENT:
        assert (told.reached_low >= every.min(axis=0)).all()
        assert (told.reached_high <= every.max(axis=0)).all()


@pytest.mark.parametrize("criterion", BOTH)
def test_example_1_forces_everybody(criterion):
    told = worlds_of(system(R1, criterion))
    assert told.certain.all()
    assert told.certain_class.tolist() == [0, 0, 1, 1]
    assert told.enumeration.posterior.values[1].tolist() == [1, 0]
    assert told.enumeration.split_bits.low == pytest.approx(1.0)


@pytest.mark.parametrize("criterion", BOTH)
@pytest.mark.parametrize("tiers", [{}, {"tiers": ONLY_PROOFS}])
def test_example_1_is_forced_with_or_without_listing_worlds(criterion, tiers):
    assert worlds_of(system(R1, criterion), **tiers).certain.all()


def test_without_split_rows_half_of_example_1_is_open():
    told = worlds_of(system(R2))
    assert told.certain.tolist() == [True, False, False, True]
    assert told.enumeration.posterior.values[1:3].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert told.enumeration.split_bits.high == 0


@pytest.mark.parametrize("criterion", BOTH)
@pytest.mark.parametrize("strict", [False, True])
def test_labels_alone_force_one_person_of_example_1(criterion, strict):
    told = worlds_of(system(R3, criterion), strict_ties=strict)
    assert (told.enumeration.numbers.worlds, told.enumeration.numbers.data_sets) == (7, 14)
    assert told.certain_class.tolist() == [-1, -1, 1, -1]
    assert (told.low[0, 0], told.high[0, 0]) == (1, 2)
    wanted = [float(x) for x in (Fraction(5, 7), Fraction(5, 14), 0, Fraction(2, 7))]
    assert told.enumeration.posterior.values[:, 0].tolist() == pytest.approx(wanted)


@pytest.mark.parametrize("criterion", BOTH)
@pytest.mark.parametrize("tiers", [{}, {"tiers": ONLY_PROOFS}])
def test_the_tie_rule_decides_whether_any_table_is_left(criterion, tiers):
    either = worlds_of(system(R4, criterion), **tiers)
    assert either.consistency is not Consistency.INCONSISTENT
    told = worlds_of(in_order(system(R4, criterion), "a0101", "own"), strict_ties=True, **tiers)
    assert told.consistency is Consistency.INCONSISTENT
    assert told.conflict


@pytest.mark.parametrize("criterion", BOTH)
def test_a_tie_with_a_later_attribute_or_in_an_unknown_order_may_be(criterion):
    later = in_order(system(R4, criterion), "own", "a0101")
    for made in (later, system(R4, criterion)):
        told = worlds_of(made, strict_ties=True)
        assert told.consistency is not Consistency.INCONSISTENT
        assert told.enumeration.numbers.worlds == 2


@pytest.mark.parametrize("criterion", BOTH)
def test_rows_that_no_table_obeys_are_named(criterion):
    rows = [(0, "0110"), (0, "0101"), (0, "0123")]
    told = worlds_of(system({**R4, "candidates": rows}, criterion))
    assert told.consistency is Consistency.INCONSISTENT
    assert all("node 0 would have split on a0" in said for said in told.conflict)
    assert 0 < len(told.conflict) <= len(rows)
    assert told.enumeration.numbers.worlds == 0


POSTERIORS = [
    (
        "R6",
        R6,
        "gini",
        {
            0: (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)),
            1: (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)),
        },
    ),
    (
        "R6",
        R6,
        "entropy",
        {2: (Fraction(1, 4), Fraction(3, 4), 0), 3: (Fraction(1, 4), Fraction(3, 4), 0)},
    ),
    (
        "R7",
        R7,
        "gini",
        {0: (Fraction(4, 5),), 1: (Fraction(11, 15),), 2: (Fraction(4, 15),), 3: (Fraction(1, 5),)},
    ),
    (
        "R8",
        R8,
        "entropy",
        {0: (Fraction(2, 3),), 2: (Fraction(2, 3),), 3: (Fraction(1, 3),), 5: (Fraction(1, 3),)},
    ),
    (
        "R9",
        R9,
        "gini",
        {0: (Fraction(11, 15),), 1: (Fraction(4, 5),), 2: (Fraction(1, 5),), 3: (Fraction(4, 15),)},
    ),
    (
        "R9 totals",
        {**R9, "totals": (3, 3)},
        "gini",
        {0: (Fraction(2, 3),), 1: (Fraction(7, 9),), 2: (Fraction(2, 9),), 3: (Fraction(1, 3),)},
    ),
    (
        "R10",
        R10,
        "gini",
        {2: (0,), 3: (Fraction(1, 2),), 4: (Fraction(1, 2),), 5: (Fraction(1, 2),)},
    ),
    ("R10", R10, "entropy", {2: (0,), 3: (Fraction(1, 2),), 4: (0,), 5: (1,)}),
    ("R11", R11, "gini", {0: (0,), 1: (1,), 2: (1,), 3: (0,)}),
    (
        "R12",
        R12,
        "gini",
        {
            0: (Fraction(18, 23), Fraction(2, 23), Fraction(3, 23)),
            1: (Fraction(14, 23), Fraction(4, 23), Fraction(5, 23)),
        },
    ),
    (
        "R12",
        R12,
        "entropy",
        {
            0: (Fraction(20, 27), Fraction(4, 27), Fraction(1, 9)),
            1: (Fraction(17, 27), Fraction(4, 27), Fraction(2, 9)),
        },
    ),
    (
        "R13",
        R13,
        "gini",
        {
            0: (Fraction(8, 11), Fraction(4, 33), Fraction(5, 33)),
            1: (Fraction(7, 11), Fraction(2, 11), Fraction(2, 11)),
        },
    ),
    (
        "R14",
        R14,
        "gini",
        {0: (Fraction(3, 4),), 1: (Fraction(5, 8),), 2: (Fraction(3, 8),), 3: (Fraction(1, 4),)},
    ),
]


@pytest.mark.parametrize(
    ("spec", "criterion", "wanted"),
    [pytest.param(*rest, id=f"{name} {rest[1]}") for name, *rest in POSTERIORS],
)
def test_posteriors_are_the_fractions_of_the_reference(spec, criterion, wanted):
    values = worlds_of(system(spec, criterion)).enumeration.posterior.values
    for profile, shares in wanted.items():
        for klass, share in enumerate(shares):
            assert values[profile, klass] == pytest.approx(float(share))


@pytest.mark.parametrize("criterion", BOTH)
def test_ranges_of_three_classes_are_those_of_the_reference(criterion):
    told = worlds_of(system(R6, criterion))
    assert told.high[0].tolist() == [2, 1, 1]
    assert (told.low[2:, 1].tolist(), told.high[2:, 1].tolist()) == ([1, 1], [2, 2])


def test_two_nodes_together_force_what_neither_forces_alone():
    assert worlds_of(system(R11)).certain.all()
    for alone in R11["candidates"]:
        told = worlds_of(system({**R11, "candidates": [alone]}))
        assert not told.certain[:4].any()


def test_the_solver_also_finds_what_takes_two_nodes():
    told = worlds_of(system(R11), tiers=ONLY_PROOFS)
    assert told.certain.all()
    assert "node" in told.reasons[0]
