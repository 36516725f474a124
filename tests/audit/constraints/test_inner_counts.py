"""What inner nodes publish counts too: withholding it in the leaves alone hides nothing that subtraction gives back."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.cases import multiway_tree, random_table
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge, understated
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tree.tree import Criterion

KNOWN = Knowledge(split="none")


def case(hide, *, seed=3, classes=3, knowledge=KNOWN):
    """An ID3 tree whose leaves' class numbers are hidden where ``hide`` says so; inner nodes keep theirs."""
    table = random_table(seed, classes=classes, records=40)
    tree = multiway_tree(table, Criterion.ENTROPY)
    people = build_population(tree, table, sensitive="class")
    totals = np.zeros((len(tree.nodes), classes))
    np.add.at(totals, people.leaf, people.truth)
    for node in reversed(tree.nodes):
        if node.parent is not None:
            totals[node.parent] += totals[node.index]
    nodes = tuple(
        replace(
            node,
            records=float(totals[node.index].sum()),
            class_counts=None if hide(node) else tuple(map(float, totals[node.index])),
            class_shares=None,
        )
        for node in tree.nodes
    )
    tree = replace(tree, nodes=nodes)
    return Case(tree, people, members(tree, people.leaf), knowledge)


def rows_of(found):
    return [r for r in build_system(found).rows if r.origin.constraint == "inner_counts"]


def test_counts_of_inner_nodes_say_nothing_new_where_the_leaves_tell_all():
    assert rows_of(case(lambda node: False)) == []


def test_a_single_hidden_leaf_is_given_back_by_subtraction():
    full = case(lambda node: False)
    last = full.tree.leaves[-1].index
    hidden = case(lambda node: node.index == last)
    open_values, _ = estimate(build_system(full))
    values, report = estimate(build_system(hidden))
    assert report.status in ("optimal", "closed form")
    np.testing.assert_allclose(values.values, open_values.values, atol=1e-5)


def test_where_all_leaves_are_hidden_the_inner_counts_hold_in_sum():
    found = case(lambda node: node.is_leaf)
    assert rows_of(found)
    values, _ = estimate(build_system(found), AuditOptions(jobs=1))
    mass = values.values * found.population.counts[:, None]
    for node in found.tree.nodes:
        if node.children:
            inside = found.members.profiles_at(node.index)
            np.testing.assert_allclose(mass[inside].sum(axis=0), node.class_counts, atol=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_whole_records_use_them_too(seed):
    open_worlds = reason(build_system(case(lambda node: False, seed=seed, classes=2)))
    leaf = case(lambda node: False, seed=seed, classes=2).tree.leaves[0].index
    hidden = case(lambda node: node.index == leaf, seed=seed, classes=2)
    worlds = reason(build_system(hidden))
    assert (worlds.low == open_worlds.low).all()
    assert (worlds.high == open_worlds.high).all()


def test_a_level_below_what_inner_nodes_publish_is_said():
    found = case(lambda node: node.is_leaf)
    said = understated(Knowledge(leaf="labels", split="none"), found.tree)
    assert "class numbers of its inner nodes" in said


def test_inner_counts_that_are_not_true_of_the_table_are_dropped_and_said():
    found = case(lambda node: node.is_leaf)
    low = max(node.index for node in found.tree.nodes if node.children)
    wrong = tuple(np.roll(found.tree.nodes[low].class_counts, 1))
    nodes = list(found.tree.nodes)
    nodes[low] = replace(nodes[low], class_counts=wrong)
    tree = replace(found.tree, nodes=tuple(nodes))
    system = build_system(replace(found, tree=tree))
    assert {dropped.constraint for dropped in system.dropped} == {"inner_counts"}
    assert all(dropped.is_published for dropped in system.dropped)
