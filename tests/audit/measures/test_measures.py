"""Every measure keeps its contract: an answer or a reason, never a guess."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.rows import rows
from tests.kit.small_audits import (
    NO_TRUTH,
    bounds,
    evidence_of,
    flat_tree,
    only_world,
    people_of,
    read,
)
from treewarden.audit.entropy.posterior import certain
from treewarden.audit.evidence import NO_NUMBER, NOT_RUN
from treewarden.audit.measures import EvidenceSource, of_models
from treewarden.audit.reading import Interval, Undetermined
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Task

MEASURES = of_models()
TREE = flat_tree([[14, 6, 0], [3, 3, 4]])
WORLDS = [name for name, measure in MEASURES.items() if EvidenceSource.WORLDS in measure.reads]
TOTALS = {EvidenceSource.CONTRIBUTIONS, EvidenceSource.TRUTH}
NUMBERS = [
    name
    for name, measure in MEASURES.items()
    if EvidenceSource.NUMBERS in measure.reads or measure.reads >= TOTALS
]
MEMBERS = [name for name, measure in MEASURES.items() if EvidenceSource.MEMBERS in measure.reads]
CLAIMS = [name for name, measure in MEASURES.items() if measure.is_of_claim]
PLAIN = [name for name in MEASURES if name not in (*WORLDS, *NUMBERS, *MEMBERS, *CLAIMS)]
ESTIMATE = [name for name in PLAIN if EvidenceSource.ESTIMATE in MEASURES[name].reads]
NEEDS_TRUTH = [name for name in PLAIN if EvidenceSource.TRUTH in MEASURES[name].reads]
NO_TRUTH_NEEDED = [name for name in PLAIN if name not in NEEDS_TRUTH]
OF_PEOPLE = [name for name, measure in MEASURES.items() if not measure.is_of_file]


def nobody(tree):
    full = people_of(tree)
    columns = {name: column.take(np.array([], dtype=int)) for name, column in full.columns.items()}
    none = np.zeros(0)
    return replace(
        full, columns=columns, counts=none, leaf=none.astype(int), truth=np.zeros((0, 3))
    )


@rows("name", OF_PEOPLE)
def test_an_empty_table_is_undetermined(name):
    people = nobody(TREE)
    empty = certain(np.zeros((0, 3)))
    evidence = evidence_of(TREE, people, empty, empty)
    assert isinstance(read(name, evidence).reading, Undetermined)


@rows("name", PLAIN)
def test_a_measure_reads_an_interval_where_all_is_known(name):
    assert isinstance(read(name, evidence_of(TREE)).reading, Interval)


@rows("name", NEEDS_TRUTH)
def test_without_the_sensitive_column_a_measure_of_the_truth_says_why_not(name):
    people = replace(people_of(TREE), truth=NO_TRUTH)
    assert read(name, evidence_of(TREE, people)).reading == NO_TRUTH


@pytest.mark.parametrize("name", NO_TRUTH_NEEDED)
def test_measures_that_need_no_truth_work_without_it(name):
    people = replace(people_of(TREE), truth=NO_TRUTH)
    assert isinstance(read(name, evidence_of(TREE, people)).reading, Interval)


@rows("name", MEASURES)
def test_of_a_regression_tree_only_the_leaf_sizes_can_be_read(name):
    nodes = tuple(replace(node, score=1.5, class_counts=None) for node in TREE.nodes)
    tree = replace(TREE, nodes=nodes, classes=(), task=Task.REGRESSION)
    people = replace(people_of(TREE), truth=NO_TRUTH)
    no_estimate = Undetermined("the tree predicts a number")
    reading = read(name, evidence_of(tree, people, no_estimate, no_estimate)).reading
    known = MEASURES[name].reads <= {
        EvidenceSource.LEAVES,
        EvidenceSource.FILE,
        EvidenceSource.SHAPE,
        EvidenceSource.CONTRIBUTIONS,
    }
    assert isinstance(reading, Interval if known else Undetermined)


@pytest.mark.parametrize("name", ESTIMATE)
def test_a_profile_without_an_estimate_makes_the_reading_undetermined_and_is_counted(name):
    half = bounds([[0.5, 0.3, 0.2]] * 2, [[0.5, 0.3, 0.2]] * 2, decided=[True, False])
    reading = read(name, evidence_of(TREE, posterior=half)).reading
    assert isinstance(reading, Undetermined)
    assert "1 of 2 groups (10 of 30 records)" in reading.reason


@pytest.mark.parametrize("name", ESTIMATE)
def test_without_an_estimate_its_reason_is_passed_on(name):
    lost = Undetermined("the solver stalled")
    assert read(name, evidence_of(TREE, posterior=lost)).reading == lost


@rows("name", [name for name in MEASURES if name not in NUMBERS])
def test_spots_stand_riskiest_first_and_the_first_has_the_reading(name):
    taken = read(name, evidence_of(TREE))
    worst = [spot.low if MEASURES[name].risk == "low" else -spot.high for spot in taken.spots]
    assert worst == sorted(worst)
    is_sum = name == "records_rebuilt"  # people of all places are added up
    assert not worst or is_sum or worst[0] in (taken.reading.low, -taken.reading.high)


@rows("name", MEASURES)
def test_a_measure_says_what_it_is(name):
    measure = MEASURES[name]
    assert measure.plain
    assert measure.limits[0] < measure.limits[1]


@rows("name", [name for name in MEASURES if EvidenceSource.ESTIMATE not in MEASURES[name].reads])
def test_what_reads_no_estimate_does_not_change_with_it(name):
    lost = Undetermined("the solver stalled")
    blind = replace(evidence_of(TREE, worlds=only_world(people_of(TREE))), prior=lost)
    assert read(name, replace(blind, posterior=lost)) == read(name, blind)


@pytest.mark.parametrize("name", NUMBERS)
def test_what_reads_numbers_is_undetermined_of_a_model_of_classes(name):
    assert read(name, evidence_of(TREE)).reading == NO_NUMBER


@pytest.mark.parametrize("name", WORLDS)
def test_what_reads_worlds_is_undetermined_without_them(name):
    assert read(name, evidence_of(TREE)).reading == NOT_RUN


@rows("name", PLAIN)
def test_what_reads_no_worlds_does_not_change_with_them(name):
    evidence = evidence_of(TREE)
    seen = replace(evidence, worlds=only_world(evidence.population))
    assert read(name, seen) == read(name, evidence)


@rows("name", MEASURES)
def test_a_measure_reads_what_is_beside_the_trees_only_if_it_says_so(name):
    evidence = evidence_of(TREE, worlds=only_world(people_of(TREE)))
    leak = Leak(LeakKind.RAW_RECORDS, "a list of records", "records", 3.0)
    before, after = read(name, evidence), read(name, replace(evidence, leaks=(leak,)))
    assert before == after or EvidenceSource.FILE in MEASURES[name].reads


def test_leaves_without_records_are_left_out():
    tree = flat_tree([[14, 6], [0, 0], [7, 8]])
    assert read("k_anonymity", evidence_of(tree)).reading == Interval(15, 15)
    assert [spot.index for spot in read("distinct_diversity", evidence_of(tree)).spots] == [1, 3]


def test_records_spread_over_several_leaves_are_not_counted_anywhere():
    people = replace(people_of(TREE), leaf=np.array([1, -2]))
    assert isinstance(
        read("k_anonymity", evidence_of(TREE, people, certain(np.eye(3)[:2]))).reading, Undetermined
    )


def test_a_measure_says_whether_it_reads_what_is_proved_over_whole_records():
    assert MEASURES["certain_disclosure"].is_of_worlds
    assert not MEASURES["confidence"].is_of_worlds
