"""Forests whose leaves count people: what their counts prove together."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tests.kit.forests import FEATURES, by_sex, forest, stump
from tests.kit.small_audits import audit_model, read
from tests.kit.tiers import few
from treewarden.audit.joint.draws import LabelTies
from treewarden.audit.joint.leaf_facts import counted_sums
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Interval, Undetermined
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import TreeSampling
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import CLASS_WEIGHT, Node, Quality, Tree

AGES, SEX = [20, 20, 60, 60], list("FMFM")


def split_by_sex(female, male):
    """Return a tree on ``sex`` whose leaves hold these counts of no and yes."""
    leaves = [
        Node(i, str(i), 0, (), CategoryTest("sex", (sex,)), "no", float(sum(counts)), counts)
        for i, (sex, counts) in enumerate((("F", female), ("M", male)), 1)
    ]
    total = tuple(float(a + b) for a, b in zip(female, male, strict=True))
    root = Node(0, "0", None, (1, 2), records=sum(total), class_counts=total)
    return Tree((root, *leaves), FEATURES, "flu", ("no", "yes"), quality=Quality.EXACT)


def split_by_age(young, old):
    """Return a tree on ``age`` whose leaves hold these counts of no and yes."""
    tree = stump(40.0, "no", "no", counts=(2.0, 2.0))
    nodes = list(tree.nodes)
    for at, counts in ((1, young), (2, old)):
        nodes[at] = Node(at, str(at), 0, (), nodes[at].test, "no", 2.0, counts)
    return Tree(tuple(nodes), FEATURES, "flu", ("no", "yes"), quality=Quality.EXACT)


def audited(flu, *trees):
    table = table_of({"age": AGES, "sex": SEX, "flu": flu})
    model = forest(*trees)
    return audit_model(model, table, "flu", options=AuditOptions(worlds_budget=5.0)).full.evidence


def by_person(evidence, values):
    columns = evidence.population.columns
    return {
        (columns["age"].text(row), columns["sex"].text(row)): values[row]
        for row in range(len(evidence.population.counts))
    }


def test_counts_that_leave_everything_open_leave_a_half_each():
    flu = ["yes", "no", "no", "yes"]
    evidence = audited(flu, split_by_age((1, 1), (1, 1)), split_by_sex((1, 1), (1, 1)))
    assert evidence.posterior.values == pytest.approx(0.5, abs=1e-6)
    assert not evidence.worlds.certain.any()
    assert not evidence.worlds.open_profiles.any()


def test_two_trees_prove_what_neither_does_alone():
    flu = ["yes", "no", "no", "no"]
    evidence = audited(flu, split_by_age((1, 1), (2, 0)), split_by_sex((1, 1), (2, 0)))
    assert evidence.worlds.certain.all()
    said = by_person(evidence, evidence.worlds.certain_class)
    assert said == {("20", "F"): 1, ("20", "M"): 0, ("60", "F"): 0, ("60", "M"): 0}
    assert evidence.together.recovered_share == 1.0
    assert by_person(evidence, evidence.together.by_leaf)["20", "F"] == np.False_


def test_labels_of_several_trees_are_believed_as_those_of_one_are():
    flu = ["yes", "no", "no", "no"]
    evidence = audited(flu, split_by_age((1, 1), (2, 0)), split_by_sex((1, 1), (2, 0)))
    assert not isinstance(evidence.together, Undetermined)
    taken = read("label_disclosure", evidence)
    assert taken.reading == Interval(1, 1)
    assert [spot.low for spot in taken.spots] == [1, 1, 0.5, 0.5]


def test_a_withheld_count_is_bounded_by_the_rest():
    flu = ["yes", "no", "no", "no"]
    evidence = audited(flu, split_by_age((None, None), (2, 0)), split_by_sex((1, 1), (2, 0)))
    assert evidence.together.recovered_share == 0.75
    assert evidence.worlds.certain.all()


def sums_of_labels(tree):
    table = table_of({"age": AGES, "sex": SEX, "flu": ["yes", "no", "no", "no"]})
    model = forest(tree)
    people = build_population(model, table, sensitive="flu")
    return counted_sums(forest_of(model, people), people)


def test_labels_alone_are_no_counts():
    found = sums_of_labels(by_sex("yes", "no"))
    assert isinstance(found, Undetermined)
    assert "class counts of leaves" in found.reason


def test_a_label_that_does_not_lead_bounds_nothing_and_leaves_all_open():
    found = sums_of_labels(stump(40.0, "no", "yes", counts=(2.0, 2.0)))
    assert (found.low.tolist(), found.high.tolist()) == ([0, 0], [1, 2])
    assert not found.is_complete
    assert "need not be the most frequent class" in found.missing


@pytest.mark.parametrize(("above", "is_complete"), [((2.0, 2.0), False), (None, True)])
def test_counts_above_withheld_ones_may_tell_more_than_is_used(above, is_complete):
    table = table_of({"age": AGES, "sex": SEX, "flu": ["yes", "no", "no", "yes"]})
    tree = split_by_sex((1, 1), (1, 1))
    root, first, second = tree.nodes
    hidden = replace(first, class_counts=(None, None))
    model = forest(replace(tree, nodes=(replace(root, class_counts=above), hidden, second)))
    people = build_population(model, table, sensitive="flu")
    found = counted_sums(forest_of(model, people), people)
    assert (found.low < found.high).any()
    assert not found.is_complete  # it is not known how ties are broken
    found = counted_sums(forest_of(model, people), people, LabelTies.EITHER)
    assert found.is_complete is is_complete


ANY_TREES = (split_by_age((2, 2), (2, 2)), split_by_sex((2, 2), (2, 2)))
PEOPLE = [(age, sex) for age in (20, 60) for sex in "FM" for _ in range(2)]


def uncounted(tree, flu, *, shares):
    """Return a tree over two leaves with the shares or the label of each, as trees on all records have them."""
    nodes = [replace(tree.nodes[0], score=None, records=None, class_counts=None)]
    for node in tree.nodes[1:]:
        is_here = [_holds(node.test, age, sex) for age, sex in PEOPLE]
        yes = [one for one, here in zip(flu, is_here, strict=True) if here].count("yes")
        size = sum(is_here)
        said = (1 - yes / size, yes / size) if shares else None
        label = "yes" if 2 * yes > size else "no"
        nodes.append(replace(node, score=label, records=None, class_counts=None, class_shares=said))
    quality = Quality.NORMALISED if shares else Quality.ABSENT
    return replace(tree, nodes=tuple(nodes), quality=quality)


def _holds(test, age, sex):
    if isinstance(test, CategoryTest):
        return sex in test.values
    return test.low < age < test.high or age in (test.low, test.high)


def whole(trees):
    """Return a forest whose trees saw every record, and draw the label of a leaf whose classes are tied."""
    drawing = [replace(one, learner=replace(one.learner, draws_tied_labels=True)) for one in trees]
    return with_ties_unknown(drawing)


def with_ties_unknown(trees):
    return replace(forest(*trees), sampling=TreeSampling(False))


def both_trees(flu, *, shares):
    return [uncounted(tree, flu, shares=shares) for tree in ANY_TREES]


def counts_in_leaves(flu, tree):
    """Return how many people of each of the two leaves have the flu."""
    return [
        sum(one == "yes" and _holds(node.test, *who) for one, who in zip(flu, PEOPLE, strict=True))
        for node in tree.nodes[1:]
    ]


@pytest.mark.in_both
@pytest.mark.parametrize("shares", [True, False])
def test_shares_and_labels_of_trees_on_all_records_prove_what_every_table_says(shares):
    """Every table of eight people that may give the same shares, or the same labels, by brute force."""
    tables = list(itertools.product(("no", "yes"), repeat=8))
    counts = {
        flu: np.array([counts_in_leaves(flu, tree) for tree in ANY_TREES]).ravel() for flu in tables
    }
    for flu in few(tables[1:-1:9], quick=10):
        if shares:
            fits = [other for other in tables if (counts[other] == counts[flu]).all()]
        else:
            says_yes = counts[flu] > 2
            fits = [
                other
                for other in tables
                if (np.where(says_yes, counts[other], 4 - counts[other]) >= 2).all()
            ]
        table = table_of({"age": [a for a, _ in PEOPLE], "sex": [s for _, s in PEOPLE], "flu": flu})
        model = whole(both_trees(flu, shares=shares))
        options = AuditOptions(worlds_budget=5.0)
        evidence = audit_model(model, table, "flu", options=options).full.evidence
        assert not evidence.worlds.open_profiles.any()
        certain = {PEOPLE[at] for at in range(len(PEOPLE)) if len({one[at] for one in fits}) == 1}
        found = by_person(evidence, evidence.worlds.certain)
        assert {
            (int(age), sex) for (age, sex), is_certain in found.items() if is_certain
        } == certain


def test_shares_say_nothing_of_people_where_they_may_be_of_a_sample_of_weights_or_of_noise():
    flu = ["yes", "no", "no", "no"] * 2
    trees = both_trees(flu, shares=True)
    table = table_of({"age": [a for a, _ in PEOPLE], "sex": [s for _, s in PEOPLE], "flu": flu})
    model = whole(trees)
    people = build_population(model, table, sensitive="flu")
    assert not isinstance(counted_sums(forest_of(model, people), people), Undetermined)
    weighed = replace(trees[0].learner, unmodelled=(CLASS_WEIGHT,))
    for changed in (
        replace(model, sampling=TreeSampling(None)),
        whole([replace(trees[0], label_reason="priors"), trees[1]]),
        whole([replace(trees[0], learner=weighed), trees[1]]),
        whole([replace(trees[0], quality=Quality.WEIGHTED), trees[1]]),
        whole([replace(trees[0], unused=("statistics",)), trees[1]]),
        whole([with_shares(trees[0], (0.6, 0.4)), trees[1]]),
    ):
        found = counted_sums(forest_of(changed, people), people)
        assert isinstance(found, Undetermined)


def with_shares(tree, shares):
    return replace(tree, nodes=(*tree.nodes[:-1], replace(tree.nodes[-1], class_shares=shares)))


def test_labels_of_tied_classes_say_more_where_it_is_not_known_how_they_are_chosen():
    flu = ["yes", "no", "no", "no"] * 2
    table = table_of({"age": [a for a, _ in PEOPLE], "sex": [s for _, s in PEOPLE], "flu": flu})
    model = with_ties_unknown(both_trees(flu, shares=False))
    people = build_population(model, table, sensitive="flu")
    found = counted_sums(forest_of(model, people), people)
    assert not found.is_complete
    assert "equally frequent" in found.missing


def test_labels_at_splits_say_more_than_the_leaves_do():
    flu = ["yes", "no", "no", "no"] * 2
    trees = both_trees(flu, shares=False)
    root = replace(trees[0].nodes[0], score="no")
    model = whole([replace(trees[0], nodes=(root, *trees[0].nodes[1:])), trees[1]])
    table = table_of({"age": [a for a, _ in PEOPLE], "sex": [s for _, s in PEOPLE], "flu": flu})
    people = build_population(model, table, sensitive="flu")
    found = counted_sums(forest_of(model, people), people)
    assert not found.is_complete
    assert "inner nodes" in found.missing
