"""Small trees and people with a secret column, and every table that somebody must think possible, for tests."""

from dataclasses import replace
from itertools import product

import numpy as np

from tests.kit.cases import multiway_tree, random_table
from treewarden.audit.population.population import build_population
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import (
    Criterion,
    Feature,
    Missing,
    Node,
    NoTrueChild,
    Tree,
)


def of_categories(seed, records, features=3, values=2, min_records=1):
    """Return a multiway tree of some columns of two values, and its people."""
    table = random_table(seed, features=features, classes=2, records=records, values=values)
    tree = multiway_tree(table, Criterion.GINI, min_records=min_records)
    return tree, build_population(tree, table, sensitive="class")


NUMBERS = (0.0, 1.0, 2.0, 3.0)


def of_numbers(seed, records, lacking=0.2):
    """Return a tree over two columns of numbers and one of colours, with ways for who lacks a value, and its people.

    Its people are counted in its leaves; ``lacking`` is the share of missing numbers.
    """
    rng = np.random.default_rng(seed)
    features = (
        Feature("x", numeric=True),
        Feature("y", numeric=True),
        Feature("colour", numeric=False, values=("red", "blue", "green")),
    )
    nodes = [Node(0, "0", None)]
    pending = [0]
    while pending and len(nodes) < 8:
        index = pending.pop(0)
        tests = _asked(rng)
        first = len(nodes)
        children = tuple(range(first, first + len(tests)))
        nodes += [
            Node(child, str(child), index, test=test)
            for child, test in zip(children, tests, strict=True)
        ]
        default = int(rng.choice(children))
        nodes[index] = replace(nodes[index], children=children, default_child=default)
        pending += list(children)
    missing = (Missing.NONE, Missing.LAST_PREDICTION, Missing.DEFAULT_CHILD)[seed % 3]
    tree = Tree(
        tuple(nodes),
        features,
        "class",
        ("c0", "c1"),
        missing=missing,
        no_true_child=NoTrueChild.LAST_PREDICTION,
    )
    lacks = rng.random((2, records)) < lacking
    numbers = np.where(lacks, np.nan, rng.choice(NUMBERS, size=(2, records)))
    columns = {
        "x": [None if np.isnan(each) else float(each) for each in numbers[0]],
        "y": [None if np.isnan(each) else float(each) for each in numbers[1]],
        "colour": [features[2].values[code] for code in rng.integers(3, size=records)],
        "class": [f"c{code}" for code in rng.permutation(np.arange(records) % 2)],
    }
    return _counted(tree, table_of(columns))


def _asked(rng):
    """Return the tests of two or three children of a node, which may not ask about the same column."""
    ways = int(rng.integers(2, 4))
    tests = []
    for _ in range(ways - 1):
        name = str(rng.choice(["x", "y", "colour"]))
        if name == "colour":
            tests.append(CategoryTest(name, (str(rng.choice(["red", "blue"])),)))
        else:
            tests.append(NumericTest(name, high=float(rng.choice([0.5, 1.0, 1.5, 2.5]))))
    name = str(rng.choice(["x", "y"]))
    tests.append(NumericTest(name, low=float(rng.choice([0.5, 1.0, 1.5]))))
    return tests


def _counted(tree, table):
    """Return the tree with the counts of the people of a table in its nodes, and these people."""
    bare = build_population(tree, table, sensitive="class")
    held = np.zeros((len(tree.nodes), 2))
    np.add.at(held, bare.leaf, bare.truth)
    for node in reversed(tree.nodes[1:]):
        held[node.parent] += held[node.index]
    nodes = tuple(
        replace(node, class_counts=tuple(counts), records=sum(counts))
        for node, counts in zip(tree.nodes, held.tolist(), strict=True)
    )
    full = replace(tree, nodes=nodes)
    return full, build_population(full, table, sensitive="class")


def every_value(column, feature, *, is_coarse):
    """Return a column of one of each value that somebody can have: coarse are those that people of the table have."""
    if isinstance(column, CategoricalColumn):
        names = tuple(dict.fromkeys((*column.categories, *feature.values)))
        codes = [*range(len(names)), *([-1] if column.missing.any() else [])]
        return CategoricalColumn(np.array(codes), names)
    numbers = column.numbers[~column.missing]
    found = np.unique(numbers) if is_coarse else np.arange(-1.0, 5.0)
    return NumericColumn(np.append(found, [np.nan] if column.missing.any() else []))


