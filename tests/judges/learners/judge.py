"""Judges of small cases, none of the product's arithmetic in them: the learner run again, every table by definition.

A table is a row of classes, one per record. Only the first of those tables is kept that differ by an exchange between
records with the same values (and weight), as no learner tells them apart.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tests.judges.learners.learners import Case, Node

LEAST_STEP = np.float32(1e-7)
"""scikit-learn adds this to a 32-bit number, in 32 bits, and takes no number up to there for a larger one."""
WHOLES = 2520
"""A multiple of every number up to 10: shares of so few records are whole numbers of it."""
PRIMES = (2, 3, 5, 7)


@dataclass(frozen=True)
class Judged:
    """What the judges found; tables are (K, n) classes of records.

    ``regrown`` are those on which the learner grows the very same tree, ``worlds`` those that obey by definition what
    the file says (where the judges know every candidate), ``strict`` those of them where all candidates before the
    chosen one are truly worse.
    """

    tables: int
    regrown: np.ndarray
    worlds: np.ndarray
    strict: np.ndarray


def judged(case: Case) -> Judged:
    """Return what the learner and the definitions say of every table of a case."""
    tables = _tables(case)
    fit = tables[_obeys_leaves(case, tables) & _has_labels(case, tables, "leaf")]
    first = fit[_has_labels(case, fit, "first") & _has_every_class(case, fit)]
    regrown = np.array([case.grows(table) for table in first], dtype=bool)
    if not case.is_defined:
        return Judged(len(fit), first[regrown], fit[:0], fit[:0])
    worlds = fit[_has_labels(case, fit, "all")] if case.says_inner_labels else fit
    good, strict = np.ones(len(worlds), dtype=bool), np.ones(len(worlds), dtype=bool)
    for node in case.nodes if case.knows_splits else ():
        for name, sides in candidates(case, node):
            equal, better = _compared(case, worlds, node, sides)
            good &= ~better
            if case.order and case.order.index(name) < case.order.index(node.column):
                strict &= ~equal
    return Judged(len(fit), first[regrown], worlds[good], worlds[good & strict])


def forced(case: Case, tables: np.ndarray) -> np.ndarray:
    """Return which records stand among others of the same values that all have one class in every table, (n,)."""
    found = np.zeros(len(case.labels), dtype=bool)
    for profile in set(case.profiles):
        inside = np.array([each == profile for each in case.profiles])
        found[inside] = len(np.unique(tables[:, inside])) == 1
    return found


def _tables(case: Case) -> np.ndarray:
    every = np.array(list(itertools.product(range(len(case.classes)), repeat=len(case.labels))))
    good = np.ones(len(every), dtype=bool)
    for profile in set(case.profiles):
        inside = [place for place, each in enumerate(case.profiles) if each == profile]
        good &= (np.diff(every[:, inside], axis=1) >= 0).all(axis=1)
    return every[good]


def _has_every_class(case: Case, tables: np.ndarray) -> np.ndarray:
    """Return where each class occurs: the learner names no other, but a file may, so it is no fact of the file's."""
    found = [(tables == klass).any(axis=1) for klass in range(len(case.classes))]
    return np.all(found, axis=0)


