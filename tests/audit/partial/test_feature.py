"""What somebody learns of a column that the tree tests, held against every table that he must think possible."""

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.partial_cases import every_value, tree_and_people
from tests.kit.tiers import seeds
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import LeafLevel, SplitLevel
from treewarden.audit.partial.attributes.attribute_inference import infer_attribute
from treewarden.audit.partial.secret_values import secret_of
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.partial.unmodelled_knowledge import SPLITS_NOT_USED
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.predicate import Always, NumericTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Quality, Tree

NO_SPLITS = Knowledge(split=SplitLevel.NONE)


def asked(tree, population, name, known, *, knows_target, knowledge=NO_SPLITS, bins=None):
    secret = secret_of(population, name, bins, "known.toml")
    return infer_attribute(
        TreeContext(tree, population, knowledge),
        secret,
        known,
        knows_target=knows_target,
        until=clock(5.0),
    )


def one_split():
    """Return a tree that asks whether s is above 10: below are 3 of class 0 and 1 of class 1, above 2 of class 1."""
    nodes = (
        Node(0, "root", None, (1, 2), Always(), "0", 6.0, (3.0, 3.0)),
        Node(1, "low", 0, (), NumericTest("s", high=10.0, high_closed=True), "0", 4.0, (3.0, 1.0)),
        Node(2, "high", 0, (), NumericTest("s", low=10.0), "1", 2.0, (0.0, 2.0)),
    )
    tree = Tree(nodes, (Feature("s", numeric=True),), "y", ("0", "1"), quality=Quality.EXACT)
    table = table_of({"s": [5, 5, 6, 7, 12, 14], "y": ["0", "0", "0", "1", "1", "1"]})
    return tree, build_population(tree, table, sensitive="y")


def test_m9_by_hand_where_everybodys_class_is_known():
    tree, population = one_split()
    seen = asked(tree, population, "s", [], knows_target=True, bins=[10.5])
    assert seen.population.qi == ("y",)
    assert seen.population.counts.tolist() == [3, 3]
    assert seen.worlds.certain.tolist() == [True, False]
    assert seen.posterior.values == pytest.approx(np.array([[1, 0], [1 / 3, 2 / 3]]))
    assert seen.posterior.low == pytest.approx(seen.posterior.values)


def test_m9_by_hand_where_it_is_not():
    tree, population = one_split()
    seen = asked(tree, population, "s", [], knows_target=False, bins=[10.5])
    assert seen.population.counts.tolist() == [6]
    assert not seen.worlds.certain.any()
    assert seen.posterior.values == pytest.approx(np.array([[2 / 3, 1 / 3]]))
    assert seen.prior.values == pytest.approx(np.array([[4 / 6, 2 / 6]]))


def test_rates_of_two_classes_say_as_much_as_their_counts():
    tree, population = one_split()
    rates = Knowledge(split=SplitLevel.NONE, leaf=LeafLevel.RATES)
    told = {"knows_target": True, "bins": [10.5]}
    seen, same = (
        asked(tree, population, "s", [], knowledge=each, **told) for each in (NO_SPLITS, rates)
    )
    assert same.posterior.values == pytest.approx(seen.posterior.values)
    assert same.worlds.certain.tolist() == seen.worlds.certain.tolist() == [True, False]


def test_what_a_leaf_leaves_open_is_as_common_as_in_the_table_and_decides_nothing():
    tree, population = one_split()
    seen = asked(tree, population, "s", [], knows_target=True, bins=[6])
    # Below 10 two of four are under 6; above nobody is.
    assert seen.posterior.values[0] == pytest.approx([0.5, 0.5])
    assert seen.posterior.low[0] == pytest.approx([0, 0])
    assert seen.posterior.values[1] == pytest.approx([1 / 6, 5 / 6])
    assert seen.posterior.low[1] == pytest.approx([0, 2 / 3])


def test_of_a_column_that_the_tree_does_not_ask_about_only_its_share_is_known():
    tree, population = tree_and_people(np.random.default_rng(4), 6)
    other = np.array([0, 1, 0, 1])[np.arange(len(population.counts)) % 4]
    columns = {**population.columns, "z": CategoricalColumn(other, ("a", "b"))}
    people = replace(population, qi=(*population.qi, "z"), columns=columns)
    seen = asked(tree, people, "z", ["x0"], knows_target=False)
    share = np.bincount(other, people.counts) / people.records
    assert seen.posterior.values == pytest.approx(np.tile(share, (len(seen.population.counts), 1)))
    assert not seen.worlds.certain.any()
    assert not seen.worlds.excluded.any()
    assert "does not test z" in seen.said[0]


@pytest.mark.parametrize("knows_target", [True, False])
@pytest.mark.parametrize("seed", seeds(40, quick=8))
def test_certain_and_excluded_are_those_of_every_table(seed, knows_target):
    rng = np.random.default_rng(seed)
    tree, population = tree_and_people(rng, int(rng.integers(3, 6)))
    tested = [each.name for each in tree.used_features()]
    name = tested[seed % len(tested)] if tested else "x0"
    others = [each for each in population.qi if each != name]
    known = others if seed % 3 else []
    seen = asked(tree, population, name, known, knows_target=knows_target)
    tables = every_value(tree, population, known, name, knows_target=knows_target)
    counts = tables[0].sum(axis=1)
    assert seen.population.counts == pytest.approx(counts)
    assert (seen.worlds.certain == (tables.min(axis=0) == counts[:, None]).any(axis=1)).all()
    assert (seen.worlds.excluded == (tables.max(axis=0) == 0)).all()
    assert not seen.worlds.open_profiles.any()
    assert seen.posterior.values.sum(axis=1) == pytest.approx(1)
    assert (seen.posterior.low <= seen.posterior.values + 1e-12).all()


