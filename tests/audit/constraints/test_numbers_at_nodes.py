"""Labels and impurities printed at nodes: what is proved by them is true of every table that obeys them."""

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.numbers_at_nodes import all_tables, mixed, random_case
from tests.kit.small_audits import flat_tree, people_of
from tests.kit.tiers import cases, seeds
from treewarden.audit.consistent_tables.engine import reason_in_doubt
from treewarden.audit.entropy.posterior import certain
from treewarden.audit.evidence import Evidence
from treewarden.audit.exposures import disagreements
from treewarden.audit.facts.node_impurities import (
    allowed_as_label,
    allowed_counts,
    node_impurities,
    unused_kinds,
)
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge, understated
from treewarden.audit.measures import measures
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.target import members
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tree.nodes import Impurity, fits, impurity_of, printed
from treewarden.ppdm_models.tree.tree import Criterion, Quality

KINDS = {"labels": (2, 0.0), "impurities": (2, 0.6), "three classes": (3, 0.6)}
CASES = [(kind, seed) for kind in KINDS for seed in range(120)]
FEW = [case for case in CASES if case[1] < 24]


def case_of(kind, seed):
    classes, impurities = KINDS[kind]
    return random_case(seed, classes=classes, impurities=impurities)


@pytest.mark.parametrize(("kind", "seed"), cases(CASES, quick=FEW))
def test_what_is_proved_holds_in_every_table_that_obeys_the_nodes(kind, seed):
    case = case_of(kind, seed)
    system, tables = build_system(case), all_tables(case)
    assert system.dropped == ()
    worlds = reason_in_doubt(system)
    assert (worlds.low <= tables.min(axis=0)).all()
    assert (worlds.high >= tables.max(axis=0)).all()


@pytest.mark.parametrize("seed", seeds(120, quick=24))
def test_with_two_classes_and_labels_everybody_who_is_forced_is_counted(seed):
    case = case_of("labels", seed)
    tables, counts = all_tables(case), case.population.counts
    forced = (tables.min(axis=0) == counts[:, None]).any(axis=1)
    reading = certain_disclosure(case)
    assert reading.low <= counts[forced].sum() <= reading.high


@pytest.mark.parametrize("seed", seeds(120, quick=24))
def test_with_two_classes_whoever_an_impurity_forces_is_counted(seed):
    case = case_of("impurities", seed)
    tables, counts = all_tables(case), case.population.counts
    forced = (tables.min(axis=0) == counts[:, None]).any(axis=1)
    reading = certain_disclosure(case)
    assert reading.low <= counts[forced].sum() <= reading.high


def certain_disclosure(case):
    truth = case.population.truth
    guess = certain(truth / truth.sum(axis=1, keepdims=True))
    worlds = reason_in_doubt(build_system(case))
    evidence = Evidence(
        forest_of(case.tree, case.population), case.population, case.knowledge, guess, guess, worlds
    )
    return measures()["certain_disclosure"].read(evidence, {}).reading


@pytest.mark.parametrize("criterion", [Criterion.GINI, Criterion.ENTROPY])
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_a_count_that_some_whole_counts_have_is_never_excluded(criterion, classes):
    draw = np.random.default_rng(classes)
    for _ in range(300):
        counts = draw.multinomial(draw.integers(1, 40), draw.dirichlet(np.ones(classes)))
        value = float(mixed(criterion, counts[None].astype(float))[0])
        said = printed(criterion, round(value, 2), 2)
        assert fits(counts.tolist(), said)
        allowed = allowed_counts(int(counts.sum()), classes, said)
        assert allowed[counts].all()
        assert allowed_as_label(int(counts.sum()), classes, said, 0)[counts.max()]


def test_an_impurity_of_nothing_but_one_class_and_a_label_prove_everybody():
    tree = flat_tree([[5, 0], [3, 4]])
    nodes = [replace(node, class_counts=None) for node in tree.nodes]
    nodes[1] = replace(nodes[1], impurity=printed(Criterion.GINI, 0.0, 3))
    bare = replace(tree, nodes=tuple(nodes))
    worlds = run(bare, people_of(tree), Knowledge(split="none"), ()).full.evidence.worlds
    assert worlds.certain.tolist() == [True, False]


def test_with_two_classes_a_label_and_an_impurity_tell_the_counts():
    tree = flat_tree([[7, 3], [3, 4]])
    said = printed(Criterion.GINI, round(impurity_of(Criterion.GINI, (7, 3)), 3), 3)
    nodes = [replace(node, class_counts=None) for node in tree.nodes]
    nodes[1] = replace(nodes[1], impurity=said)
    system = audited(replace(tree, nodes=tuple(nodes)), tree)
    (leaf,) = [r for r in system.rows if r.origin.constraint == "node_impurity" and r.low == r.high]
    assert (leaf.node, leaf.klass, leaf.low) == (1, 0, 7)


