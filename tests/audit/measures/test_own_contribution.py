"""What one person's own record adds: leaves worked out by hand, and records taken out of tables one by one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.cases import multiway_case
from tests.kit.forests import by_sex, forest
from tests.kit.small_audits import (
    NO_TRUTH,
    audit_model,
    deep_tree,
    evidence_of,
    flat_tree,
    only_world,
    people_of,
    read,
)
from treewarden.audit.entropy.posterior import certain
from treewarden.audit.evidence import NOT_RUN
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import call, measures
from treewarden.audit.measures._leaf_people import NO_LEAVES
from treewarden.audit.population.population import Population
from treewarden.audit.population.table_counts import RowWeights, Weights
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.run import run
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.column import CategoricalColumn

AT_LEAVES = Knowledge(leaf="counts", split="none")
TWO = ("no", "yes")


def anything(population):
    """Return worlds in which nothing is proved and everything was found."""
    only = only_world(population)
    none, all_ = np.zeros_like(only.low), only.low * 0 + only.counts[:, None]
    return replace(only, low=none, high=all_, reached_low=none, reached_high=all_, reasons={})


def contribution(tree, population=None, posterior=None, worlds=None, knowledge=AT_LEAVES):
    population = people_of(tree) if population is None else population
    worlds = anything(population) if worlds is None else worlds
    evidence = evidence_of(tree, population, posterior, worlds=worlds)
    return read("own_contribution", replace(evidence, knowledge=knowledge))


def share(taken):
    assert taken.reading.low == pytest.approx(taken.reading.high)
    return taken.reading.high


def by_brute_force(tree, population):
    """Return the most that a record adds, each taken out of the table, by exact fractions."""
    records = [
        (int(stop), klass)
        for stop, row in zip(population.leaf, population.truth, strict=True)
        for klass, count in enumerate(row)
        for _ in range(int(count))
    ]
    passed = {stop: [node.index for node in tree.path(stop)] for stop, _ in records}
    most = Fraction(0)
    for person, (stop, klass) in enumerate(records):
        there = [c for s, c in records if s == stop]
        sure = Fraction(there.count(klass), len(there))
        others = [each for number, each in enumerate(records) if number != person]
        told = [c for s, c in others if s == stop]
        above = list(passed[stop])
        while not told and above:
            node = above.pop()
            told = [c for s, c in others if node in passed[s]]
        without = Fraction(told.count(klass), len(told)) if told else Fraction(1, len(tree.classes))
        most = max(most, sure - without)
    return most


def test_of_205_women_who_all_said_no_none_adds_anything():
    tree = flat_tree([[205, 0], [60, 60]], classes=TWO)
    taken = contribution(tree)
    assert [spot.low for spot in taken.spots if spot.index == 0] == [0]
    assert share(taken) == pytest.approx(60 / 120 - 59 / 119)


def test_a_leaf_of_one_falls_back_to_its_parent_less_that_record():
    tree = deep_tree([[[1, 0], [2, 7]], [50, 40]], TWO)
    taken = contribution(tree)
    assert share(taken) == pytest.approx(1 - 2 / 9)
    assert (
        "probability is 100 %; without such a person's record in the training table it would be 22.2 %"
        in taken.spots[0].note
    )


def test_a_leaf_of_one_below_a_node_of_one_falls_back_further():
    tree = deep_tree([[[1, 0], [0, 0]], [6, 2]], TWO)
    assert share(contribution(tree)) == pytest.approx(1 - 6 / 8)


def test_a_share_that_may_yet_be_proved_is_not_passed_over():
    tree = flat_tree([[3, 37], [20, 20]])
    alike = CategoricalColumn(np.array([0, 1, 2]), ("few", "many", "others"))
    truth = np.array([[3.0, 1], [0, 36], [20, 20]])
    people = Population(("kind",), {"kind": alike}, truth.sum(axis=1), np.array([1, 1, 2]), truth)
    worlds = anything(people)
    reached = worlds.reached_low.copy()
    reached[0, 0] = 3
    open_ = contribution(tree, people, worlds=replace(worlds, reached_low=reached)).reading
    low = worlds.low.copy()
    low[0, 0] = 3
    proved = contribution(tree, people, worlds=replace(worlds, low=low, reached_low=reached))
    assert share(proved) == pytest.approx(3 / 4 - 2 / 39)
    assert open_.low < 0.1
    assert open_.high == pytest.approx(3 / 4 - 2 / 39)


def test_one_person_alone_in_the_table_adds_all_but_a_guess():
    assert share(contribution(flat_tree([[1, 0, 0], [0, 0, 0]]))) == pytest.approx(2 / 3)


def test_in_a_leaf_of_two_that_differ_each_adds_one_half():
    assert share(contribution(flat_tree([[1, 1], [30, 30]]))) == pytest.approx(1 / 2)


@pytest.mark.parametrize("records", [2, 5, 10, 300])
def test_an_exception_among_n_adds_one_nth(records):
    assert share(contribution(flat_tree([[records - 1, 1], [9, 9]]))) == pytest.approx(
        max(1 / records, 1 / 18 * 9 / 17)
    )


@given(
    st.integers(2, 3).flatmap(
        lambda m: st.lists(
            st.lists(st.integers(0, 4), min_size=m, max_size=m).filter(any), min_size=4, max_size=4
        )
    )
)
def test_it_is_what_taking_each_record_out_shows(leaves):
    a, b, c, d = leaves
    tree = deep_tree([[a, [b, c]], d], tuple(f"c{k}" for k in range(len(a))))
    people = people_of(tree)
    assert share(contribution(tree, people)) == pytest.approx(float(by_brute_force(tree, people)))


@pytest.mark.parametrize("seed", range(6))
def test_an_audit_at_leaf_level_reads_what_taking_each_record_out_shows(seed):
    case = multiway_case(seed, AT_LEAVES, records=14)
    audit = run(case.tree, case.population, case.knowledge)
    taken = audit.full.readings[call("own_contribution")]
    assert share(taken) == pytest.approx(float(by_brute_force(case.tree, case.population)))


@given(st.integers(0, 60), st.integers(1, 60))
def test_by_counts_alone_nobody_in_a_leaf_of_several_adds_more_than_one_nth(many, few):
    reading = contribution(flat_tree([[many, few], [40, 40]])).reading
    assert many + few == 1 or reading.high <= 1 / min(many + few, 80) + 1e-9


def two_alike():
    """Return a leaf of 6, no and yes mixed, of which one profile is one woman who said yes, and their tree."""
    tree = flat_tree([[4, 2], [20, 20]], classes=TWO)
    place = CategoricalColumn(np.array([0, 0, 1]), ("p0", "p1"))
    age = CategoricalColumn(np.array([0, 1, 0]), ("young", "old"))
    truth = np.array([[0.0, 1], [4, 1], [20, 20]])
    people = Population(
        ("place", "age"),
        {"place": place, "age": age},
        truth.sum(axis=1),
        np.array([1, 1, 2]),
        truth,
    )
    return tree, people


def test_what_split_choices_tell_of_a_profile_is_its_own():
    tree, people = two_alike()
    known = certain(np.array([[0.1, 0.9], [0.78, 0.22], [0.5, 0.5]]))
    assert share(contribution(tree, people, known)) == pytest.approx(0.9 - 1 / 5)


def test_who_is_certain_is_known_in_full_with_the_record():
    tree, people = two_alike()
    proved = anything(people)
    low, high = proved.low.copy(), proved.high.copy()
    low[0, 1], high[0, 0] = 1, 0
    proved = replace(proved, low=low, high=high, reached_low=low, reached_high=high)
    assert share(contribution(tree, people, worlds=proved)) == pytest.approx(1 - 1 / 5)


def test_who_may_be_certain_is_so_at_the_high_end():
    tree, people = two_alike()
    open_ = anything(people)
    reached = open_.reached_low.copy()
    reached[0, 1] = 1
    reading = contribution(tree, people, worlds=replace(open_, reached_low=reached)).reading
    assert reading.high == pytest.approx(1 - 1 / 5)
    assert reading.low == pytest.approx(2 / 6 - 1 / 5)


def unlabelled(tree, **changes):
    return replace(tree, nodes=tuple(replace(node, **changes) for node in tree.nodes))


@pytest.mark.parametrize("leaf", ["labels", "rates", "as-published"])
def test_withholding_counts_never_lowers_what_the_counts_give(leaf):
    full = flat_tree([[1, 0, 0], [5, 4, 1], [6, 6, 6]])
    bare = unlabelled(full, class_counts=None)
    people = people_of(full)
    told = share(contribution(full, people))
    reading = contribution(bare, people, knowledge=Knowledge(leaf=leaf, split="none"))
    assert share(reading) >= told


def test_under_labels_what_is_inferred_is_held_against_what_labels_tell():
    tree = unlabelled(flat_tree([[9, 1], [20, 20]]), class_counts=None)
    people = people_of(flat_tree([[9, 1], [20, 20]]))
    labels = Knowledge(leaf="labels", split="none")
    known = certain(np.array([[0.8, 0.2], [0.5, 0.5]]))
    assert share(contribution(tree, people, known, knowledge=labels)) == pytest.approx(0.8 - 0.5)


def test_under_rates_the_misses_are_shared_by_the_other_classes():
    tree, rates = flat_tree([[6, 2, 2]]), Knowledge(leaf="rates", split="none")
    known = certain(np.array([[0.6, 0.35, 0.05]]))
    # Nine others: six of the label, and three misses over two classes.
    assert share(contribution(tree, posterior=known, knowledge=rates)) == pytest.approx(
        0.35 - (9 - 6) / 2 / 9
    )


def test_a_band_that_the_count_leaves_is_followed_by_the_one_below():
    full = flat_tree([[16, 10], [20, 20]])
    bands = ((15.0, 19.0), (10.0, 14.0))
    nodes = (
        replace(full.nodes[0], class_counts=None),
        replace(full.nodes[1], class_counts=None, bands=bands),
        full.nodes[2],
    )
    known = certain(np.array([[0.55, 0.45], [0.5, 0.5]]))
    published = Knowledge(split="none")
    taken = contribution(replace(full, nodes=nodes), people_of(full), known, knowledge=published)
    # Of 25 the second class has 5 to 9 then, and the first 15 to 19: as even as they can be.
    assert share(taken) == pytest.approx(0.45 - 9 / 25)


def test_a_leaf_that_one_person_leaves_empty_tells_no_more_than_its_ancestor_or_a_guess():
    full = deep_tree([[[1, 0], [7, 2]], [50, 40]], TWO)
    bare, labels = unlabelled(full, class_counts=None), Knowledge(leaf="labels", split="none")
    # Of the nine others of the node above 7 / 9 say no, which is more than a guess.
    known = certain(np.array([[0.9, 0.1], [0.5, 0.5], [0.5, 0.5]]))
    assert share(contribution(bare, people_of(full), known, knowledge=labels)) == pytest.approx(
        0.9 - 1 / 2
    )


def test_a_count_that_is_told_beside_a_band_is_what_one_record_less_is_told_of():
    full = flat_tree([[6, 3, 3], [20, 20, 20]])
    told = replace(full.nodes[1], class_counts=(6.0, None, None), bands=((0.0, 12.0), None, None))
    bare = replace(full.nodes[0], class_counts=None)
    tree = replace(full, nodes=(bare, told, full.nodes[2]))
    known = certain(np.array([[0.6, 0.2, 0.2], [1 / 3] * 3]))
    knowledge = Knowledge(split="none")
    taken = contribution(tree, people_of(full), known, knowledge=knowledge)
    # Without one of the six there are five among eleven; the band alone would let there be a third.
    assert share(taken) == pytest.approx(0.6 - 5 / 11)


def test_frequencies_are_people():
    tree = flat_tree([[3, 1], [8, 8]])
    people = replace(people_of(tree), rows=RowWeights(Weights.FREQUENCIES))
    assert share(contribution(tree, people)) == pytest.approx(1 / 4)


def test_under_sampling_weights_the_ends_are_of_people_and_of_weights():
    tree, people = two_alike()
    weighed = replace(people, weight=np.array([5.0, 1.0, 1.0]), rows=RowWeights(Weights.SAMPLING))
    tree = unlabelled(tree, class_counts=None, records=None)
    known = certain(np.array([[0.5, 0.5], [0.8, 0.2], [0.5, 0.5]]))
    taken = contribution(tree, weighed, known, knowledge=AT_LEAVES)
    # Of the leaf's weight of 10 hers is 5: with her (5 + 1) / 10, without her 1 / 5; of people 2 / 6 and 1 / 5.
    hers = next(spot for spot in taken.spots if spot.index == 0)
    assert (hers.low, hers.high) == pytest.approx((0.5 - 1 / 5, 6 / 10 - 1 / 5))
    evidence = evidence_of(tree, weighed, known, worlds=anything(weighed))
    measure = measures()["own_contribution"]
    parameters = {name: each.default for name, each in measure.parameters.items()}
    ends = measure.per_place(replace(evidence, knowledge=AT_LEAVES), parameters)
    assert (ends.low[0], ends.high[0]) == pytest.approx((hers.low, hers.high))


def test_under_sampling_weights_labels_alone_leave_it_open():
    tree, people = two_alike()
    weighed = replace(people, weight=np.array([5.0, 1.0, 1.0]), rows=RowWeights(Weights.SAMPLING))
    labels = Knowledge(leaf="labels", split="none")
    known = certain(np.full((3, 2), 0.5))
    reading = contribution(tree, weighed, known, knowledge=labels).reading
    assert isinstance(reading, Undetermined)
    assert "class counts of every leaf" in reading.reason


def test_without_the_truth_or_worlds_it_says_why_not():
    tree = flat_tree([[3, 1], [8, 8]])
    blind = replace(people_of(tree), truth=NO_TRUTH)
    known = certain(np.array([[0.75, 0.25], [0.5, 0.5]]))
    found = anything(people_of(tree))
    assert contribution(tree, blind, known, found).reading == NO_TRUTH
    assert contribution(tree, worlds=NOT_RUN).reading == NOT_RUN


def test_where_some_people_stop_in_no_one_leaf_it_says_why_not():
    tree = flat_tree([[3, 1], [8, 8]])
    known, found = certain(np.full((2, 2), 0.5)), anything(people_of(tree))
    lost = replace(people_of(tree), leaf=np.array([1, -1]))
    assert contribution(tree, lost, known, found).reading == NO_LEAVES


def test_of_several_trees_it_says_why_not():
    many = forest(by_sex("no", "yes"), by_sex("yes", "no"))
    table = table_of(
        {"sex": ["F", "F", "M", "M"], "age": [20, 30, 40, 50], "answer": ["no", "yes", "yes", "no"]}
    )
    taken = audit_model(many, table, "flu").full.readings[call("own_contribution")]
    assert isinstance(taken.reading, Undetermined)


def test_the_worst_stand_first():
    taken = contribution(flat_tree([[3, 1], [1, 1], [8, 8]]))
    assert [spot.index for spot in taken.spots] == [1, 0, 2]
    assert taken.reading == Interval(0.5, 0.5)