@pytest.mark.parametrize("seed", seeds(20, quick=4))
def test_who_knows_more_is_certain_of_no_fewer(seed):
    tree, population = tree_and_people(np.random.default_rng(100 + seed), 8)
    tested = [each.name for each in tree.used_features()]
    if not tested:
        pytest.skip("a tree of one leaf")
    name = tested[0]
    less = asked(tree, population, name, [], knows_target=True)
    more = asked(
        tree, population, name, [each for each in population.qi if each != name], knows_target=True
    )
    certain = [float(each.population.counts[each.worlds.certain].sum()) for each in (less, more)]
    assert certain[0] <= certain[1]


def test_labels_are_rows_over_where_people_of_each_class_can_be():
    tree, population = one_split()
    labels = NO_SPLITS.model_copy(update={"leaf": LeafLevel.LABELS})
    seen = asked(tree, population, "s", [], knows_target=True, bins=[10.5], knowledge=labels)
    # Three people of each class over places for four and two: two and one of each, and no label is broken by that.
    assert seen.posterior.values == pytest.approx(np.full((2, 2), [2 / 3, 1 / 3]))
    strict = labels.model_copy(update={"strict_labels": True})
    seen = asked(tree, population, "s", [], knows_target=True, bins=[10.5], knowledge=strict)
    # Below, 0 leads by one person, above 1: 2.5 to 1.5, and 0.5 to 1.5.
    assert seen.posterior.values == pytest.approx(
        np.array([[5 / 6, 1 / 6], [1 / 2, 1 / 2]]), abs=1e-5
    )
    # Of whole records only one can lead in a leaf of two by strictly more: all are of class 1.
    assert seen.worlds.certain.tolist() == [True, False]


def test_what_choices_of_splits_say_is_not_used_where_classes_are_not_counted():
    tree, population = one_split()
    gini = Knowledge(split=SplitLevel.GINI, leaf=LeafLevel.LABELS)
    seen = asked(tree, population, "s", [], knows_target=True, bins=[10.5], knowledge=gini)
    assert seen.doubts == (SPLITS_NOT_USED,)
    assert isinstance(seen.posterior, Undetermined)
    gini = Knowledge(split=SplitLevel.GINI)
    seen = asked(tree, population, "s", [], knows_target=True, bins=[10.5], knowledge=gini)
    assert seen.worlds.certain.tolist() == [True, False]


def test_where_splits_on_the_secret_were_compared_it_may_be_anything_that_a_leaf_leaves_open():
    tree, population = one_split()
    gini = Knowledge(split=SplitLevel.GINI)
    seen = asked(tree, population, "s", [], knows_target=True, bins=[6], knowledge=gini)
    assert seen.posterior.low[0] == pytest.approx([0, 0])
    assert seen.posterior.values[0] == pytest.approx([0.5, 0.5])
    assert seen.posterior.high[0] == pytest.approx([1, 1])
    assert seen.worlds.open_profiles.any()


@pytest.mark.parametrize(
    ("name", "bins", "problem"),
    [
        ("s", None, "11 different numbers"),
        ("s", [1000], "one value in this table"),
        ("s", [5], None),
        ("t", None, "one value in this table"),
        ("c", [3], "bins are for numbers"),
    ],
)
def test_a_secret_that_cannot_be_asked_is_refused(name, bins, problem):
    tree, population = one_split()
    size = len(population.counts)
    columns = {
        "s": replace(population.columns["s"], numbers=np.arange(size, dtype=float)),
        "t": CategoricalColumn(np.zeros(size, dtype=int), ("x",)),
        "c": CategoricalColumn(np.arange(size) % 2, ("x", "y")),
    }
    many = replace(
        population,
        columns={**columns, "s": type(columns["s"])(np.arange(11.0))},
        counts=np.ones(11),
    )
    people = many if name == "s" else replace(population, columns=columns)
    if problem is None:
        assert secret_of(people, name, bins, "known.toml").values == ("below 5", "5 or more")
        return
    with pytest.raises(KnowledgeError, match=problem):
        secret_of(people, name, bins, "known.toml")


def test_numbers_that_are_values_by_themselves_are_those_of_the_table():
    nodes = (
        Node(0, "root", None, (1, 2), Always(), "0", 4.0, (2.0, 2.0)),
        Node(1, "low", 0, (), NumericTest("s", high=2.0, high_closed=True), "0", 2.0, (2.0, 0.0)),
        Node(2, "high", 0, (), NumericTest("s", low=2.0), "1", 2.0, (0.0, 2.0)),
    )
    tree = Tree(nodes, (Feature("s", numeric=True),), "y", ("0", "1"), quality=Quality.EXACT)
    table = table_of({"s": [1, 1, 10, 10], "y": ["0", "0", "1", "1"]})
    population = build_population(tree, table, sensitive="y")
    seen = asked(tree, population, "s", [], knows_target=True)
    # 3 is nearer to 1, and lies above: but nobody has it, so who is above has 10.
    assert seen.worlds.certain.all()
    assert seen.posterior.values == pytest.approx(np.eye(2))


def test_parts_of_people_who_add_up_to_one_are_not_asked_of_whole_records():
    tree, population = one_split()
    halves = replace(population, counts=population.counts / 2, truth=population.truth / 2)
    seen = asked(tree, halves, "s", [], knows_target=False, bins=[10.5])
    assert isinstance(seen.worlds, Undetermined)
