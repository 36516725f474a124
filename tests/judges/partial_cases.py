"""Small random cases of people who are known by some columns only, and every table that fits each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import sparse

from treewarden.audit.facts.rows import TRUTH_TOLERANCE_SHARE
from treewarden.audit.partial.fitting.flows import Network, network
from treewarden.audit.partial.tree_context import LeafTable
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.population.record_linkage import merged
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import max_violation
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray
from treewarden.ppdm_models.learn.growers import grow_id3
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Tree


@dataclass(frozen=True)
class Small:
    """A network: who can be where (P, L), who truly is (P, L), and the classes of each leaf, (L, m)."""

    arcs: BoolArray
    world: IntArray
    classes: IntArray

    @property
    def people(self) -> IntArray:
        """How many people each profile has, (P,)."""
        return np.asarray(self.world.sum(axis=1))

    @property
    def network(self) -> Network:
        """The same as the product holds it."""
        return network(
            sparse.csr_array(self.arcs.astype(float)), sparse.csr_array(self.world.astype(float))
        )

    def tables(self) -> Iterator[IntArray]:
        """Yield every table of people by profile, leaf and class that fits, (P, L, m)."""
        cells = [
            (leaf, klass, int(count))
            for leaf, counts in enumerate(self.classes)
            for klass, count in enumerate(counts)
        ]

        def fill(at: int, left: IntArray, table: IntArray) -> Iterator[IntArray]:
            if at == len(cells):
                if not left.any():
                    yield table.copy()
                return
            leaf, klass, count = cells[at]
            able = np.flatnonzero(self.arcs[:, leaf])
            for part in parts(count, left[able].tolist()):
                table[able, leaf, klass] = part
                left[able] -= part
                yield from fill(at + 1, left, table)
                left[able] += part
                table[able, leaf, klass] = 0

        shape = (*self.arcs.shape, self.classes.shape[1])
        yield from fill(0, self.people.copy(), np.zeros(shape, dtype=int))


def parts(total: int, most: Sequence[int]) -> Iterator[list[int]]:
    """Yield every way to part a number into whole numbers of at most so much each."""
    if not most:
        if total == 0:
            yield []
        return
    for first in range(min(total, most[0]) + 1):
        for rest in parts(total - first, most[1:]):
            yield [first, *rest]


def drawn(rng: np.random.Generator) -> Small:
    """Return a random small network with its classes."""
    profiles, leaves, m = rng.integers(1, 4), rng.integers(1, 4), rng.integers(2, 4)
    arcs = rng.random((profiles, leaves)) < 0.6
    arcs[np.arange(profiles), rng.integers(leaves, size=profiles)] = True
    world = np.zeros((profiles, leaves), dtype=int)
    for _ in range(rng.integers(profiles, 8)):
        profile = rng.integers(profiles)
        world[profile, rng.choice(np.flatnonzero(arcs[profile]))] += 1
    kept, used = world.sum(axis=1) > 0, world.sum(axis=0) > 0
    arcs, world = arcs[kept][:, used], world[kept][:, used]
    classes = [rng.multinomial(size, rng.dirichlet(np.full(m, 0.5))) for size in world.sum(axis=0)]
    return Small(arcs, world, np.array(classes))


def tree_and_people(
    rng: np.random.Generator, records: int, classes: int = 2
) -> tuple[Tree, Population]:
    """Return a tree that was grown on a few random people of two columns, and these people."""
    columns = {f"x{i}": rng.integers(2, size=records) for i in range(2)}
    drawn = rng.integers(classes, size=records)
    label = np.where(rng.random(records) < 0.5, drawn, columns["x0"])
    label[:classes] = np.arange(classes)
    named = {name: [f"v{each}" for each in values] for name, values in columns.items()}
    table = table_of({**named, "class": [f"c{each}" for each in label]})
    target = table.column(Feature("class", numeric=False))
    assert isinstance(target, CategoricalColumn)
    tree = grow_id3(
        {name: table.column(Feature(name, numeric=False)) for name in named},
        np.eye(len(target.categories))[target.codes],
        target.categories,
        criterion=Criterion.GINI,
        min_records=1,
    )
    return tree, build_population(tree, table, sensitive="class")


def every_table(tree: Tree, population: Population, known: Sequence[str]) -> IntArray:
    """Return how many of each profile of the known columns have each class, in every table that fits: (W, P, m)."""
    alike, _ = merged(population, known)
    people = np.rint(alike.counts).astype(int)
    rows = np.repeat(np.arange(len(people)), people)
    hidden = [name for name in population.qi if name not in known]
    values = list(product(*(range(_size(population, name)) for name in hidden)))
    assert not isinstance(population.truth, Undetermined)
    sizes = np.zeros((len(tree.nodes), len(tree.classes)), dtype=int)
    np.add.at(sizes, population.leaf, np.rint(population.truth).astype(int))
    ways = np.array(list(product(range(len(values)), repeat=len(rows))))
    columns = {name: _repeated(alike, name, rows, len(ways)) for name in known}
    for position, name in enumerate(hidden):
        codes = np.array([value[position] for value in values])[ways].reshape(-1)
        columns[name] = CategoricalColumn(codes, _column(population, name).categories)
    stops = route(tree, columns).reshape(ways.shape)
    found = set()
    for stop in np.unique(stops, axis=0):
        if (np.bincount(stop, minlength=len(tree.nodes)) != sizes.sum(axis=1)).any():
            continue
        for classes in product(range(len(tree.classes)), repeat=len(rows)):
            held = np.zeros_like(sizes)
            np.add.at(held, (stop, np.array(classes)), 1)
            if (held == sizes).all():
                table = np.zeros((len(people), len(tree.classes)), dtype=int)
                np.add.at(table, (rows, np.array(classes)), 1)
                found.add(tuple(map(tuple, table.tolist())))
    return np.array(sorted(found))


def every_value(
    tree: Tree,
    population: Population,
    known: Sequence[str],
    name: str,
    *,
    knows_target: bool,
    fits: Callable[[IntArray], bool] | None = None,
) -> IntArray:
    """Return how many of each profile have each value of a column, in every table that fits: (W, P, B).

    Where everybody's class is known, profiles are told apart by it: those of the first class stand first. Then ``fits``
    says whether so many of each class can be at each node, (N, m), where they are not counted.
    """
    alike, of = merged(population, known)
    assert not isinstance(population.truth, Undetermined)
    truth = np.rint(population.truth).astype(int)
    held = np.zeros((len(alike.counts), len(tree.classes)), dtype=int)
    np.add.at(held, of, truth)
    rows = [(p, c) for p, row in enumerate(held) for c, n in enumerate(row) for _ in range(n)]
    hidden = [each for each in population.qi if each not in known]
    sizes = [_size(population, each) for each in hidden]
    values = list(product(*map(range, sizes)))
    leaves = np.zeros((len(tree.nodes), len(tree.classes)), dtype=int)
    np.add.at(leaves, population.leaf, truth)
    ways = np.array(list(product(range(len(values)), repeat=len(rows))))
    people, classes = np.array([p for p, _ in rows]), np.array([c for _, c in rows])
    columns = {each: _repeated(alike, each, people, len(ways)) for each in known}
    for position, each in enumerate(hidden):
        codes = np.array([value[position] for value in values])[ways].reshape(-1)
        columns[each] = CategoricalColumn(codes, _column(population, each).categories)
    stops = route(tree, columns).reshape(ways.shape)
    own = np.array([value[hidden.index(name)] for value in values])[ways]
    # Where nobody's class is known, classes can be given to whoever is in a leaf: its size decides.
    given = classes if knows_target else np.zeros_like(classes)
    apart = given * len(held) + people
    profiles = {key: place for place, key in enumerate(sorted(set(apart.tolist())))}
    wanted = leaves if knows_target else leaves.sum(axis=1, keepdims=True)
    found = set()
    for stop, has in zip(stops, own, strict=True):
        if (stop < 0).any():
            continue
        at = np.zeros_like(wanted)
        np.add.at(at, (stop, given), 1)
        if (at == wanted).all() if fits is None else fits(at):
            table = np.zeros((len(profiles), sizes[hidden.index(name)]), dtype=int)
            np.add.at(table, (np.array([profiles[key] for key in apart.tolist()]), has), 1)
            found.add(tuple(map(tuple, table.tolist())))
    return np.array(sorted(found))


def fitting(leaves: LeafTable) -> Callable[[IntArray], bool]:
    """Return whether so many of each class can be at each node, (N, m), by all that is said of the leaves' classes."""
    system = leaves.system

    def fits(held: IntArray) -> bool:
        own = held[leaves.nodes]
        if own.sum() != held.sum() or (own.sum(axis=1) != leaves.sizes).any():
            return False
        for line in system.whole:
            if not line.low <= (line.weights * own[line.profiles, line.classes]).sum() <= line.high:
                return False
        for node, lead in system.leads.items():
            # Of several classes that lead, the learner names the first.
            (leaf,) = np.flatnonzero(leaves.nodes == node)
            if any(own[leaf, lead.label] <= own[leaf, before] for before in lead.before):
                return False
        return max_violation(system, own.astype(np.float64)) <= TRUTH_TOLERANCE_SHARE

    return fits


def optimum(case: Small, movable: FloatArray) -> FloatArray:
    """Return the maximum-entropy share of each class in each profile, (P, m), by scaling the whole table in turn."""
    table = movable[:, :, None] * np.ones(case.classes.shape[1])
    for _ in range(20_000):
        before = table.copy()
        total = table.sum(axis=0)
        table *= np.divide(case.classes, total, out=np.zeros_like(total), where=total > 0)
        table *= (case.people / table.sum(axis=(1, 2)))[:, None, None]
        if np.abs(table - before).max() < 1e-13:
            break
    return np.asarray(table.sum(axis=1) / case.people[:, None])


def _column(population: Population, name: str) -> CategoricalColumn:
    column = population.columns[name]
    assert isinstance(column, CategoricalColumn)
    return column


def _size(population: Population, name: str) -> int:
    return len(_column(population, name).categories)


def _repeated(people: Population, name: str, rows: IntArray, times: int) -> CategoricalColumn:
    column = _column(people, name)
    return CategoricalColumn(np.tile(column.codes[rows], times), column.categories)
