"""Trees that do not say how many people are in each leaf, in cases that are solved by hand, and against all tables."""

from dataclasses import replace

import numpy as np
import pytest

from tests.audit.partial.features import of_categories, of_numbers
from tests.kit.tiers import seeds
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import LeafLevel, SplitLevel
from treewarden.audit.partial.attributes.attribute_inference import infer_attribute
from treewarden.audit.partial.secret_values import secret_of
from treewarden.audit.partial.target_inference import infer_target
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.partial.unmodelled_knowledge import (
    NO_SIZES,
    SIZES_NOT_USED,
    SIZES_UNKNOWN,
    SPLITS_NOT_USED,
)
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Quality, Tree

NO_SPLITS = Knowledge(split=SplitLevel.NONE)


def with_shares(tree, population):
    """Return a tree that says of its leaves only which share of their people has each class, or which class leads."""
    held = np.zeros((len(tree.nodes), len(tree.classes)))
    np.add.at(held, population.leaf, population.truth)
    total = held.sum(axis=1, keepdims=True)
    shares = np.divide(held, total, out=np.full_like(held, 1 / held.shape[1]), where=total > 0)
    nodes = tuple(
        replace(
            node,
            records=None,
            class_counts=None,
            score=None,
            class_shares=tuple(share) if node.is_leaf else None,
        )
        for node, share in zip(tree.nodes, shares.tolist(), strict=True)
    )
    return replace(tree, nodes=nodes, quality=Quality.NORMALISED)


def of_two_leaves():
    """Eight people of two colours: the six red ones are well, of the two blue ones one is ill."""
    tree = Tree(
        (
            Node(0, "0", None, (1, 2)),
            Node(1, "1", 0, test=CategoryTest("colour", ("red",))),
            Node(2, "2", 0, test=CategoryTest("colour", ("red",), negated=True)),
        ),
        (
            Feature("colour", numeric=False, values=("red", "blue")),
            Feature("sex", numeric=False, values=("F", "M")),
        ),
        "ill",
        ("no", "yes"),
    )
    table = table_of(
        {
            "colour": [*["red"] * 6, "blue", "blue"],
            "sex": ["F", "M"] * 4,
            "ill": [*["no"] * 7, "yes"],
        }
    )
    population = build_population(tree, table, sensitive="ill")
    return with_shares(tree, population), population


def by_class(tree, population, known, knowledge=NO_SPLITS):
    return infer_target(TreeContext(tree, population, knowledge), known, clock(5.0))


def test_leaves_are_as_likely_as_hidden_values_are_common_however_mixed_their_classes_are():
    tree, population = of_two_leaves()
    found = by_class(tree, population, ["sex"])
    # Three of four are red: 3/4 + 1/4 * 1/2.
    assert found.posterior.values == pytest.approx(np.array([[7 / 8, 1 / 8]] * 2))
    assert found.said == (SIZES_UNKNOWN,)
    assert not found.worlds.certain.any()


def crossed(women=("red", "blue", "blue")):
    """Ten people, two of three of the women blue, one of the seven men: so leaves are larger than colours tell."""
    tree, _ = of_two_leaves()
    colour = CategoryTest("colour", ("red",))
    sex = CategoryTest("sex", ("F",))
    nodes = (
        Node(0, "0", None, (1, 2)),
        Node(1, "1", 0, (3, 4), test=sex),
        Node(2, "2", 0, test=replace(sex, negated=True)),
        Node(3, "3", 1, test=colour),
        Node(4, "4", 1, test=replace(colour, negated=True)),
    )
    table = table_of(
        {
            "colour": [*women, *["red"] * 6, "blue"],
            "sex": ["F"] * 3 + ["M"] * 7,
            "ill": ["no", "yes", "yes", *["no"] * 6, "yes"],
        }
    )
    bare = replace(tree, nodes=nodes)
    population = build_population(bare, table, sensitive="ill")
    return with_shares(bare, population), population


