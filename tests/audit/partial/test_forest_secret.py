"""What a forest proves of a secret column, held against every filling of the column that fits all its trees."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from tests.kit.cases import random_table
from tests.kit.rows import rows
from tests.kit.tiers import few, seeds
from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.partial.attributes.forest_attribute_inference import (
    NOT_TOGETHER,
    infer_forest_attribute,
)
from treewarden.audit.partial.secret_values import secret_of
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import FOREVER
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.learn.growers import grow_id3
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Member,
    TreeSampling,
)
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Quality


def small_forest(seed, records, values=2, trees=2):
    """Return a forest whose trees were grown on all people, each on some of their columns, and these people."""
    table = random_table(seed, features=3, classes=2, records=records, values=values)
    names = [name for name in table.columns if name != "class"]
    target = table.column(Feature("class", numeric=False))
    grown = []
    for place in range(trees):
        own = [name for name in names if name != names[(seed + place) % 3]]
        grown.append(
            grow_id3(
                {name: table.column(Feature(name, numeric=False)) for name in own},
                np.eye(len(target.categories))[target.codes],
                target.categories,
                criterion=Criterion.GINI,
                min_records=1,
            )
        )
    features = tuple(dict.fromkeys(each for tree in grown for each in tree.features))
    forest = Ensemble(
        members=tuple(Member(tree) for tree in grown),
        combination=Combination.MAJORITY_VOTE,
        features=features,
        target="class",
        classes=grown[0].classes,
        task=grown[0].task,
        source="forest.json",
        sampling=TreeSampling(resampled=False),
    )
    return forest, build_population(forest, table, sensitive="class", qi=names)


def seen(forest, population, name, known, *, knows_target, bins=None):
    model = forest_of(forest, population)
    secret = secret_of(population, name, bins, "known.toml")
    about = (model, population, Knowledge(), secret, known, FOREVER)
    return secret, infer_forest_attribute(*about, knows_target=knows_target)


def fillings(forest, population, secret, known, *, knows_target):
    """Return how many of each profile of known columns (and class) have each value, in every table that fits.

    Other hidden columns are as they are: more tables may fit than these.
    """
    column = population.columns[secret.name]
    cells = [
        (profile, klass)
        for profile, counts in enumerate(population.truth.astype(int))
        for klass, count in enumerate(counts)
        for _ in range(count)
    ]
    profile, klass = np.array(cells).T
    size = len(column.categories)
    stops = []
    for tree in forest.trees:
        rows = np.repeat(profile, size)
        columns = {each: one.take(rows) for each, one in population.columns.items()}
        columns[secret.name] = CategoricalColumn(
            np.tile(np.arange(size), len(profile)), column.categories
        )
        stops.append(route(tree, columns).reshape(len(profile), size))
    people = np.arange(len(profile))
    own = column.codes[profile]
    published = [
        sorted(zip(stop[people, own].tolist(), klass.tolist(), strict=True)) for stop in stops
    ]
    keys = [
        (*(population.columns[name].text(row) for name in known), kind if knows_target else 0)
        for row, kind in cells
    ]
    rows = sorted(set(keys))
    row_of = np.array([rows.index(key) for key in keys])
    found = []
    for way in product(range(size), repeat=len(profile)):
        fits = all(
            sorted(zip(stop[people, way].tolist(), klass.tolist(), strict=True)) == told
            for stop, told in zip(stops, published, strict=True)
        )
        if fits:
            counts = np.zeros((len(rows), size), int)
            np.add.at(counts, (row_of, np.array(way)), 1)
            found.append(counts)
    return rows, np.array(found)


def rows_of(seen, known, *, knows_target):
    """Return what each row of an adversary's people is: the values of known columns, and the class."""
    columns = seen.population.columns
    return [
        (
            *(columns[name].text(row) for name in known),
            forest_class(columns["class"].text(row)) if knows_target else 0,
        )
        for row in range(len(seen.population.counts))
    ]


def forest_class(name):
    return ("c0", "c1").index(name)


@cache
def check(seed, records, *, values=2, trees=2, knows_target=True, knows_all=True):
    forest, population = small_forest(seed, records, values, trees)
    tested = [each.name for tree in forest.trees for each in tree.used_features()]
    name = tested[seed % len(tested)] if tested else "x0"
    others = [each for each in population.qi if each != name]
    known = others if knows_all else others[:1]
    secret, found = seen(forest, population, name, known, knows_target=knows_target)
    assert isinstance(found.worlds, ConsistentTables)
    rows, tables = fillings(forest, population, secret, known, knows_target=knows_target)
    order = [rows.index(key) for key in rows_of(found, known, knows_target=knows_target)]
    tables = tables[:, order]
    return found, tables