def every_table(tree, population, known, secret, *, knows_target):
    """Return how many people of each profile, by the words of their known columns and class, have each secret value.

    By profile an array (W, B) over all tables of hidden values that fit the leaves.
    """
    hidden = [feature.name for feature in tree.used_features() if feature.name not in known]
    domains = {
        name: every_value(
            population.columns[name],
            tree.feature(name),
            is_coarse=name == secret.name and not len(secret.ends),
        )
        for name in hidden
    }
    places = list(product(*(range(len(each)) for each in domains.values())))
    ways = np.array(places, dtype=np.intp).reshape(-1, len(hidden))
    parts = [
        (profile, klass if knows_target else 0)
        for profile, counts in enumerate(population.truth)
        for klass, count in enumerate(counts)
        for _ in range(int(count))
    ]
    size = len(parts), len(ways)
    rows = np.repeat([profile for profile, _ in parts], size[1])
    columns = {name: population.columns[name].take(rows) for name in known}
    for position, (name, domain) in enumerate(domains.items()):
        columns[name] = domain.take(np.tile(ways[:, position], size[0]))
    stops = route(tree, columns).reshape(size)
    value = _secret_values(secret, domains[secret.name])[ways[:, hidden.index(secret.name)]]
    sizes = population.truth if knows_target else population.counts[:, None]
    left = np.zeros((len(tree.nodes), sizes.shape[1]), dtype=int)
    np.add.at(left, population.leaf, np.rint(sizes).astype(int))
    kinds = {}
    for number, (profile, klass) in enumerate(parts):
        name = tuple(population.columns[each].text(profile) for each in known)
        name = (*name, tree.classes[klass]) if knows_target else name
        kinds.setdefault(name, []).append(number)
    of = {number: place for place, each in enumerate(kinds.values()) for number in each}
    # What a person can be: where they stop, and the secret value.
    can = [
        sorted({(int(stop), int(v)) for stop, v in zip(row, value, strict=True) if stop >= 0})
        for row in stops
    ]
    found = {((0,) * (len(kinds) * len(secret.values)), tuple(left.ravel().tolist()))}
    for number, (_, klass) in enumerate(parts):
        more = set()
        for table, room in found:
            for stop, v in can[number]:
                place = stop * left.shape[1] + klass
                if room[place]:
                    cell = of[number] * len(secret.values) + v
                    more.add((_changed(table, cell, 1), _changed(room, place, -1)))
        found = more
    tables = np.array([table for table, _ in found]).reshape(-1, len(kinds), len(secret.values))
    return {name: tables[:, place] for place, name in enumerate(kinds)}


def _changed(table, cell, by):
    return (*table[:cell], table[cell] + by, *table[cell + 1 :])


def _secret_values(secret, column):
    """Return the place of each value of a column among the words of a secret's values."""
    if not len(secret.ends):
        texts = [column.text(row) for row in range(len(column))]
        return np.array(
            [secret.values.index("(missing)" if each is None else each) for each in texts]
        )
    places = [sum(number >= end for end in secret.ends) for number in column.numbers.tolist()]
    lacks = len(secret.ends) + 1
    return np.array(
        [lacks if gone else at for at, gone in zip(places, column.missing, strict=True)]
    )


def scaled_estimate(tree, population, known, secret, *, knows_target):
    """Return how likely each secret value is by profile, from one table over profiles and all hidden values at once.

    It starts from the shares that hidden values have among all people, and is scaled to the sizes of profiles and
    leaves in turn.
    """
    hidden = [feature.name for feature in tree.used_features() if feature.name not in known]
    columns = [population.columns[name] for name in hidden]
    keys = np.stack([np.unique(column.keys, return_inverse=True)[1] for column in columns])
    first = [np.unique(column.keys, return_index=True)[1] for column in columns]
    share = [np.bincount(key, population.counts) / population.counts.sum() for key in keys]
    ways = np.array(list(product(*(range(len(each)) for each in first))), dtype=np.intp)
    base = np.prod([each[ways[:, at]] for at, each in enumerate(share)], axis=0)
    value = secret.of[first[hidden.index(secret.name)]][ways[:, hidden.index(secret.name)]]
    size = len(population.counts), len(ways)
    rows = np.repeat(np.arange(size[0]), size[1])
    taken = {name: population.columns[name].take(rows) for name in known}
    for at, (name, column) in enumerate(zip(hidden, columns, strict=True)):
        taken[name] = column.take(np.tile(first[at][ways[:, at]], size[0]))
    stops = route(tree, taken).reshape(size)
    result = {}
    sizes = population.truth if knows_target else population.counts[:, None]
    for klass, people in enumerate(sizes.T):
        own = np.flatnonzero(people > 0)
        held = np.bincount(population.leaf, people, len(tree.nodes))
        where = stops[own]
        table = base * (held[where] > 0)
        for _ in range(20_000):
            before = table
            table = table * (people[own] / table.sum(axis=1))[:, None]
            now = np.bincount(where.ravel(), table.ravel(), len(tree.nodes))
            table = table * np.divide(held, now, out=np.zeros_like(held), where=now > 0)[where]
            if np.abs(table - before).max() < 1e-12:
                break
        among = np.stack(
            [table[:, value == each].sum(axis=1) for each in range(len(secret.values))], axis=1
        )
        for row, profile in enumerate(own.tolist()):
            name = tuple(population.columns[each].text(profile) for each in known)
            name = (*name, tree.classes[klass]) if knows_target else name
            result[name] = among[row] / among[row].sum()
    return result
