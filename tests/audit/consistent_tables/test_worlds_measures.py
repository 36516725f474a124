"""Measures of exact worlds: what is proved stands at the low end, what is not decided at the high end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.worlds_by_hand import system_of, worlds_of
from tests.kit.cases import multiway_case
from tests.kit.small_audits import evidence_of, read
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.evidence import Evidence
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import EvidenceSource, MeasureCall, measures
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.target import members
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.run import run
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.learn.growers import grow_id3
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Criterion

ABOUT_WORLDS = [name for name, measure in measures().items() if measure.is_of_worlds]
WORLDS_ALONE = [
    name for name in ABOUT_WORLDS if EvidenceSource.ESTIMATE not in measures()[name].reads
]
EXAMPLE = {
    "counts": [2, 1, 1, 2],
    "shape": [[0], [1, 2], [3]],
    "leaves": [(2, 0), (1, 1), (0, 2)],
}


def evidence(candidates=((0, "1010"),), **options):
    system = system_of(**EXAMPLE, candidates=list(candidates))
    told = worlds_of(system, **options)
    nothing = Undetermined("not estimated")
    tree, people = system.case.tree, system.case.population
    return Evidence(forest_of(tree, people), people, Knowledge(), nothing, nothing, told)


def test_every_record_of_example_1_is_certain_and_the_reason_is_said():
    taken = read("certain_disclosure", evidence())
    assert taken.reading == Interval(6, 6)
    assert any("would have split" in spot.note or "table" in spot.note for spot in taken.spots)


def test_without_split_rows_only_pure_leaves_are_certain():
    assert read("certain_disclosure", evidence(())).reading == Interval(4, 4)


def test_what_is_not_decided_stands_at_the_high_end():
    taken = read("certain_disclosure", evidence(budget_seconds=0))
    assert taken.reading == Interval(4, 6)
    assert any("neither proved nor refuted" in spot.note for spot in taken.spots)


def test_with_two_classes_an_excluded_value_is_a_certain_one():
    for candidates in ((), ((0, "1010"),)):
        told = evidence(candidates)
        assert read("excluded_values", told).reading == read("certain_disclosure", told).reading


def test_bounds_and_posteriors_of_example_1():
    assert read("world_bounds", evidence()).reading == Interval(1, 1)
    assert read("exact_posterior", evidence()).reading == Interval(1, 1)
    assert read("split_bits", evidence()).reading == Interval(1, 1)
    assert read("split_bits", evidence(())).reading == Interval(0, 0)


@pytest.mark.parametrize("name", ABOUT_WORLDS)
def test_without_worlds_the_reason_is_passed_on(name):
    tree = system_of(**EXAMPLE, candidates=[]).case
    lost = Undetermined("weighted records")
    nothing = replace(evidence(), worlds=lost)
    assert read(name, nothing).reading == lost
    assert tree.tree.classes


@pytest.mark.parametrize("name", WORLDS_ALONE)
@pytest.mark.parametrize("seed", range(3))
def test_readings_are_intervals_and_spots_stand_riskiest_first(name, seed):
    case = multiway_case(seed, Knowledge(leaf="counts", split="gini"), records=12)
    nothing = Undetermined("not estimated")
    told = Evidence(
        forest_of(case.tree, case.population),
        case.population,
        case.knowledge,
        nothing,
        nothing,
        reason(build_system(case)),
    )
    taken = read(name, told)
    assert isinstance(taken.reading, Interval)
    ends = [-spot.high for spot in taken.spots]
    assert ends == sorted(ends)


def test_an_audit_runs_worlds_unless_told_not_to():
    case = multiway_case(1, Knowledge(leaf="counts", split="gini"), records=12)
    call = MeasureCall("certain_disclosure")
    told = run(case.tree, case.population, case.knowledge, [call])
    assert isinstance(told.full.readings[call].reading, Interval)
    without = run(case.tree, case.population, case.knowledge, [call], AuditOptions(worlds=False))
    assert without.full.readings[call].reading == Undetermined(
        "the search for proved values was switched off"
    )


def test_a_tree_that_no_table_grows_is_an_input_error_that_names_a_row():
    names = {"x0": "aabb", "x1": "abab"}
    columns = {
        name: CategoricalColumn(codes=np.array([ord(v) - 97 for v in text]), categories=("a", "b"))
        for name, text in names.items()
    }
    # x0 parts the classes; a tree that claims x1 was the better split was altered.
    masses = np.array([[3.0, 0.0], [3.0, 0.0], [0.0, 3.0], [0.0, 3.0]])
    tree = grow_id3(columns, masses, ("no", "yes"), criterion=Criterion.GINI)
    flipped = [
        replace(node, class_counts=(4.0, 2.0) if node.index == 1 else (2.0, 4.0), score="no")
        if node.parent == 0
        else node
        for node in tree.nodes
    ]
    altered = replace(tree, nodes=tuple(flipped))
    case = multiway_case(1, Knowledge(leaf="counts", split="gini"))
    stops = np.array([1, 1, 2, 2])
    people = replace(
        case.population,
        qi=("x0", "x1"),
        columns=columns,
        counts=np.array([3.0, 3.0, 3.0, 3.0]),
        leaf=stops,
        truth=Undetermined("hidden"),
    )
    assert members(altered, stops).profiles_at(0).tolist() == [0, 1, 2, 3]
    known = Knowledge(leaf="as-published", split="gini")
    told = run(altered, people, known, [MeasureCall("certain_disclosure")])
    assert told.full.readings
    spoiled = replace(
        altered,
        features=altered.features[::-1],
        nodes=tuple(
            replace(node, class_counts=(3.0, 3.0)) if node.parent == 0 else node
            for node in altered.nodes
        ),
    )
    with pytest.raises(TableError, match="no table with these quasi-identifiers yields this tree"):
        run(
            spoiled,
            replace(people, counts=np.array([3.0, 3.0, 3.0, 3.0])),
            known,
            [MeasureCall("certain_disclosure")],
            AuditOptions(strict_ties=True),
        )


def test_evidence_without_worlds_says_that_they_were_not_run():
    case = multiway_case(1, Knowledge(split="gini"))
    told = evidence_of(case.tree, case.population)
    assert read("certain_disclosure", told).reading == Undetermined(
        "the search for proved values was switched off"
    )
