"""Tries proofs of records against every small table that fits a file, found by counting and without the product.

    python -m tests.judges.run_reconstruction --files 3000 --seed 0
    python -m tests.judges.run_reconstruction --files 500 --seed 0 --values

A case draws a table of up to eight records over a domain of up to 24 points, and trees: a forest that scikit-learn
grows on all records, or trees made at random, of numbers and categories, with missing values and withheld counts. All
tables over the domain that have the counts of the file are enumerated, and of forests those are left whose thresholds
lie half way between two records of a node; what every one has is what may be proved. In some cases every table of the
same size is grown again, and those that give an equal file must be among the ones that are left. Prints the seed of
every miss, and how much of what every table has was proved; the exit code is 1 where there is a miss.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.cells import HALF_WAY, find_boxes
from treewarden.audit.reconstruction.domain import DeclaredColumn, DeclaredDomain
from treewarden.audit.reconstruction.generated_cells import generate_cells
from treewarden.audit.reconstruction.of_model import reconstruct
from treewarden.audit.reconstruction.problem import read_counts
from treewarden.audit.reconstruction.result import Reconstruction
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Member, TreeSampling
from treewarden.ppdm_models.tree.predicate import (
    Always,
    CategoryTest,
    MissingTest,
    NumericTest,
    Predicate,
)
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Feature, Missing, Node, Quality, Tree

SECONDS = 20.0
MOST_FITTING = 5_000
"""Files that so many tables fit are left out: what they all have is found by counting, which takes too long."""
CLASSES = ("no", "yes")
Value = float | str
Point = tuple[Value, ...]
"""A value of each column; a missing number is NaN, a missing category ""."""


@dataclass
class Tally:
    """What was tried and what missed, in words."""

    files: int = 0
    left_out: int = 0
    undetermined: int = 0
    every: int = 0
    proved: int = 0
    counted: int = 0
    regrown: int = 0
    narrowed: int = 0
    generated: int = 0
    of_some: int = 0
    proved_of_some: int = 0
    with_thresholds: int = 0
    of_values: int = 0
    every_value: int = 0
    proved_values: int = 0
    whole_by_counts: int = 0
    whole: int = 0
    misses: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take what another tally counted."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass(frozen=True)
class TableCase:
    """The values of each column, what is declared of them, trees, and a table: points by number, and classes."""

    columns: Mapping[str, tuple[Value, ...]]
    declared: DeclaredDomain
    trees: tuple[Tree, ...]
    points: tuple[int, ...]
    codes: tuple[int, ...]
    settings: dict[str, object] | None = None
    learner: dict[str, object] | None = None
    """What the forest was trained with; ``settings`` are the same where all tables of its size are tried."""

    @property
    def domain(self) -> list[Point]:
        """All points."""
        return list(itertools.product(*self.columns.values()))


# What a tree says of a record, without the product's own way down.


def holds(test: Predicate, record: Mapping[str, Value]) -> bool | None:
    """Return what a simple test says of a record, None where it is unknown."""
    if isinstance(test, Always):
        return True
    assert isinstance(test, NumericTest | CategoryTest | MissingTest)
    value = record[test.feature]
    is_missing = value == "" or value != value
    if isinstance(test, MissingTest):
        return is_missing is not test.negated
    if is_missing:
        return None
    if isinstance(test, CategoryTest):
        return (value in test.values) is not test.negated
    assert isinstance(value, float)
    above = value >= test.low if test.low_closed else value > test.low
    below = value <= test.high if test.high_closed else value < test.high
    return (above or test.low == -math.inf) and (below or test.high == math.inf)


def stop_of(tree: Tree, record: Mapping[str, Value]) -> int | None:
    """Return the leaf of a record, None where it has none."""
    here = 0
    while tree.nodes[here].children:
        for child in tree.nodes[here].children:
            said = holds(tree.nodes[child].test, record)
            if said:
                here = child
                break
            if said is None and tree.missing is Missing.DEFAULT_CHILD:
                there = tree.nodes[here].default_child
                if there is None:
                    return None
                here = there
                break
        else:
            return None
    return here


# Cases.


def drawn(seed: int) -> TableCase:
    """Return a case by its seed."""
    random = np.random.default_rng(seed)
    return _grown(random) if random.random() < 0.5 else _made(random)


def _sizes(random: np.random.Generator, most: int) -> list[int]:
    sizes: list[int] = []
    while not sizes or (random.random() < 0.75 and math.prod(sizes) * 2 <= most):
        sizes.append(int(random.integers(2, min(5, most // math.prod(sizes)) + 1)))
    return sizes


def _grown(random: np.random.Generator) -> TableCase:
    """Return a forest that scikit-learn grows on all records of a drawn table."""
    is_small = random.random() < 0.25
    sizes = _sizes(random, 6 if is_small else 24)
    has_gaps = random.random() < 0.2
    columns = {
        f"x{n}": tuple([float(v) for v in range(size)] + ([math.nan] if has_gaps and not n else []))
        for n, size in enumerate(sizes)
    }
    domain = list(itertools.product(*columns.values()))
    if len(domain) > 24:
        return _grown(random)
    records = int(random.integers(2, 5 if is_small else 9))
    points = tuple(sorted(random.integers(0, len(domain), size=records).tolist()))
    codes = [*random.integers(0, 2, size=records).tolist()]
    codes[0], codes[-1] = 0, 1
    settings: dict[str, object] = {
        "n_estimators": int(random.choice([1, 1, 2, 3, 6])),
        "max_depth": random.choice([None, None, 1, 2, 3]),
        "min_samples_leaf": int(random.choice([1, 1, 2])),
        "max_features": random.choice(["sqrt", None]),
        "criterion": str(random.choice(["gini", "entropy"])),
        "random_state": int(random.integers(0, 1000)),
    }
    declared = {
        name: DeclaredColumn(tuple(v for v in values if v == v), any(v != v for v in values))
        for name, values in columns.items()
        if random.random() < 0.7
    }
    case = TableCase(
        columns=columns,
        declared=DeclaredDomain(declared),
        trees=(),
        points=points,
        codes=tuple(codes),
        settings=settings if is_small else None,
        learner=settings,
    )
    return replace(case, trees=_forest(case, points, codes, settings))


def _forest(
    case: TableCase, points: Sequence[int], codes: Sequence[int], settings: dict[str, object]
) -> tuple[Tree, ...]:
    domain = case.domain
    values = np.array([domain[point] for point in points], dtype=np.float32)
    learner = RandomForestClassifier(bootstrap=False, **settings)
    learner.fit(values, np.array(CLASSES)[list(codes)])
    names = list(case.columns)
    trees = (from_sklearn(t, feature_names=names, class_names=CLASSES) for t in learner.estimators_)
    return tuple(replace(tree, format="sklearn", target="ill") for tree in trees)


def _made(random: np.random.Generator) -> TableCase:
    """Return trees made at random, with the counts of a drawn table; some of them withheld."""
    sizes, columns, features = _sizes(random, 18), {}, []
    for n, size in enumerate(sizes):
        is_number = random.random() < 0.5
        gap: list[Value] = [math.nan if is_number else ""] if random.random() < 0.2 else []
        there = [float(v) if is_number else "abcdef"[v] for v in range(size)]
        columns[f"x{n}"] = (*there, *gap)
        features.append(Feature(f"x{n}", is_number, () if is_number else tuple(map(str, there))))
    domain = list(itertools.product(*columns.values()))
    if len(domain) > 24:
        return _made(random)
    declared = {
        name: DeclaredColumn(
            tuple(v for v in values if v == v and v != ""),  # type: ignore[arg-type]
            any(v != v or v == "" for v in values),
        )
        for name, values in columns.items()
        if random.random() < 0.7
    }
    shapes = [_shape(random, features) for _ in range(int(random.choice([1, 2, 3, 5])))]
    routes = [
        [stop_of(tree, dict(zip(columns, point, strict=True))) for point in domain]
        for tree in shapes
    ]
    usable = [p for p in range(len(domain)) if all(route[p] is not None for route in routes)]
    if not usable:
        return _made(random)
    records = int(random.integers(1, 9))
    points = tuple(sorted(random.choice(usable, size=records).tolist()))
    codes = tuple(random.integers(0, 2, size=records).tolist())
    withheld = random.random() < 0.2
    trees = tuple(
        _counted(tree, route, points, codes, random if withheld else None)
        for tree, route in zip(shapes, routes, strict=True)
    )
    return TableCase(columns, DeclaredDomain(declared), trees, points, codes)


def _shape(random: np.random.Generator, features: Sequence[Feature]) -> Tree:
    """Return a tree without counts: up to three levels of two-way tests, and now and then three-way ones."""
    nodes: list[dict[str, object]] = [{"parent": None, "test": Always(), "children": []}]
    open_nodes = [(0, 0)]
    while open_nodes:
        here, depth = open_nodes.pop(0)
        if depth and (depth >= 3 or random.random() < 0.3):
            continue
        feature = features[int(random.integers(len(features)))]
        for test in _tests(random, feature):
            nodes[here]["children"].append(len(nodes))  # type: ignore[attr-defined]
            open_nodes.append((len(nodes), depth + 1))
            nodes.append({"parent": here, "test": test, "children": []})
    has_default = random.random() < 0.5
    made = tuple(
        Node(
            place,
            str(place),
            node["parent"],  # type: ignore[arg-type]
            tuple(node["children"]),  # type: ignore[arg-type]
            node["test"],  # type: ignore[arg-type]
            default_child=int(random.choice(node["children"]))  # type: ignore[arg-type]
            if node["children"] and has_default
            else None,
        )
        for place, node in enumerate(nodes)
    )
    missing = Missing.DEFAULT_CHILD if has_default else Missing.NONE
    return Tree(made, tuple(features), "ill", CLASSES, missing=missing, format="sklearn")


def _tests(random: np.random.Generator, feature: Feature) -> list[Predicate]:
    if feature.numeric:
        ends = sorted(
            {float(v) for v in random.integers(0, 5, size=1 if random.random() < 0.8 else 2)}
        )
        closed = [bool(random.random() < 0.5) for _ in ends]
        edges = [(-math.inf, True), *zip(ends, closed, strict=True), (math.inf, False)]
        return [
            NumericTest(
                feature.name,
                low[0],
                high[0],
                low[0] > -math.inf and not low[1],
                high[1] and high[0] < math.inf,
            )
            for low, high in itertools.pairwise(edges)
        ]
    chosen = [name for name in feature.values if random.random() < 0.5] or [feature.values[0]]
    first = CategoryTest(feature.name, tuple(chosen))
    if random.random() < 0.2:
        rest = [name for name in feature.values if name not in chosen] or ["other"]
        return [first, *(CategoryTest(feature.name, (name,)) for name in rest)]
    return [first, CategoryTest(feature.name, tuple(chosen), negated=True)]


def _counted(
    tree: Tree,
    route: Sequence[int | None],
    points: Sequence[int],
    codes: Sequence[int],
    random: np.random.Generator | None,
) -> Tree:
    counts = np.zeros((len(tree.nodes), len(CLASSES)))
    for point, code in zip(points, codes, strict=True):
        here = route[point]
        while here is not None:
            counts[here, code] += 1
            here = tree.nodes[here].parent
    nodes = []
    for place, node in enumerate(tree.nodes):
        row: tuple[float | None, ...] = tuple(counts[place].tolist())
        is_withheld = random is not None and bool(node.children or place) and random.random() < 0.3
        if is_withheld and place:
            nodes.append(node)
            continue
        nodes.append(replace(node, class_counts=row, records=float(sum(counts[place]))))
    return replace(tree, nodes=tuple(nodes), quality=Quality.EXACT)


# All tables that fit, by counting.


def fitting(case: TableCase, most: int) -> list[tuple[int, ...]] | None:
    """Return all tables that have the counts of the file, as numbers by point and class; None where they are many."""
    names = list(case.columns)
    rows: dict[tuple[int, int, int], int] = {}
    below: dict[tuple[int, int, int], list[int]] = {}
    numbers: list[list[tuple[int, int, int]] | None] = []
    for tree_number, tree in enumerate(case.trees):
        for node in tree.nodes:
            for code, count in enumerate(node.class_counts or ()):
                if count is not None:
                    rows[tree_number, node.index, code] = round(count)
    for point in case.domain:
        record = dict(zip(names, point, strict=True))
        stops = [stop_of(tree, record) for tree in case.trees]
        for code in range(len(CLASSES)):
            keys: list[tuple[int, int, int]] | None = None if None in stops else []
            for tree_number, stop in enumerate(stops):
                here = stop
                while keys is not None and here is not None:
                    if (tree_number, here, code) in rows:
                        keys.append((tree_number, here, code))
                    here = case.trees[tree_number].nodes[here].parent
            numbers.append(keys)
            for key in keys or ():
                below.setdefault(key, []).append(len(numbers) - 1)
    last = {key: max(below[key]) for key in rows if key in below}
    if any(count and key not in below for key, count in rows.items()):
        return []
    found: list[tuple[int, ...]] = []
    _fill(numbers, dict(rows), last, [], found, most)
    return None if len(found) > most else found


def _fill(
    numbers: list[list[tuple[int, int, int]] | None],
    left: dict[tuple[int, int, int], int],
    last: dict[tuple[int, int, int], int],
    chosen: list[int],
    found: list[tuple[int, ...]],
    most: int,
) -> None:
    if len(found) > most:
        return
    place = len(chosen)
    if place == len(numbers):
        found.append(tuple(chosen))
        return
    keys = numbers[place]
    ends = [left[key] for key in keys or ()]
    highest = min(ends) if keys else 0
    must = {left[key] for key in keys or () if last[key] == place}
    if len(must) > 1 or (must and max(must) > highest):
        return
    for number in sorted(must) if must else range(highest + 1):
        for key in keys or ():
            left[key] -= number
        chosen.append(number)
        _fill(numbers, left, last, chosen, found, most)
        chosen.pop()
        for key in keys or ():
            left[key] += number


# Judging.


def model_of(case: TableCase) -> Tree | Ensemble:
    """Return what is published."""
    if len(case.trees) == 1:
        return case.trees[0]
    return Ensemble(
        members=tuple(Member(tree) for tree in case.trees),
        combination=Combination.AVERAGE,
        features=case.trees[0].features,
        target="ill",
        classes=CLASSES,
        sampling=TreeSampling(False),
    )


def judge(seed: int, most: int = MOST_FITTING) -> Tally:
    """Judge one file."""
    case, tally = drawn(seed), Tally()
    counted = fitting(case, most)
    if counted is None:
        tally.left_out += 1
        return tally
    is_grown = case.trees[0].learner.tool is Tool.SCIKIT_LEARN
    tables = [table for table in counted if not is_grown or is_half_way(case, table)]
    tally.files += 1
    tally.narrowed += len(tables) < len(counted)
    found = reconstruct(model_of(case), clock(SECONDS), case.declared)
    if isinstance(found, Undetermined):
        tally.undetermined += 1
        return tally
    numbers = np.array(tables).reshape(len(tables), -1, len(CLASSES))
    tally.with_thresholds += HALF_WAY in found.assumed
    _hold(case, found, numbers, len(counted), tally, f"seed {seed}")
    _same_in_boxes(case, found, tally, f"seed {seed}")
    _same_by_generation(case, found, np.array(counted), tally, f"seed {seed}")
    _proved_of_some(case, found, np.array(counted), tally, f"seed {seed}")
    _hold_values(case, found, tables, tally, f"seed {seed}")
    if case.settings is not None:
        _grow_all(case, {tuple(table) for table in tables}, tally, f"seed {seed}")
    return tally


def judge_values(seed: int, most: int = MOST_FITTING) -> Tally:
    """Judge one file of trees that compared all columns, whose values are all declared."""
    random = np.random.default_rng(seed)
    case, tally = _grown(random), Tally()
    there = {name: tuple(v for v in values if v == v) for name, values in case.columns.items()}
    learner = {**(case.learner or {}), "max_features": None, "n_estimators": 1}
    points = [
        list(itertools.product(*there.values())).index(point) for point in _without_gaps(case)
    ]
    declared = {name: DeclaredColumn(values) for name, values in there.items()}
    case = TableCase(there, DeclaredDomain(declared), (), tuple(points), case.codes, None, learner)
    case = replace(case, trees=_forest(case, points, case.codes, learner))
    asked = _tested(case)
    case = replace(case, declared=DeclaredDomain({n: declared[n] for n in declared if n in asked}))
    counted = fitting(case, most) if asked else None
    tables = [table for table in counted or () if is_half_way(case, table)]
    if counted is None or len(tables) > MOST_REGROWN:
        tally.left_out += 1
        return tally
    tally.files += 1
    found = reconstruct(model_of(case), clock(SECONDS), case.declared)
    if isinstance(found, Undetermined):
        tally.undetermined += 1
        return tally
    _hold_values(case, found, tables, tally, f"values, seed {seed}")
    return tally


def _without_gaps(case: TableCase) -> list[Point]:
    """Return the records of a table, with the least value of a column in place of a missing one."""
    lowest = [values[0] for values in case.columns.values()]
    return [
        tuple(low if v != v else v for v, low in zip(case.domain[point], lowest, strict=True))
        for point in case.points
    ]


def _hold(
    case: TableCase,
    found: Reconstruction,
    numbers: np.ndarray,
    counted: int,
    tally: Tally,
    where: str,
) -> None:
    """Hold what was proved against all tables: of each cell, and of each point where a cell is one.

    ``counted`` is how many tables have the counts, whatever thresholds say of them.
    """
    names, domain = list(case.columns), case.domain
    cell_of_stops = {
        tuple(found.cells.stops[:, cell].tolist()): cell
        for cell in range(found.cells.stops.shape[1])
    }
    summed = np.zeros((len(numbers), *found.counts.low.shape), dtype=np.int64)
    points_of: dict[int, list[int]] = {}
    for place, point in enumerate(domain):
        record = dict(zip(names, point, strict=True))
        cell = cell_of_stops.get(tuple(stop_of(tree, record) for tree in case.trees))  # type: ignore[arg-type]
        if cell is None:
            if numbers[:, place].any():
                tally.misses.append(f"{where}: a point with records is in no cell")
            continue
        summed[:, cell] += numbers[:, place]
        points_of.setdefault(cell, []).append(place)
    least, most = summed.min(axis=0), summed.max(axis=0)
    counts = found.counts
    if (counts.low > least).any() or (counts.high < most).any():
        tally.misses.append(f"{where}: a wrong proof")
    is_declared = len(case.declared.columns) == len(names)
    is_all = counted == len(numbers)
    if (
        is_all
        and is_declared
        and ((counts.shown_low < least).any() or (counts.shown_high > most).any())
    ):
        tally.misses.append(f"{where}: a table was shown that is none")
    if found.counts.table is None:
        tally.misses.append(f"{where}: no table was found")
    whole = found.is_whole
    for cell in np.flatnonzero(whole & (counts.low.sum(axis=1) > 0)).tolist():
        tested = [n for n, name in enumerate(names) if name in _tested(case)]
        used = [p for p in points_of.get(cell, []) if numbers[:, p].any()]
        seen = {tuple(str(domain[p][n]) for n in tested) for p in used}
        if len(seen) != 1:
            tally.misses.append(f"{where}: a cell of several points is called one record")
    if is_declared and len(_tested(case)) == len(names):
        tally.every += int(least.sum())
        tally.proved += int(counts.low.sum())
        if found.counts.filled is not None:
            tally.counted += 1
            if not len(numbers) <= found.counts.filled <= counted:
                tally.misses.append(f"{where}: {found.counts.filled} tables, are {len(numbers)}")


MOST_REGROWN = 60
"""Of files with more tables it is not tried which of them give the same file."""


def _hold_values(
    case: TableCase,
    found: Reconstruction,
    tables: Sequence[tuple[int, ...]],
    tally: Tally,
    where: str,
) -> None:
    """Hold what is proved of single values against all tables that give the same file when they are trained on."""
    values = found.values
    if values is None or len(tables) > MOST_REGROWN or case.learner is None:
        return
    key, alike = _file_key(case.trees), []
    for table in tables:
        places = np.repeat(np.arange(len(table)), table)
        if len(set((places % 2).tolist())) < 2:
            continue
        trees = _forest(case, (places // 2).tolist(), (places % 2).tolist(), case.learner)
        alike += [table] if _file_key(trees) == key else []
    if not alike:
        return  # the file is equal only where random numbers of the training are
    columns = [
        (list(case.columns).index(name), options.samples.numbers)  # type: ignore[attr-defined]
        for factor in values.points.domain.factors
        for name, options in factor.columns.items()
    ]
    place_of = {
        tuple(
            float(n[options[0]])
            for (_, n), options in zip(columns, values.points.options_of(p), strict=True)
        ): p
        for p in range(len(values.cell))
    }
    by_point = np.array(alike).reshape(len(alike), -1, len(CLASSES))
    summed = np.zeros((len(alike), *values.counts.low.shape), dtype=np.int64)
    for point, numbers in zip(case.domain, by_point.transpose(1, 0, 2), strict=True):
        place = place_of.get(tuple(float(point[n]) for n, _ in columns))
        if place is not None:
            summed[:, place] += numbers
        elif numbers.any():
            tally.misses.append(f"{where}: a single value with records is not among the points")
    least = summed.min(axis=0)
    if (values.counts.low > least).any() or (values.counts.high < summed.max(axis=0)).any():
        tally.misses.append(f"{where}: a wrong proof of single values")
    if found.whole_records > int(least.sum()):
        tally.misses.append(f"{where}: too many whole records")
    tally.of_values += 1
    tally.every_value += int(least.sum())
    tally.proved_values += int(values.counts.low.sum())
    tally.whole += found.whole_records
    tally.whole_by_counts += int(found.proved[found.is_whole].sum())


def is_half_way(case: TableCase, table: Sequence[int]) -> bool:
    """Whether the records of a table make each threshold, as scikit-learn adds the two halves of 32-bit numbers."""
    domain, names = case.domain, list(case.columns)
    records = [
        dict(zip(names, domain[place // len(CLASSES)], strict=True))
        for place, number in enumerate(table)
        if number
    ]
    for tree in case.trees:
        held: dict[int, list[Mapping[str, Value]]] = {}
        for record in records:
            here = stop_of(tree, record)
            while here is not None:
                held.setdefault(here, []).append(record)
                here = tree.nodes[here].parent
        for node in tree.nodes:
            tests = [tree.nodes[child].test for child in node.children]
            if not tests or not all(isinstance(test, NumericTest) for test in tests):
                continue
            end = max(test.low for test in tests)  # type: ignore[union-attr]
            values = [float(record[tests[0].feature]) for record in held[node.index]]  # type: ignore[union-attr]
            below, above = [v for v in values if v <= end], [v for v in values if v > end]
            if math.isinf(end):
                continue
            # A cut that parts those who lack a value from all others lies at infinity.
            if not below or not above:
                return False
            if float(np.float32(max(below))) / 2 + float(np.float32(min(above))) / 2 != end:
                return False
    return True


def _same_in_boxes(case: TableCase, found: Reconstruction, tally: Tally, where: str) -> None:
    """Hold the cells that are found by points against those found by parting boxes."""
    leaves = read_counts(case.trees)
    assert not isinstance(leaves, Undetermined)
    boxes = find_boxes(case.trees, leaves, found.cells.domain, clock(SECONDS))
    if isinstance(boxes, Undetermined):
        tally.misses.append(f"{where}: {boxes.reason}")
        return
    described = [
        {
            (
                *cells.stops[:, c].tolist(),
                *cells.alive[c].tolist(),
                *cells.options[c].tolist(),
                size,
            )
            for c, size in enumerate(cells.sizes.tolist())
        }
        for cells in (found.cells, boxes)
    ]
    if described[0] != described[1]:
        tally.misses.append(f"{where}: other cells by parting boxes")


def _same_by_generation(
    case: TableCase, found: Reconstruction, tables: np.ndarray, tally: Tally, where: str
) -> None:
    """Hold the cells that are generated one by one against all tables: each that has records somewhere is there."""
    leaves = read_counts(case.trees)
    assert not isinstance(leaves, Undetermined)
    try:
        cells = generate_cells(case.trees, leaves, found.cells.domain, clock(SECONDS))
    except ContradictionError:
        tally.misses.append(f"{where}: cells one by one contradict the counts")
        return
    if isinstance(cells, Undetermined):
        return
    tally.generated += 1
    listed = {tuple(s): c for c, s in enumerate(found.cells.stops.T.tolist())}
    place_of = {tuple(s): c for c, s in enumerate(cells.stops.T.tolist())}
    for stops, place in place_of.items():
        same = listed.get(stops)
        if same is None or (cells.options[place] != found.cells.options[same]).any():
            tally.misses.append(f"{where}: a cell was generated that is none")
    names = list(case.columns)
    held = tables.reshape(len(tables), -1, len(CLASSES)).any(axis=0)
    for point, by_class in zip(case.domain, held, strict=True):
        record = dict(zip(names, point, strict=True))
        stop = tuple(stop_of(tree, record) for tree in case.trees)
        place = place_of.get(stop)  # type: ignore[arg-type]
        alive = np.zeros(len(by_class), dtype=bool) if place is None else cells.alive[place]
        if (
            (by_class[: len(alive)] & ~alive).any()
            if len(alive) > 1
            else by_class.any() & ~alive.any()
        ):
            tally.misses.append(f"{where}: a cell with records was not generated")


def _proved_of_some(
    case: TableCase, found: Reconstruction, tables: np.ndarray, tally: Tally, where: str
) -> None:
    """Hold what is proved of some cells, beside which others were never generated, against all tables."""
    leaves = read_counts(case.trees)
    assert not isinstance(leaves, Undetermined)
    domain = found.cells.domain
    cells = generate_cells(case.trees, leaves, domain, clock(SECONDS), seeks_all=False)
    if isinstance(cells, Undetermined) or cells.least is None:
        return
    place_of = {tuple(s): c for c, s in enumerate(cells.stops.T.tolist())}
    by_point = tables.reshape(len(tables), -1, len(CLASSES))
    summed = np.zeros((len(tables), *cells.least.shape), dtype=np.int64)
    for point, numbers in zip(case.domain, by_point.transpose(1, 0, 2), strict=True):
        record = dict(zip(case.columns, point, strict=True))
        place = place_of.get(tuple(stop_of(tree, record) for tree in case.trees))  # type: ignore[arg-type]
        if place is not None:
            is_by_class = summed.shape[2] == len(CLASSES)
            summed[:, place] += numbers if is_by_class else numbers.sum(axis=1, keepdims=True)
    least = summed.min(axis=0)
    tally.of_some += int(least.sum())
    tally.proved_of_some += int(cells.least.sum())
    if (cells.least > least).any():
        tally.misses.append(f"{where}: a wrong proof of cells beside others")


def _tested(case: TableCase) -> set[str]:
    return {
        name
        for tree in case.trees
        for node in tree.nodes
        if (name := getattr(node.test, "feature", None)) is not None
    }


def _grow_all(case: TableCase, tables: set[tuple[int, ...]], tally: Tally, where: str) -> None:
    """Grow a forest on every table of the same size; those that give an equal file must fit it."""
    assert case.settings is not None
    key = _file_key(case.trees)
    cells = range(len(case.domain) * len(CLASSES))
    for chosen in _some(itertools.combinations_with_replacement(cells, len(case.points)), 400):
        codes = [cell % 2 for cell in chosen]
        if len(set(codes)) < 2:
            continue
        trees = _forest(case, [cell // 2 for cell in chosen], codes, case.settings)
        tally.regrown += 1
        if _file_key(trees) == key:
            table = np.bincount(chosen, minlength=len(cells))
            if tuple(table.tolist()) not in tables:
                tally.misses.append(f"{where}: a table that grows the file does not fit it")


def _some(every: Iterator[tuple[int, ...]], most: int) -> list[tuple[int, ...]]:
    """Return so many of all, spread over them."""
    all_of = list(every)
    return all_of[:: max(1, len(all_of) // most)]


def _file_key(trees: Sequence[Tree]) -> str:
    return repr(
        [
            [(n.test, n.class_counts, n.children, n.default_child) for n in tree.nodes]
            for tree in trees
        ]
    )


def main() -> None:
    """Judge files until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--values", action="store_true", help="trees that compared all columns")
    given = parser.parse_args()
    total, seed = Tally(), given.seed
    judge_one = judge_values if given.values else judge
    while (total.of_values if given.values else total.files) < given.files:
        total.add(judge_one(seed))
        seed += 1
    for miss in total.misses:
        print("MISS", miss)
    share = total.proved / max(total.every, 1)
    print(
        f"{total.files:,} files ({total.undetermined} undetermined, {total.left_out} left out: too many tables fit), "
        f"{len(total.misses)} misses; of {total.every:,} records that every table has {total.proved:,} were proved "
        f"({share:.1%}); tables counted right in {total.counted:,} files; {total.regrown:,} forests grown again; "
        f"thresholds say more than counts in {total.narrowed:,} files, and were used in {total.with_thresholds:,}; "
        f"cells generated one by one in {total.generated:,} files; "
        f"of {total.of_some:,} records in cells beside others {total.proved_of_some:,} were proved; in "
        f"{total.of_values:,} files with rules for single values, {total.proved_values:,} of {total.every_value:,} "
        f"records with all values were proved, {total.whole:,} in place of {total.whole_by_counts:,} without them"
    )
    sys.exit(bool(total.misses))


if __name__ == "__main__":
    main()