def audited(tree, told, **knowledge):

    people = people_of(told)
    known = Knowledge(split="none", **knowledge)
    return build_system(Case(tree, people, members(tree, people.leaf), known))


def bare_of(tree, **changes):
    return replace(tree, nodes=tuple(replace(n, class_counts=None, **changes) for n in tree.nodes))


def rows_of(system, constraint):
    return [row for row in system.rows if row.origin.constraint == constraint]


def test_a_label_of_an_inner_node_says_nothing_new_where_every_child_has_it():
    tree = flat_tree([[7, 3], [5, 4]])
    assert rows_of(audited(bare_of(tree), tree), "inner_label") == []


def test_a_label_of_an_inner_node_says_something_where_a_child_has_another():
    tree = flat_tree([[7, 3, 0], [1, 4, 0], [2, 1, 1]])
    assert len(rows_of(audited(bare_of(tree), tree), "inner_label")) == 2


def test_counts_of_the_leaves_imply_the_labels_above():
    tree = flat_tree([[7, 3], [1, 4]])
    assert rows_of(audited(tree, tree), "inner_label") == []


def test_a_label_that_is_no_plurality_is_dropped_and_is_no_word_of_the_file():
    tree = flat_tree([[7, 3], [1, 4]])
    wrong = replace(
        bare_of(tree), nodes=(replace(bare_of(tree).root, score="c1"), *bare_of(tree).nodes[1:])
    )
    (dropped,) = audited(wrong, tree).dropped
    assert (dropped.constraint, dropped.is_published) == ("inner_label", False)


def test_an_impurity_that_the_table_does_not_have_is_a_contradiction():
    tree = flat_tree([[7, 3], [1, 4]])
    wrong = bare_of(tree, impurity=Impurity(Criterion.GINI, 0.0, 0.001))
    found = disagreements(run(wrong, people_of(tree), Knowledge(split="none"), ()).full.evidence)
    assert [each.constraint for each in found] == ["node_impurity"] * 3


@pytest.mark.parametrize("level", ["labels", "rates", "counts"])
def test_who_knows_less_than_is_published_does_not_read_nodes(level):
    tree = flat_tree([[7, 3], [1, 4]])
    bare = bare_of(tree, impurity=Impurity(Criterion.GINI, 0.0, 0.5))
    system = audited(bare, tree, leaf=level)
    assert rows_of(system, "inner_label") + rows_of(system, "node_impurity") == []


def test_what_a_level_leaves_out_is_said():
    bare = bare_of(flat_tree([[7, 3], [1, 4]]), impurity=Impurity(Criterion.GINI, 0.0, 0.5))
    said = understated(Knowledge(leaf="labels"), bare)
    assert said == "labels of its inner nodes and impurities of its nodes"
    assert understated(Knowledge(), bare) == ""


def test_a_table_without_a_truth_is_judged_by_the_same_rows():
    case = random_case(5, impurities=0.9)
    unknown = replace(case, population=replace(case.population, truth=Undetermined("no column")))
    assert len(build_system(unknown).rows) == len(build_system(case).rows)


@pytest.mark.parametrize("quality", [Quality.WEIGHTED, Quality.INCONSISTENT])
def test_impurities_of_weights_are_not_read_and_that_is_said(quality):
    case = random_case(5, impurities=0.9)
    weighed = replace(case, tree=replace(case.tree, quality=quality))
    assert list(node_impurities(weighed)) == []
    assert unused_kinds(weighed) == ("the impurities of its nodes, which are of weights",)


def test_kinds_of_numbers_that_no_row_uses_are_a_warning():
    tree = flat_tree([[7, 3], [1, 4]])
    told = replace(tree, unused=("the test statistics of its splits",))
    for level in ("as-published", "labels"):
        known = Knowledge(leaf=level, split="none")
        warnings = run(told, people_of(tree), known, ()).warnings
        assert any("the test statistics of its splits" in warning for warning in warnings)


def test_numbers_that_no_row_uses_leave_open_who_is_certain():
    case = case_of("labels", 3)
    plain = certain_disclosure(case)
    told = replace(case, tree=replace(case.tree, unused=("the test statistics of its splits",)))
    reading = certain_disclosure(told)
    assert plain.high < reading.high
    assert reading.low == plain.low


def test_without_a_label_an_impurity_is_used_only_in_part():
    tree = flat_tree([[7, 3], [1, 4]])
    nodes = [replace(node, class_counts=None, score=None) for node in tree.nodes]
    nodes[1] = replace(nodes[1], impurity=printed(Criterion.GINI, 0.42, 3))
    bare = replace(tree, nodes=tuple(nodes))
    warnings = run(bare, people_of(tree), Knowledge(split="none"), ()).warnings
    assert any("more than the ends of what an impurity" in warning for warning in warnings)