def test_the_estimate_spans_what_the_sizes_would_add():
    tree, population = crossed()
    found = by_class(tree, population, ["sex"])
    women = [found.population.columns["sex"].text(row) for row in range(2)].index("F")
    # Seven of ten are red; with the sizes, one of the three women is well.
    assert found.posterior.values[women] == pytest.approx([7 / 10, 3 / 10])
    assert found.posterior.low[women] == pytest.approx([1 / 3, 3 / 10])
    assert found.posterior.high[women] == pytest.approx([7 / 10, 2 / 3])


def test_sizes_that_would_prove_more_leave_it_open():
    tree, population = two_ways()
    known = ["x"]
    sized = by_class(with_sizes(tree, population), population, known)
    found = by_class(tree, population, known)
    assert sized.worlds.certain.tolist() == [False, True]
    assert found.worlds.certain.tolist() == [False, False]
    assert found.worlds.open_profiles.tolist() == [False, True]
    assert found.worlds.not_decided == (SIZES_NOT_USED,)


def two_ways():
    """Four people: only the sizes say that who has b is not where the hidden column is r."""
    hidden, x = CategoryTest("h", ("l",)), CategoryTest("x", ("a",))
    nodes = (
        Node(0, "0", None, (1, 2)),
        Node(1, "1", 0, (3, 4), test=hidden),
        Node(2, "2", 0, test=replace(hidden, negated=True)),
        Node(3, "3", 1, test=x),
        Node(4, "4", 1, test=replace(x, negated=True)),
    )
    tree = Tree(
        nodes,
        (
            Feature("x", numeric=False, values=("a", "b")),
            Feature("h", numeric=False, values=("l", "r")),
        ),
        "class",
        ("0", "1"),
    )
    columns = {"x": ["a", "a", "a", "b"], "h": ["l", "l", "r", "l"], "class": ["0", "1", "0", "1"]}
    population = build_population(tree, table_of(columns), sensitive="class")
    return with_shares(tree, population), population


def with_sizes(tree, population):
    """Return a tree that says of every node how many people pass it."""
    sizes = np.bincount(population.leaf, population.counts, len(tree.nodes))
    for node in reversed(tree.nodes[1:]):
        sizes[node.parent] += sizes[node.index]
    nodes = (
        replace(node, records=size) for node, size in zip(tree.nodes, sizes.tolist(), strict=True)
    )
    return replace(tree, nodes=tuple(nodes), quality=Quality.EXACT)


@pytest.mark.parametrize("seed", seeds(30, quick=6))
def test_nothing_is_proved_without_sizes_that_is_not_with_them_and_all_that_every_leaf_says_is(
    seed,
):
    tree, population = of_numbers(seed, 20) if seed % 2 else of_categories(seed, 20)
    bare = with_shares(tree, population)
    tree = with_sizes(bare, population)
    for count in range(len(population.qi)):
        known = population.qi[:count]
        sized, found = (by_class(each, population, known) for each in (tree, bare))
        assert_within(found, sized)


def assert_within(found, sized):
    """Hold what is made of a tree without sizes against what is with them."""
    if isinstance(sized, Undetermined):
        assert found == sized
        return
    assert (sized.worlds.certain >= found.worlds.certain).all()
    assert (sized.worlds.excluded >= found.worlds.excluded).all()
    either = found.worlds.certain | found.worlds.open_profiles
    assert (either == sized.worlds.certain).all()
    either = found.worlds.excluded | found.worlds.open_exclusions
    assert (either == sized.worlds.excluded).all()
    for inner in (found.posterior.values, sized.posterior.low, sized.posterior.high):
        assert (found.posterior.low <= inner).all()
        assert (inner <= found.posterior.high).all()
    assert found.posterior.values.sum(axis=1) == pytest.approx(1)


