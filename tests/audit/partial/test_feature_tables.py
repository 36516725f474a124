"""A secret column of trees with missing values and several ways to a leaf, held against every possible table."""

import numpy as np
import pytest

from tests.audit.partial.features import every_table, of_categories, of_numbers, scaled_estimate
from tests.kit.tiers import seeds
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.partial import secret_values as columns
from treewarden.audit.partial.attributes.attribute_inference import infer_attribute
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.progress import clock
from treewarden.ppdm_models.errors import KnowledgeError

NO_SPLITS = Knowledge(split=SplitLevel.NONE)


def secret_of(tree, population, name, bins=None):
    more = next((each.values for each in tree.features if each.name == name), ())
    return columns.secret_of(population, name, bins, "known.toml", more)


def seen(tree, population, secret, known, *, knows_target=False, knowledge=NO_SPLITS):
    return infer_attribute(
        TreeContext(tree, population, knowledge),
        secret,
        known,
        knows_target=knows_target,
        until=clock(5.0),
    )


def agrees(tree, population, secret, known, *, knows_target):
    """Hold what is certain and excluded of all profiles against every table; return how many of these are certain."""
    found = seen(tree, population, secret, known, knows_target=knows_target)
    tables = every_table(tree, population, known, secret, knows_target=knows_target)
    people, worlds = found.population, found.worlds
    assert len(tables) == len(people.counts)
    for profile in range(len(people.counts)):
        name = tuple(people.columns[each].text(profile) for each in people.qi)
        table = tables[name]
        assert people.counts[profile] == table[0].sum()
        always = (table.min(axis=0) == table[0].sum()).any()
        assert worlds.certain[profile] == always
        assert (worlds.excluded[profile] == (table.max(axis=0) == 0)).all()
        assert (people.truth[profile] >= worlds.low[profile]).all()
        assert (people.truth[profile] <= worlds.high[profile]).all()
    assert not worlds.open_profiles.any()
    assert not worlds.open_exclusions.any()
    assert found.posterior.values.sum(axis=1) == pytest.approx(1)
    assert (found.posterior.low <= found.posterior.values).all()
    assert (found.posterior.values <= found.posterior.high).all()
    return int(worlds.certain.sum())


def secrets_of(tree, population):
    """Yield the tested columns of a tree that can be secret, and all other columns."""
    for feature in tree.used_features():
        try:
            secret = secret_of(tree, population, feature.name)
        except KnowledgeError:
            continue
        yield secret, [name for name in population.qi if name != feature.name]


def by_person(found, population, klass):
    """Return whether each profile of the whole table is certain, given a class of each where that is known."""
    people = found.population
    known = [name for name in people.qi if name in population.columns]
    rows = {}
    for profile in range(len(people.counts)):
        name = tuple(people.columns[each].text(profile) for each in people.qi)
        rows[name] = bool(found.worlds.certain[profile])
    told = (klass,) if len(known) < len(people.qi) else ()
    names = (
        (*(population.columns[each].text(profile) for each in known), *told)
        for profile in np.flatnonzero(population.truth[:, int(klass[1])] > 0).tolist()
    )
    return np.array([rows[name] for name in names])


def one_value(found):
    return (found.population.truth > 0).sum(axis=1) == 1


@pytest.mark.parametrize("knows_target", [False, True])
@pytest.mark.parametrize("seed", seeds(20, quick=4))
def test_what_is_certain_and_excluded_of_categories_is_that_of_every_table(seed, knows_target):
    tree, population = of_categories(seed, records=4 + seed % 3, features=2 + seed % 2)
    tested = [feature.name for feature in tree.used_features()]
    for name in tested:
        if len(set(population.columns[name].codes.tolist())) > 1:
            secret = secret_of(tree, population, name)
            others = [each for each in population.qi if each != name]
            for known in ([], others[:1], others):
                agrees(tree, population, secret, known, knows_target=knows_target)


@pytest.mark.parametrize("knows_target", [False, True])
@pytest.mark.parametrize("seed", seeds(30, quick=5))
def test_what_is_certain_and_excluded_of_numbers_and_missing_values_is_that_of_every_table(
    seed, knows_target
):
    tree, population = of_numbers(seed, records=5)
    tested = {feature.name for feature in tree.used_features()}
    for name, bins in (("x", [1.0]), ("x", None), ("y", [0.7, 2.0]), ("colour", None)):
        if name in tested and len(np.unique(population.columns[name].keys)) > 1:
            try:
                secret = secret_of(tree, population, name, bins)
            except KnowledgeError:
                continue
            others = [each for each in population.qi if each != name]
            for known in (others[seed % 2 :][:1], others):
                agrees(tree, population, secret, known, knows_target=knows_target)


@pytest.mark.parametrize("knows_target", [False, True])
@pytest.mark.parametrize("seed", seeds(10, quick=2))
@pytest.mark.parametrize("made", [of_categories, of_numbers])
def test_the_estimate_is_the_optimum_over_profiles_and_all_hidden_values(made, seed, knows_target):
    tree, population = (
        of_numbers(seed, 25, lacking=0) if made is of_numbers else of_categories(seed, 30)
    )
    for secret, others in secrets_of(tree, population):
        known = others[:1]
        found = seen(tree, population, secret, known, knows_target=knows_target)
        expected = scaled_estimate(tree, population, known, secret, knows_target=knows_target)
        people = found.population
        for profile in range(len(people.counts)):
            name = tuple(people.columns[each].text(profile) for each in people.qi)
            assert found.posterior.values[profile] == pytest.approx(expected[name], abs=2e-4)
        assert found.posterior.decided.all()


@pytest.mark.parametrize("seed", seeds(20, quick=3))
def test_who_is_certain_stays_so_for_whoever_knows_more(seed):
    tree, population = (
        of_numbers(seed, 30) if seed % 2 else of_categories(seed, 30, min_records=1 + seed % 4)
    )
    for secret, others in secrets_of(tree, population):
        for klass in ("c0", "c1"):
            before = None
            for count in range(len(others) + 1):
                found = [
                    by_person(
                        seen(tree, population, secret, others[:count], knows_target=told),
                        population,
                        klass,
                    )
                    for told in (False, True)
                ]
                assert (found[1] >= found[0]).all()
                if before is not None:
                    assert (found[0] >= before[0]).all()
                    assert (found[1] >= before[1]).all()
                before = found
