"""What somebody learns of a tested column who knows everybody's class, where the file does not count classes in leaves.

Held against every table that fits, and against the greatest entropy as IPOPT finds it.
"""

from dataclasses import replace

import casadi
import numpy as np
import pytest

from tests.judges.partial_cases import every_value, fitting, tree_and_people
from tests.kit.tiers import seeds
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import LeafLevel, SplitLevel
from treewarden.audit.partial.attributes.attribute_inference import infer_attribute
from treewarden.audit.partial.class_rows import NOT_USED
from treewarden.audit.partial.secret_values import secret_of
from treewarden.audit.partial.tree_context import TreeContext, leaf_table
from treewarden.audit.population.record_linkage import merged
from treewarden.audit.progress import clock
from treewarden.ppdm_models.tables.routing import route

ROOM = 1e-6
UNCOUNTED = (LeafLevel.LABELS, LeafLevel.RATES, LeafLevel.AS_PUBLISHED)


def of_three_classes(seed, level):
    """Return a tree of three classes, its people, what is known, and a column that it asks about; or skip."""
    rng = np.random.default_rng(seed)
    tree, population = tree_and_people(rng, int(rng.integers(4, 7)), classes=3)
    if level is LeafLevel.AS_PUBLISHED:
        tree = banded(tree, rng)
    tested = [each.name for each in tree.used_features()]
    if not tested:
        pytest.skip("a tree of one leaf")
    knowledge = Knowledge(split=SplitLevel.NONE, leaf=level)
    return tree, population, knowledge, tested[seed % len(tested)]


def banded(tree, rng):
    """Return a tree that says of its nodes how many people they have, and of their classes only bands."""
    nodes = []
    for node in tree.nodes:
        bands = []
        for count in node.class_counts:
            low = max(count - float(rng.integers(3)), 0.0)
            bands.append((low, min(count + float(rng.integers(3)), node.records)))
        nodes.append(replace(node, class_counts=None, class_shares=None, bands=tuple(bands)))
    return replace(tree, nodes=tuple(nodes))


def asked(tree, population, knowledge, name, known):
    return infer_attribute(
        TreeContext(tree, population, knowledge),
        secret_of(population, name, None, "known.toml"),
        known,
        knows_target=True,
        until=clock(5.0),
    )


@pytest.mark.parametrize("level", UNCOUNTED)
@pytest.mark.parametrize("seed", seeds(40, quick=5))
def test_what_is_proved_is_so_in_every_table_and_what_is_shown_in_some(seed, level):
    tree, population, knowledge, name = of_three_classes(seed, level)
    others = [each for each in population.qi if each != name]
    known = others if seed % 3 else []
    seen = asked(tree, population, knowledge, name, known)
    leaves = leaf_table(tree, population, knowledge)
    tables = every_value(tree, population, known, name, knows_target=True, fits=fitting(leaves))
    least, most = tables.min(axis=0), tables.max(axis=0)
    worlds = seen.worlds
    assert seen.population.counts == pytest.approx(tables[0].sum(axis=1))
    assert (worlds.low <= least).all()
    assert (worlds.high >= most).all()
    assert (worlds.reached_low >= least).all()
    assert (worlds.reached_high <= most).all()
    is_open = worlds.open_profiles.any() or worlds.open_exclusions.any()
    assert worlds.not_decided == ((NOT_USED,) if is_open else ())


@pytest.mark.parametrize("level", UNCOUNTED)
@pytest.mark.parametrize("seed", seeds(15, quick=3))
def test_the_estimate_is_that_of_greatest_entropy(seed, level):
    tree, population, knowledge, name = of_three_classes(seed, level)
    known = [each for each in population.qi if each != name][seed % 2 :]
    seen = asked(tree, population, knowledge, name, known)
    best = greatest(tree, population, knowledge, name, known)
    assert seen.posterior.decided.all()
    assert seen.posterior.values == pytest.approx(best, abs=2e-3)


def greatest(tree, population, knowledge, name, known):
    """Return how likely each value of a column is, by profile and class, from tables of people over hidden values."""
    people, of = merged(population, known)
    held = np.zeros((len(people.counts), len(tree.classes)))
    np.add.at(held, of, population.truth)
    klass, profile = np.nonzero(held.T > 0)
    supply = held[profile, klass]
    hidden = [each for each in population.qi if each not in known]
    sizes = [len(population.columns[each].categories) for each in hidden]
    ways = np.stack([each.ravel() for each in np.indices(sizes)], axis=1)
    rows = np.repeat(profile, len(ways))
    columns = {each: people.columns[each].take(rows) for each in known}
    for at, each in enumerate(hidden):
        own = population.columns[each]
        columns[each] = replace(own, codes=np.tile(ways[:, at], len(supply)))
    leaves = leaf_table(tree, population, knowledge)
    stop = np.searchsorted(leaves.nodes, route(tree, columns)).reshape(len(supply), len(ways))
    share = [np.bincount(population.columns[each].codes, population.counts) for each in hidden]
    base = np.prod([one[ways[:, at]] / one.sum() for at, one in enumerate(share)], axis=0)
    # Inside a leaf hidden values are as common as among all people: only how people are spread over leaves is open.
    inside = base * (stop[:, None] == np.arange(len(leaves.nodes))[:, None])
    among = inside.sum(axis=2)
    spread = ipopt(leaves, among > 0, klass, supply)
    weight = np.divide(spread, among, out=np.zeros_like(among), where=among > 0)
    found = (inside * weight[:, :, None]).sum(axis=1)
    value = ways[:, hidden.index(name)]
    return np.stack(
        [found[:, value == each].sum(axis=1) / supply for each in range(sizes[hidden.index(name)])],
        axis=1,
    )


def ipopt(leaves, can, klass, supply):
    """Return the table of greatest entropy, people of each profile and class over leaves, that fulfils all rows."""
    model, (rows, columns) = casadi.Opti(), np.nonzero(can)
    z = model.variable(len(rows))
    model.set_initial(z, 0.5)
    model.minimize(casadi.sum1(z * casadi.log(z)))
    model.subject_to(z >= 1e-8)

    def between(low, value, high):
        """Ask for a value; some room leaves an interior where rows force people to be nowhere."""
        if not value.is_constant():
            model.subject_to(model.bounded(low - ROOM, value, high + ROOM))

    def held(leaf, some):
        inside = np.flatnonzero((columns == leaf) & np.isin(klass[rows], some))
        return casadi.sum1(z[inside]) if len(inside) else casadi.MX(0)

    classes = list(range(len(leaves.system.case.tree.classes)))
    for group, people in enumerate(supply):
        between(people, casadi.sum1(z[np.flatnonzero(rows == group)]), people)
    for leaf, size in enumerate(leaves.sizes):
        between(size, held(leaf, classes), size)
    for row in leaves.system.rows:
        said = leaves.system.kind(row).content_of(leaves.system.case, row)
        for end in said.ends:
            leaf = np.searchsorted(leaves.nodes, end.node)
            between(end.low, held(leaf, [end.klass]), end.high)
        for lead in said.leads:
            leaf = np.searchsorted(leaves.nodes, lead.node)
            for other in set(classes) - {lead.label}:
                ahead = held(leaf, [lead.label]) - held(leaf, [other])
                between(lead.margin, ahead, casadi.inf)
        for line in said.across:
            cells = zip(line.profiles, line.classes, line.weights, strict=True)
            total = sum((weight * held(leaf, [c]) for leaf, c, weight in cells), casadi.MX(0))
            between(line.low, total, line.high)
    model.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
    found = np.zeros(can.shape)
    found[rows, columns] = model.solve().value(z)
    return found