def test_labels_alone_leave_every_class_as_likely():
    tree, population = of_two_leaves()
    labels = NO_SPLITS.model_copy(update={"leaf": LeafLevel.LABELS})
    found = by_class(tree, population, ["sex"], labels)
    assert found.posterior.values == pytest.approx(np.full((2, 2), 0.5))
    assert not found.worlds.certain.any()


def test_what_says_something_of_the_sizes_is_not_left_out_unsaid():
    tree, population = of_two_leaves()
    root = replace(tree.nodes[0], class_shares=(7 / 8, 1 / 8))
    assert by_class(replace(tree, nodes=(root, *tree.nodes[1:])), population, []) is NO_SIZES
    totals = NO_SPLITS.model_copy(update={"marginal": True})
    assert by_class(tree, population, [], totals) is NO_SIZES


def test_choices_of_splits_say_more_where_sizes_are_unknown():
    tree, population = of_two_leaves()
    found = by_class(tree, population, [], Knowledge(split=SplitLevel.GINI))
    assert found.doubts == (SPLITS_NOT_USED,)
    assert isinstance(found.posterior, Undetermined)


def of_colour(tree, population, *, knows_target=False, knowledge=NO_SPLITS):
    secret = secret_of(population, "colour", None, "known.toml")
    return infer_attribute(
        TreeContext(tree, population, knowledge),
        secret,
        ["sex"],
        knows_target=knows_target,
        until=clock(5.0),
    )


def test_paths_alone_say_nothing_of_a_secret_column_and_the_estimate_spans_what_sizes_would_add():
    tree, population = crossed()
    found = of_colour(tree, population)
    women = [found.population.columns["sex"].text(row) for row in range(2)].index("F")
    blue = secret_of(population, "colour", None, "known.toml").values.index("blue")
    # Three of ten are blue; with the sizes, two of the three women are.
    assert found.posterior.values[:, blue] == pytest.approx(0.3)
    assert found.posterior.low[women, blue] == pytest.approx(0.3)
    assert found.posterior.high[women, blue] == pytest.approx(2 / 3)
    assert found.said == (SIZES_UNKNOWN,)
    assert SIZES_NOT_USED in found.worlds.not_decided
    assert not found.worlds.certain.any()
    assert not found.worlds.low.any()


def test_who_does_not_know_that_a_leaf_is_empty_is_certain_of_nothing_and_nothing_is_passed():
    tree, population = crossed(["blue"] * 3)
    found = of_colour(tree, population)
    assert not found.worlds.certain.any()
    women = [found.population.columns["sex"].text(row) for row in range(2)].index("F")
    blue = secret_of(population, "colour", None, "known.toml").values.index("blue")
    # The true table has three blue women: it may be the only one for whoever knows that each leaf has somebody.
    assert found.worlds.reached_low[women, blue] == found.worlds.high[women, blue] == 3
    assert found.posterior.high[women, blue] == pytest.approx(1)


def test_secret_columns_of_trees_without_sizes_are_not_told_of_where_more_is_known():
    tree, population = crossed()
    assert of_colour(tree, population, knowledge=Knowledge(marginal=True)) is NO_SIZES
    compared = of_colour(tree, population, knowledge=Knowledge(split=SplitLevel.GINI))
    assert SPLITS_NOT_USED in compared.doubts
    assert isinstance(compared.posterior, Undetermined)