@pytest.mark.parametrize("knows_target", [True, False])
@pytest.mark.parametrize("seed", seeds(60, quick=12))
def test_what_is_proved_holds_in_every_filling_and_what_is_witnessed_in_one(seed, knows_target):
    for knows_all in (True, False):
        found, tables = check(seed, 7, knows_target=knows_target, knows_all=knows_all)
        worlds = found.worlds
        assert (worlds.low <= tables.min(axis=0)).all()
        assert (worlds.high >= tables.max(axis=0)).all()
        assert (worlds.reached_high <= tables.max(axis=0)).all()
        assert (worlds.reached_low >= tables.min(axis=0)).all()
        assert worlds.left or not worlds.open_profiles.any()


@pytest.mark.parametrize("seed", seeds(30, quick=6))
def test_the_same_of_three_values_and_three_trees(seed):
    found, tables = check(seed, 6, values=3, trees=3)
    assert (found.worlds.low <= tables.min(axis=0)).all()
    assert (found.worlds.high >= tables.max(axis=0)).all()
    assert (found.worlds.reached_high <= tables.max(axis=0)).all()
    assert (found.worlds.reached_low >= tables.min(axis=0)).all()


@rows("seed", range(20))
def test_a_forest_of_one_tree_proves_what_every_filling_of_it_does(seed):
    found, tables = check(seed, 7, trees=1)
    size = found.worlds.counts[:, None]
    assert (found.worlds.certain == (tables.min(axis=0) == size).any(axis=1)).all()
    assert (found.worlds.excluded == (tables.max(axis=0) == 0)).all()


@pytest.mark.in_both
def test_what_no_exchange_shows_stays_open_and_says_why():
    found = [check(seed, 7)[0].worlds for seed in few(range(60), 20)]
    opened = [each for each in found if each.open_profiles.any()]
    settled = [each for each in found if not each.open_profiles.any()]
    assert opened
    assert any(not each.certain.all() for each in settled)
    assert all(NOT_TOGETHER in each.left for each in opened)


def test_an_exchange_shows_a_value_that_nobody_of_a_group_has():
    found = [check(seed, 7)[0] for seed in range(60)]
    shown = [each.worlds.reached_high > each.population.truth for each in found]
    assert any(each.any() for each in shown)


def test_a_column_that_no_tree_tests_is_as_common_as_in_the_table():
    forest, population = small_forest(4, 9)
    other = np.array([0, 1, 0, 1])[np.arange(len(population.counts)) % 4]
    columns = {**population.columns, "z": CategoricalColumn(other, ("a", "b"))}
    people = replace(population, qi=(*population.qi, "z"), columns=columns)
    _, found = seen(forest, people, "z", population.qi, knows_target=True)
    assert not found.worlds.certain.any()
    assert not found.worlds.open_profiles.any()
    assert found.posterior.values[0] == pytest.approx(
        np.bincount(other, people.counts) / people.records
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sampling": TreeSampling(resampled=True)}, "counts of draws of a sample"),
        ({"quality": Quality.ABSENT}, "no counts"),
        ({"quality": Quality.NORMALISED}, "shares of classes"),
        ({"quality": Quality.HESSIAN}, "sums of second derivatives"),
    ],
)
def test_what_is_missing_is_named_where_no_tree_counts_people(change, said):
    forest, population = small_forest(4, 9)
    if "quality" in change:
        members = tuple(Member(replace(each.model, **change)) for each in forest.members)
        forest = replace(forest, members=members)
    else:
        forest = replace(forest, **change)
    _, found = seen(forest, population, "x0", ["x1", "x2"], knows_target=True)
    assert isinstance(found, Undetermined)
    assert found.reason.startswith(
        "protecting a column that the model tests needs leaf counts of people"
    )
    assert said in found.reason


def test_nothing_is_witnessed_where_a_tree_publishes_no_counts_of_people():
    cases = [small_forest(seed, 7) for seed in range(40)]
    for seed, (forest, population) in enumerate(cases):
        first, second = forest.members
        bare = Member(replace(second.model, quality=Quality.NORMALISED))
        mixed = replace(forest, members=(first, bare))
        names = [each.name for each in first.model.used_features()]
        for name in names[:1]:
            others = [each for each in population.qi if each != name]
            _, found = seen(mixed, population, name, others, knows_target=True)
            worlds = found.worlds
            assert (worlds.reached_high == found.population.truth).all(), seed
            assert worlds.left
