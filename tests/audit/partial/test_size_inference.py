"""What node sizes prove of a tested column, held against every way to fill that column that gives the same sizes."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from tests.audit.partial.features import NUMBERS, of_categories, of_numbers
from tests.kit.places import DATA
from tests.kit.tiers import seeds
from treewarden.api.requests import model_input
from treewarden.audit.partial.attributes.forest_attribute_inference import (
    infer_attribute_from_sizes,
)
from treewarden.audit.partial.attributes.size_inference import (
    DRAWN,
    NO_SIZES,
    WEIGHED,
    SizeInference,
    claims_of,
    infer_from_sizes,
    published_sizes,
)
from treewarden.audit.partial.secret_values import secret_of
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.population.record_linkage import merged
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.read_table import read_table, table_of
from treewarden.ppdm_models.tables.routing import FEWEST_NODES, route
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.nodes import parents_of
from treewarden.ppdm_models.tree.tree import Quality

HIV = DATA / "forests" / "column-proved-by-a-leaf.pmml"


def values_of(tree, population, name):
    """Return every value that a column can have, as a column: each category or number, and none where one lacks."""
    column = population.columns[name]
    if isinstance(column, CategoricalColumn):
        lacks = bool((column.codes < 0).any())
        names = tuple(dict.fromkeys((*column.categories, *tree.feature(name).values)))
        return CategoricalColumn(np.arange(-1 if lacks else 0, len(names)), names)
    numbers = [-1.0, *NUMBERS, 4.0, *([np.nan] if np.isnan(column.numbers).any() else [])]
    return NumericColumn(np.array(numbers))


def nodes_on_the_way(tree, population, name):
    """Return whether each person passes each node with each value of a column: (people, values, nodes)."""
    values = values_of(tree, population, name)
    people = np.repeat(np.arange(len(population.counts)), population.counts.astype(int))
    size = len(values)
    rows = np.repeat(people, size)
    columns = {each: column.take(rows) for each, column in population.columns.items()}
    columns[name] = values.take(np.tile(np.arange(size), len(people)))
    stops, parents = route(tree, columns), parents_of(tree.nodes)
    passed = np.zeros((len(rows), len(tree.nodes)), dtype=bool)
    for row, stop in enumerate(stops.tolist()):
        while stop >= 0:
            passed[row, stop] = True
            stop = int(parents[stop])
    return people, passed.reshape(len(people), size, len(tree.nodes))


def fillings(passed, sizes):
    """Return every filling of the column that gives these sizes of nodes: (fillings, people), by place of value."""
    told = ~np.isnan(sizes)
    ways = np.array(list(product(range(passed.shape[1]), repeat=len(passed))))
    people = np.arange(len(passed))
    held = passed[people, ways].sum(axis=1)
    return ways[(held[:, told] == sizes[told]).all(axis=1)]


def small_case(kind, seed):
    if kind == "categories":
        return of_categories(seed, 7, features=3, values=2)
    return of_numbers(seed, 5, lacking=0.2 if kind == "gaps" else 0.0)


@pytest.mark.parametrize("kind", ["categories", "numbers", "gaps"])
@pytest.mark.parametrize("seed", seeds(40, quick=5))
def test_what_is_said_to_follow_holds_in_every_filling_and_what_one_node_proves_is_found(
    seed, kind
):
    tree, population = small_case(kind, seed)
    forest = forest_of(tree, population)
    sizes = published_sizes(tree)
    names = [each.name for each in tree.used_features()]
    found = infer_from_sizes(forest, population, names)
    assert not found.incomplete
    proofs = {each.column: each for each in found.proofs}
    for name in names:
        people, passed = nodes_on_the_way(tree, population, name)
        proved = np.zeros(len(people), dtype=bool)
        if name in proofs:
            proved = proofs[name].profiles[people]
            assert proofs[name].people == proved.sum()
        ways = fillings(passed, sizes)
        assert len(ways)
        for person in np.flatnonzero(proved):
            assert len(np.unique(ways[:, person])) < passed.shape[1]
        for node, size in enumerate(sizes):
            able, sure = passed[:, :, node].any(axis=1), passed[:, :, node].all(axis=1)
            if kind != "gaps" and size in (0, able.sum()):
                assert proved[able & ~sure].all()


@pytest.mark.parametrize("kind", ["categories", "numbers", "gaps"])
@pytest.mark.parametrize("seed", seeds(40, quick=5))
def test_what_sizes_leave_of_a_secret_holds_in_every_filling(seed, kind):
    tree, population = small_case(kind, seed)
    forest, sizes = forest_of(tree, population), published_sizes(tree)
    for name in [each.name for each in tree.used_features()]:
        if len(np.unique(population.columns[name].keys)) < 2:
            continue
        bins = [1.5] if kind == "numbers" and name != "colour" and seed % 2 else None
        more = tree.feature(name).values
        try:
            secret = secret_of(population, name, bins, "known.toml", more)
        except KnowledgeError:  # one bin holds everybody
            continue
        known = [each for each in population.qi if each != name]
        seen = infer_attribute_from_sizes(forest, population, secret, known)
        if seen is None:
            continue
        _, of = merged(population, known)
        people, passed = nodes_on_the_way(tree, population, name)
        places = secret.places(values_of(tree, population, name))
        for row, person in enumerate(people):
            held = np.unique(places[fillings(passed, sizes)[:, row]])
            is_left = seen.worlds.high[of[person]] > 0
            if kind == "categories" or bins:
                assert is_left[held].all()
            assert is_left[secret.of[person]]
        assert seen.worlds.left


def test_a_leaf_that_holds_all_who_are_over_70_proves_a_column_of_each():
    model = open_model(HIV.read_bytes(), HIV.name).model
    table = read_table(HIV.with_suffix(".csv"))
    population = build_population(model, table, sensitive="outcome")
    found = infer_from_sizes(forest_of(model, population), population, ["hiv", "sex"])
    (proof,) = found.proofs
    assert (proof.column, proof.people, proof.people_of_node) == ("hiv", 24, 24)
    over70 = population.columns["over70"].numbers == 1
    assert (proof.profiles == over70).all()
    assert not found.incomplete


def test_forests_of_draws_weights_and_trees_without_sizes_are_not_looked_at():
    tree, population = of_categories(3, 9)
    forest = forest_of(tree, population)
    names = [each.name for each in tree.used_features()]
    drawn = infer_from_sizes(replace(forest, draws=True), population, names)
    weighed = replace(population, weight=np.ones(len(population.counts)))
    bare = replace(tree, quality=Quality.ABSENT)
    assert drawn == SizeInference(incomplete=DRAWN)
    assert infer_from_sizes(forest, weighed, names) == SizeInference(incomplete=WEIGHED)
    assert infer_from_sizes(forest_of(bare, population), population, names).incomplete == NO_SIZES


def test_a_search_that_ends_at_its_limit_says_so():
    tree, population = of_categories(3, 9)
    names = [each.name for each in tree.used_features()]
    found = infer_from_sizes(forest_of(tree, population), population, names, most=1)
    assert found.incomplete == "the search reached its limit after 0 of 1 trees"


def test_inner_sizes_that_are_withheld_are_the_sums_of_their_leaves():
    tree, _ = of_categories(3, 9)
    bare = [
        replace(each, records=None, class_counts=None) if each.children else each
        for each in tree.nodes
    ]
    assert published_sizes(replace(tree, nodes=tuple(bare))).tolist() == (
        published_sizes(tree).tolist()
    )


@pytest.mark.parametrize("seed", range(12))
def test_trees_of_plain_splits_give_the_same_all_nodes_of_a_level_at_a_time(seed):
    rng = np.random.default_rng(seed)
    digits = seed % 2  # whole numbers, where ways can be void that are not among fractions
    numbers = (3 * rng.random((60 + 40 * seed, 4))).round(digits)
    label = (numbers.sum(axis=1) + rng.normal(size=len(numbers)) > 6).astype(int)
    people = pd.DataFrame(numbers, columns=["a", "b", "c", "d"])
    fitted = DecisionTreeClassifier(min_samples_leaf=3, random_state=seed).fit(people, label)
    tree = model_input(fitted).model
    assert len(tree.nodes) >= FEWEST_NODES
    table = table_of({**people.to_dict("list"), "y": [str(each) for each in label]})
    population = build_population(tree, table, sensitive="y")
    forest = forest_of(tree, population)
    found = {each.column: each for each in infer_from_sizes(forest, population, people).proofs}
    assert found
    for name in people:
        claims, _ = claims_of(forest, population, name)
        proved = np.zeros(len(population.counts), dtype=bool)
        for claim in claims:
            proved[claim.profiles] = True
        assert proved.any() == (name in found)
        assert not proved.any() or (found[name].profiles == proved).all()


def test_a_tree_of_one_leaf_proves_nothing():
    table = table_of({"x": [1, 2, 3], "y": ["no", "yes", "no"]})
    model = DecisionTreeClassifier(min_samples_split=10).fit(
        pd.DataFrame({"x": [1, 2, 3]}), ["no", "yes", "no"]
    )
    tree = model_input(model).model
    population = build_population(tree, table, sensitive="y")
    found = infer_from_sizes(forest_of(tree, population), population, ["x"])
    assert not found.proofs
    assert not found.incomplete
