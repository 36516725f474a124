"""What several releases prove together, against every way in which their people may be ill."""

import itertools
import random

import numpy as np
import pytest

from tests.kit.releases import a_table, a_tree
from tests.kit.tiers import seeds
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.joint.profiles import worlds_of
from treewarden.audit.joint.releases import ReleaseView, join_releases
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.linked_population import shared_people
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.read_table import read_table_bytes

PLACES = "abcdef"


def joined(tables, trees):
    """Return what the releases prove, who is in which, and the models with their people."""
    read = [read_table_bytes(data.encode(), f"t{n}.csv") for n, data in enumerate(tables)]
    models = [open_model(data, f"m{n}.pmml").model for n, data in enumerate(trees)]
    people = [
        build_population(model, table, sensitive="illness")
        for model, table in zip(models, read, strict=True)
    ]
    shared = shared_people(models, read, people, "id")
    held = [ReleaseView(forest_of(m, p), p) for m, p in zip(models, people, strict=True)]
    return join_releases(held, shared, TimeBudget(clock(20), 5.0)), shared, held


def some_releases(seed):
    """Return the tables of releases drawn at random, trees over them, and who is in which, for brute force."""
    chance = random.Random(seed)
    everybody = [(n, chance.choice(PLACES), chance.choice(["no", "yes"])) for n in range(8)]
    everybody += [(8, "a", "no"), (9, "b", "yes")]
    tables, trees, leaves = [], [], []
    for _ in range(chance.choice([2, 2, 3])):
        here = [each for each in everybody if each[0] >= 8 or chance.random() < 0.85]
        parts = chance.choice([1, 2, 3])
        into = {place: str(chance.randrange(parts)) for place in PLACES}
        table = a_table(*(f"{n} {place} {ill}" for n, place, ill in here))
        tables.append(table)
        classes = ("no", "yes") if chance.random() < 0.5 else ("yes", "no")
        trees.append(a_tree(table, classes, leaf_of=into.get))
        leaves.append([(n, into[place], ill) for n, place, ill in here])
    return everybody, tables, trees, leaves


def worlds(everybody, leaves):
    """Return every way in which people may be ill that gives all leaves their counts, (W, n) of 0 and 1."""
    found = []
    for world in itertools.product((0, 1), repeat=len(everybody)):
        fits = True
        for release in leaves:
            sums, told = {}, {}
            for n, leaf, ill in release:
                sums[leaf] = sums.get(leaf, 0) + world[n]
                told[leaf] = told.get(leaf, 0) + (ill == "yes")
            fits = fits and sums == told
        if fits:
            found.append(world)
    return np.array(found)


@pytest.mark.parametrize("seed", seeds(40, quick=8))
def test_the_ends_of_all_numbers_are_those_of_all_worlds(seed):
    everybody, tables, trees, leaves = some_releases(seed)
    every = worlds(everybody, leaves)
    found, shared, held = joined(tables, trees)
    members = [{n for n, *_ in rows} for rows in leaves]
    for release, each in enumerate(held):
        own = shared.seen_by(release, each.population)
        classes = each.forest.model.classes
        told = worlds_of(found.seen_by(release), own, found.where, classes)
        for profile, group in enumerate(shared.groups(release).tolist()):
            is_in = (shared.places[:, group] >= 0).tolist()
            place = own.columns["place"].text(profile)
            inside = [
                n
                for n, at, _ in everybody
                if at == place and [n in all_ for all_ in members] == is_in
            ]
            ill = every[:, inside].sum(axis=1)
            assert len(inside) == own.counts[profile]
            assert told.low[profile, classes.index("yes")] == ill.min()
            assert told.high[profile, classes.index("yes")] == ill.max()
            assert told.reached_low[profile, classes.index("no")] >= len(inside) - ill.max()


BEFORE = a_table("1 a yes", "2 a no", "3 b no", "4 b yes")
AFTER = a_table("1 a yes", "2 a no", "3 b no", "4 b yes", "5 c yes")


def one_leaf(_):
    return "all"


def test_who_joined_is_the_difference_of_two_totals():
    trees = [a_tree(BEFORE, leaf_of=one_leaf), a_tree(AFTER, leaf_of=one_leaf)]
    found, _, held = joined([BEFORE, AFTER], trees)
    first, second = found.joined.inference.releases
    assert (first.name, first.people, first.alone, first.so_far) == ("m0.pmml", 4, 0, 0)
    assert (second.people, second.joined, second.left) == (5, 1, 0)
    assert (second.alone, second.so_far) == (0, 1)
    assert found.joined.inference.differences == (
        "Of the one person in m1.pmml but not in m0.pmml, 1 has “yes”: the difference of the two totals "
        "proves it.",
    )
    own = found.shared.seen_by(1, held[1].population)
    told = worlds_of(found.seen_by(1), own, found.where, ("no", "yes"))
    (newcomer,) = np.flatnonzero(told.certain).tolist()
    assert own.describe(newcomer) == "place = c, in m0.pmml = no"
    assert told.reasons[newcomer] == (
        "among the people in m1.pmml but not in m0.pmml: of its 1 person, all has “yes”"
    )


def test_of_those_who_left_the_difference_is_known_too():
    trees = [a_tree(AFTER, leaf_of=one_leaf), a_tree(BEFORE, leaf_of=one_leaf)]
    found, *_ = joined([AFTER, BEFORE], trees)
    assert found.joined.inference.releases[1].left == 1
    assert "in m0.pmml but not in m1.pmml, 1 has" in found.joined.inference.differences[0]


def test_a_release_of_other_labels_proves_nothing():
    wrong = a_tree(AFTER.replace("yes", "no", 2), leaf_of=one_leaf)
    found, *_ = joined([BEFORE, AFTER], [a_tree(BEFORE), wrong])
    assert isinstance(found, Undetermined)
    assert found.reason.startswith("m1.pmml: its leaf values do not match")
