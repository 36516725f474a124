"""Trees, people and rows written by hand, and all their worlds by brute force: the judge of exact reasoning.

Shares no arithmetic with the product: gini in fractions, entropy as products of powers of whole numbers.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.result import Tiers
from treewarden.audit.facts.rows import (
    Case,
    Grouping,
    LeafMass,
    Linear,
    Origin,
    Plurality,
    ProfileTotals,
    SplitFamily,
)
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import members
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Criterion, Node, Tree


def tree_of(shape, classes):
    """Return a tree from nested lists: a list of profile numbers is a leaf, a list of lists an inner node."""
    nodes, leaf = [], {}

    def grow(part, parent):
        number = len(nodes)
        nodes.append(None)
        is_leaf = isinstance(part[0], int)
        if is_leaf:
            leaf.update(dict.fromkeys(part, number))
        children = () if is_leaf else tuple(grow(child, number) for child in part)
        nodes[number] = Node(number, str(number), parent, children)
        return number

    grow(shape, None)
    stops = np.array([leaf[q] for q in range(len(leaf))])
    return Tree(tuple(nodes), (), "secret", tuple(f"c{k}" for k in range(classes))), stops


def system_of(counts, shape, leaves, candidates, *, classes=2, criterion="gini", totals=None):
    """Return a system: ``leaves`` are rows per leaf, in order; ``candidates`` are (node, branch of each profile there).

    A leaf is a tuple of class counts, {"label": class} or {"label": class, "mass": records}.
    """
    tree, stops = tree_of(shape, classes)
    size = len(counts)
    column = CategoricalColumn(
        codes=np.arange(size), categories=tuple(f"q{number + 1}" for number in range(size))
    )
    people = Population(
        ("who",), {"who": column}, np.array(counts, dtype=float), stops, Undetermined("by hand")
    )
    case = Case(tree, people, members(tree, stops), Knowledge())
    rows = [ProfileTotals(people.counts, Origin("profile", "people"))]
    for node, known in zip((x.index for x in tree.leaves), leaves, strict=True):
        rows += leaf_rows(node, known)
    for node, branches in candidates:
        rows.append(family(case, node, branches, Criterion(criterion)))
    for klass, total in enumerate(totals[:-1] if totals else ()):
        everyone = np.arange(size)
        origin = Origin("marginal", f"{total} records have class {klass}")
        rows.append(Linear(everyone, np.full(size, klass), np.ones(size), total, total, origin))
    return System(case, tuple(rows), ())


def leaf_rows(node, known):
    origin = Origin("leaf", f"leaf {node}", node)
    if isinstance(known, tuple):
        return [LeafMass(node, klass, mass, mass, origin) for klass, mass in enumerate(known)]
    rows = [Plurality(node, known["label"], 0.0, origin)]
    if "mass" in known:
        rows.append(LeafMass(node, known["label"], known["mass"], known["mass"], origin))
    return rows


def family(case, node, branches, criterion):
    inside = case.members.profiles_at(node)
    order = np.sort(inside)
    bins = np.array([int(branch) for branch in branches])
    chosen = np.full(len(case.population.counts), -1)
    for number, child in enumerate(case.tree.nodes[node].children):
        chosen[case.members.profiles_at(child)] = number
    return SplitFamily(
        node,
        f"a{branches}",
        criterion,
        Grouping.MULTIWAY,
        order,
        chosen[order],
        np.unique(bins, return_inverse=True)[1],
        np.array([0]),
        tuple(str(b) for b in sorted(set(bins.tolist()))),
        Origin("split_choice", f"node {node}", node),
    )


def tables(system):
    """Yield every table of whole records."""
    counts = system.case.population.counts.astype(int)
    m = len(system.case.tree.classes)
    ways = [
        [row for row in itertools.product(range(n + 1), repeat=m) if sum(row) == n] for n in counts
    ]
    yield from (np.array(table) for table in itertools.product(*ways))


def obeys(system, table, *, splits=True, strict=False):
    """Return whether a table obeys every row, by its definition."""
    for row in system.rows:
        if isinstance(row, SplitFamily):
            if splits and not _split_holds(row, table, strict):
                return False
        elif isinstance(row, LeafMass):
            here = table[system.case.members.stops(row.node), row.klass].sum()
            if not row.low - 1e-6 <= here <= row.high + 1e-6:
                return False
        elif isinstance(row, Plurality):
            total = table[system.case.members.stops(row.node)].sum(axis=0)
            if any(
                total[c] + row.margin + (c in row.before) > total[row.label]
                for c in range(len(total))
                if c != row.label
            ):
                return False
        elif isinstance(row, Linear):
            value = (row.weights * table[row.profiles, row.classes]).sum()
            if not row.low - 1e-6 <= value <= row.high + 1e-6:
                return False
    return True


def _split_holds(row, table, strict):
    here = table[row.profiles]
    for code in row.admissible.tolist():
        sides = [_side(row.grouping, code, b) for b in row.bins.tolist()]
        order = _compare(row.criterion, here, row.chosen.tolist(), sides)
        if order > 0 or (strict and order == 0):
            return False
    return True


def _side(grouping, code, bin_):
    if grouping == "multiway":
        return bin_
    if grouping == "threshold":
        return int(bin_ > code)
    if grouping == "one-against-rest":
        return int(bin_ != code)
    return 1 - (code >> bin_ & 1)


def _branches(here, group):
    return [
        here[[k for k, g in enumerate(group) if g == b]].sum(axis=0).tolist()
        for b in sorted(set(group))
    ]


def _compare(criterion, here, chosen, other):
    """Return the sign of E(chosen) - E(other), or of the difference of the gain ratios the other way round."""
    first, second = _branches(here, chosen), _branches(here, other)
    if criterion == "gini":
        pure = [
            sum(Fraction(sum(u * u for u in b), sum(b)) for b in split) for split in (first, second)
        ]
        return (pure[1] > pure[0]) - (pure[1] < pure[0])
    if criterion == "gain-ratio":
        gap = _gain_ratio(second) - _gain_ratio(first)
        return 0 if abs(gap) < 1e-9 else int(math.copysign(1, gap))
    over, under = [], []
    for split, up, down in ((second, over, under), (first, under, over)):
        up += [u**u for b in split for u in b if u]
        down += [sum(b) ** sum(b) for b in split]
    left, right = math.prod(over), math.prod(under)
    return (left > right) - (left < right)


def _gain_ratio(split):
    def entropy(parts):
        return -sum(p / sum(parts) * math.log(p / sum(parts)) for p in parts if p)

    total = [sum(c) for c in zip(*split, strict=True)]
    n = sum(total)
    after = sum(sum(b) / n * entropy(b) for b in split)
    return (entropy(total) - after) / entropy([sum(b) for b in split])


def brute_force(system, strict=False):
    """Return all worlds, their data sets, and how many there are of both without split rows."""
    counts = system.case.population.counts.astype(int)
    found, free, free_sets = [], 0, 0
    for table in tables(system):
        if not obeys(system, table, splits=False):
            continue
        ways = math.prod(
            math.factorial(int(n)) // math.prod(math.factorial(int(x)) for x in row)
            for n, row in zip(counts, table, strict=True)
        )
        free, free_sets = free + 1, free_sets + ways
        if obeys(system, table, strict=strict):
            found.append((table, ways))
    return found, free, free_sets


def posterior_of(found, counts):
    total = sum(ways for _, ways in found)
    mean = sum(np.array(table, dtype=object) * Fraction(ways, total) for table, ways in found)
    return np.array([[float(x / int(n)) for x in row] for row, n in zip(mean, counts, strict=True)])


ONLY_PROOFS = Tiers(enumerate=None)


def worlds_of(system, **options):
    return reason(system, **{"budget_seconds": 30.0, **options})