def _sums(case: Case, tables: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Return the weight of each class among some records, (K, m); everybody weighs 1 where nothing else is said."""
    weight = np.ones(len(case.labels)) if case.weights is None else np.array(case.weights)
    times = case.class_weights or (1.0,) * len(case.classes)
    return np.stack([((tables == k) & inside) @ weight * times[k] for k in range(len(times))], 1)


def _obeys_leaves(case: Case, tables: np.ndarray) -> np.ndarray:
    good = np.ones(len(tables), dtype=bool)
    for node in case.nodes:
        if node.column or case.level == "labels":
            continue
        here, true = (_sums(case, each, node.inside) for each in (tables, np.array([case.labels])))
        same = np.abs(here - true) < 1e-9
        good &= same.all(axis=1) if case.level == "counts" else same[:, node.label]
    return good


def _has_labels(case: Case, tables: np.ndarray, which: str) -> np.ndarray:
    """Return where labels are most frequent: those of leaves, of all nodes, or the first of several at all nodes."""
    good = np.ones(len(tables), dtype=bool)
    for node in case.nodes:
        if which == "leaf" and node.column:
            continue
        sums = _sums(case, tables, node.inside)
        if which == "first":
            good &= sums.argmax(axis=1) == node.label
        else:
            good &= sums[:, node.label] >= sums.max(axis=1) - 1e-9
    return good


def candidates(case: Case, node: Node) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what the learner compares at a node: the column, and each record's side (-1 outside of the node)."""
    if not node.column:
        return
    for name, values in case.columns.items():
        sides = _thresholds(values, node.inside)
        if case.order:
            sides = _branches(values, node.inside) if name not in node.above else iter(())
        for side in sides:
            side = np.where(node.inside, side, -1)
            if min(np.bincount(side[node.inside])) >= case.min_leaf:
                yield name, side


def _branches(values: list, inside: np.ndarray) -> Iterator[np.ndarray]:
    """Yield one branch per category, where all records of the node have one and there are several."""
    here = {value for value, is_in in zip(values, inside, strict=True) if is_in}
    if None not in here and len(here) > 1:
        code = {value: place for place, value in enumerate(sorted(here))}
        yield np.array([code.get(value, -1) for value in values])


def _thresholds(values: list, inside: np.ndarray) -> Iterator[np.ndarray]:
    """Yield scikit-learn's candidates: every cut, missing cells on either side, and missing against the rest."""
    if isinstance(next((v for v in values if v is not None), 0.0), str):
        return
    seen = np.array(values, dtype=float).astype(np.float32)
    missing = np.isnan(seen)
    steps = np.unique(seen[inside & ~missing])
    cuts = [
        upper
        for lower, upper in itertools.pairwise(steps)
        if upper > np.float32(lower + LEAST_STEP)
    ]
    is_missing_there = (missing & inside).any()
    for upper in cuts:
        right = seen >= upper
        yield np.where(missing, 1, right)
        if is_missing_there:
            yield np.where(missing, 0, right)
    if is_missing_there and len(steps):
        yield missing.astype(int)


def _compared(
    case: Case, tables: np.ndarray, node: Node, sides: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where a candidate is exactly as good as the chosen split, and where it is better, (K,)."""
    chosen = node.sides
    if (_relabelled(chosen) == _relabelled(sides)).all():
        return np.zeros(len(tables), dtype=bool), np.zeros(len(tables), dtype=bool)
    its, own = _purity(case, tables, sides), _purity(case, tables, chosen)
    equal = (its == own).all(axis=1)
    unit = np.log(PRIMES) if case.criterion == "entropy" else np.ones(1)
    return equal, ~equal & ((its - own) @ unit > 0)


def _relabelled(sides: np.ndarray) -> np.ndarray:
    """Return the sides numbered as they are met, so that the same parts look the same."""
    number = {-1: -1}
    return np.array([number.setdefault(int(side), len(number)) for side in sides])


def _purity(case: Case, tables: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """Return how pure the branches are, in whole numbers: by gini (K, 1), by entropy powers of primes (K, 4)."""
    total = np.zeros((len(tables), len(PRIMES) if case.criterion == "entropy" else 1), dtype=int)
    for branch in range(sides.max() + 1):
        sums = np.rint(_sums(case, tables, sides == branch)).astype(int)
        size = int(sums[0].sum()) if len(sums) else 0
        if case.criterion == "entropy":
            total += LOGS[sums].sum(axis=1) - LOGS[size]
        elif size:
            total[:, 0] += (sums**2).sum(axis=1) * (WHOLES // size)
    return total


def _powers(number: int) -> list[int]:
    """Return the powers of primes in n^n."""
    return [
        number * max((e for e in range(4) if number and number % p**e == 0), default=0)
        for p in PRIMES
    ]


LOGS = np.array([_powers(number) for number in range(11)])
"""n log n for up to 10 records, as whole multiples of the logarithms of primes: equal only where truly equal."""
assert math.isclose(float(LOGS[10] @ np.log(PRIMES)), 10 * math.log(10))