def test_a_value_that_is_given_away_leads_on_by_itself_however_common_it_is():
    rows = [("g0", "a", "k1", "no", 4), ("g1", "a", "k1", "yes", 36)]
    rows += [("g0", "b", "k2", "no", 6), ("g1", "b", "k2", "no", 50), ("g1", "a", "k2", "yes", 4)]
    columns = {
        name: [row[at] for row in rows for _ in range(row[-1])]
        for at, name in enumerate(("G", "H", "K", "ill"))
    }
    nodes = (
        Node(0, "0", None, (1, 2)),
        Node(1, "1", 0, test=CategoryTest("G", ("g0",))),
        Node(2, "2", 0, (3, 4), test=CategoryTest("G", ("g1",))),
        Node(3, "3", 2, test=CategoryTest("H", ("a",))),
        Node(4, "4", 2, test=CategoryTest("H", ("b",))),
    )
    features = tuple(
        Feature(name, numeric=False, values=tuple(sorted(set(columns[name])))) for name in "GHK"
    )
    tree = Tree(nodes, features, "ill", ("no", "yes"))
    population = build_population(tree, table_of(columns), sensitive="ill")
    tree = with_shares(tree, population)
    seen = infer_target(TreeContext(tree, population, NO_SPLITS), ["K"], clock(5.0))
    # Nine in ten are g1, and of k1 it is known that they are "a", as 44 of 100 are.
    assert seen.posterior.values == pytest.approx(np.array([[0.1, 0.9], [0.604, 0.396]]))


def test_a_secret_value_that_no_leaf_leaves_is_believed_of_nobody():
    rows = [("0", "a", 1), ("0", "b", 1), ("1", "a", 8), ("1", "c", 10)]
    columns = {
        name: [row[at] for row in rows for _ in range(row[-1])] for at, name in enumerate("xs")
    }
    nodes = (
        Node(0, "0", None, (1, 4)),
        Node(1, "1", 0, (2, 3), test=CategoryTest("x", ("0",))),
        Node(2, "2", 1, test=CategoryTest("s", ("a",))),
        Node(3, "3", 1, test=CategoryTest("s", ("b",))),
        Node(4, "4", 0, test=CategoryTest("x", ("1",))),
    )
    features = (Feature("x", False, ("0", "1")), Feature("s", False, ("a", "b", "c")))
    tree = Tree(nodes, features, "ill", ("no", "yes"))
    table = table_of({**columns, "ill": ["no", "yes"] * 10})
    population = build_population(tree, table, sensitive="ill")
    secret = secret_of(population, "s", None, "known.toml")
    seen = infer_attribute(
        TreeContext(with_shares(tree, population), population, NO_SPLITS),
        secret,
        ["x"],
        knows_target=False,
        until=clock(5.0),
    )
    # "a" is nine times as common as "b".
    assert seen.posterior.values[0] == pytest.approx([0.9, 0.1, 0.0])
    assert seen.posterior.values[1] == pytest.approx([0.45, 0.05, 0.5])


def test_who_knows_everybodys_class_weighs_leaves_by_how_many_of_them_have_it():
    tree, population = crossed()
    found = of_colour(tree, population, knows_target=True)
    values = secret_of(population, "colour", None, "known.toml").values
    share = np.array([0.3, 0.7])[:: 1 if values[0] == "blue" else -1]
    leaves = {each.index: each.class_shares for each in tree.nodes if each.is_leaf}
    for row in range(len(found.population.counts)):
        sex, ill = (found.population.columns[name].text(row) for name in ("sex", "ill"))
        colours = CategoricalColumn(np.arange(2), values)
        sexes = CategoricalColumn(np.zeros(2, dtype=int), (sex,))
        stops = route(tree, {"colour": colours, "sex": sexes})
        likely = np.array([leaves[stop][tree.classes.index(ill)] for stop in stops.tolist()])
        believed = share * likely / (share @ likely)
        assert found.posterior.values[row] == pytest.approx(believed)
    assert found.said == (SIZES_UNKNOWN,)


def test_who_knows_everybodys_class_excludes_leaves_that_have_nobody_of_it():
    tree, population = of_two_leaves()
    found = of_colour(tree, population, knows_target=True)
    ill = [found.population.columns["ill"].text(row) == "yes" for row in range(3)]
    blue = secret_of(population, "colour", None, "known.toml").values.index("blue")
    # Only the leaf of blue people has somebody who is ill.
    assert found.worlds.certain.tolist() == ill
    assert found.posterior.low[ill, blue] == pytest.approx(1)
    assert found.worlds.low[:, blue].tolist() == [int(each) for each in ill]
