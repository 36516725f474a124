"""Attribute inference from published node sizes: on which side of a split people lie, by their other columns.

A node publishes how many people it holds. An adversary who knows all tested columns but one counts who can be there,
whatever the value of that one column is. Where as many can be there as the node holds, all of them are there, and the
path of the node tells the column of each. Where the node holds nobody, none of them is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from treewarden.audit.partial.attributes.plain_sizes import covered, held_at, plain_tree, settled
from treewarden.audit.partial.partial_view import TreeBranches, branches
from treewarden.audit.partial.secret_values import ValueKinds, column_tests, value_kinds_of
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tables.routing import SEVERAL, NumericMatrix, branching, prepared
from treewarden.ppdm_models.tree.column import Column, Columns, NumericColumn
from treewarden.ppdm_models.tree.plain_splits import totals_of
from treewarden.ppdm_models.tree.predicate import answer
from treewarden.ppdm_models.tree.tree import Missing, Tree

MOST_VISITS = 20_000_000
"""Pairs of a profile and a node that are looked at in all trees together: two seconds at most."""
NODE_VISITS = 2_000
"""What a node costs besides, in such pairs."""
NO_TABLE = "no table was given"
NO_SIZES = "no tree publishes record counts of its nodes"
DRAWN = "the file counts draws of a sample, not people"
WEIGHED = "the file counts weights, not people"
TOO_MUCH = "the search reached its limit after {:,} of {:,} trees"
NOT_ALL_TREES = "{:,} of {:,} trees publish no record counts of nodes"
ALL = 0
"""The code of a profile that passes every test on the way to a node; 1 + c: every test but those that read column c."""


@dataclass(frozen=True, slots=True)
class SizeProof:
    """A tested column of which node sizes prove something: of which profiles, (P,), and at which node most of all.

    ``people`` are how many people that are, ``tree`` and ``node`` where most of them are proved at once.
    """

    column: str
    profiles: BoolArray
    people: float
    tree: int
    node: int
    people_of_node: float


@dataclass(frozen=True, slots=True)
class SizeInference:
    """What follows of each tested column, most people first, and why there may be more; "" where all was looked at."""

    proofs: tuple[SizeProof, ...] = ()
    incomplete: str = ""


@dataclass(frozen=True, slots=True)
class SizeClaim:
    """What the size of one node proves of a column of some profiles: which of these values they can have, (D,)."""

    profiles: IndexArray
    values: Column
    is_left: BoolArray


def infer_from_sizes(
    forest: Forest, population: Population, columns: Collection[str], most: int = MOST_VISITS
) -> SizeInference:
    """Return what published node sizes prove of each of these columns to an adversary who knows the other ones.

    Each tree is read by itself, node by node. Sizes that count draws or weights are no sizes here.
    """
    search = _SizeSearch(population, tuple(columns), most)
    incomplete = _searched(search, forest, population)
    return SizeInference(search.proofs(), incomplete)


def claims_of(
    forest: Forest,
    population: Population,
    column: str,
    ends: Sequence[float] = (),
) -> tuple[list[SizeClaim], str]:
    """Return all that node sizes prove of one column, and why there may be more; ``ends`` part its numbers besides."""
    search = _SizeSearch(population, (column,), MOST_VISITS, ends=ends, keeps_claims=True)
    incomplete = _searched(search, forest, population)
    return search.claims, incomplete


def _searched(search: _SizeSearch, forest: Forest, population: Population) -> str:
    """Search all trees, and return why there may be more than was found."""
    if population.is_absent:
        return NO_TABLE
    if population.weight is not None:
        return WEIGHED
    if forest.draws:
        return DRAWN
    trees = forest.trees
    unsized = done = 0
    for place, (tree, stops) in enumerate(zip(trees, forest.stops, strict=True)):
        sizes = published_sizes(tree)
        if np.isnan(sizes).all() or (stops == SEVERAL).any():
            unsized += 1
        elif search.left <= 0:
            break
        elif not search.add_plain(place, tree, stops, sizes):
            search.add(place, tree, sizes)
        done += search.left > 0
    if search.left <= 0:
        return TOO_MUCH.format(done, len(trees))
    if unsized:
        return NO_SIZES if unsized == len(trees) else NOT_ALL_TREES.format(unsized, len(trees))
    return ""


def published_sizes(tree: Tree) -> FloatArray:
    """Return how many people each node holds as the file says it, or as its children add up; NaN elsewhere, (N,)."""
    size = len(tree.nodes)
    if not tree.has_people:
        return np.full(size, np.nan)
    told = totals_of(tree)
    lacking = np.flatnonzero(np.isnan(told))
    for node in lacking[::-1].tolist():  # children stand behind their parents
        children = tree.nodes[node].children
        if children:
            told[node] = told[list(children)].sum()
    return told


@dataclass(slots=True)
class _SizeSearch:
    """The search over all trees: what is left of its work, and what was proved so far."""

    population: Population
    columns: tuple[str, ...]
    left: int
    ends: Sequence[float] = ()
    keeps_claims: bool = False
    claims: list[SizeClaim] = field(default_factory=list)
    _proved: dict[int, BoolArray] = field(default_factory=dict)
    _best: dict[int, tuple[float, int, int]] = field(default_factory=dict)

    def add_plain(self, place: int, tree: Tree, stops: IndexArray, sizes: FloatArray) -> bool:
        """Do the same at once for a tree of plain splits; return whether that was possible."""
        splits = branching(tree)
        counts = self.population.counts
        people = np.flatnonzero(counts > 0)
        if splits is None or self.keeps_claims or (stops[people] < 0).any():
            return False
        if not splits.features:
            return True  # a tree of one leaf parts nobody
        columns, refused = prepared(tree.features, self.population.columns)
        numbers = NumericMatrix({name: columns[name] for name in splits.features})
        if (
            refused
            or not numbers.has(splits.features)
            or numbers.lacks(splits.features)[people].any()
        ):
            return False
        code_of = {name: code for code, name in enumerate(self.columns, 1)}
        codes = np.array([code_of.get(name, 0) for name in splits.features], np.intp)
        table = numbers.table[people]
        held = held_at(splits, stops[people], counts[people])
        if ((held == 0) & (sizes == 0)).any():
            return False  # who is not at an empty node is found node by node
        is_whole = (numbers.table == np.rint(numbers.table)).all(axis=0)
        plain = plain_tree(splits, (sizes == held) & (held > 0), is_whole, codes > 0)
        if plain is None:
            return False
        proved, self.left = settled(plain, table, self.left)
        if proved is None:
            return True
        whole, first = covered(plain, proved)
        for column in np.flatnonzero(proved.any(axis=0)).tolist():
            nodes = np.flatnonzero(first[:, column])
            rows = people[whole[stops[people], column]]
            best = int(nodes[held[nodes].argmax()])
            self._note(int(codes[column]), rows, place, best, float(held[best]))
        return True

    def add(self, place: int, tree: Tree, sizes: FloatArray) -> None:
        """Look for what the sizes of a tree prove."""
        counts = self.population.counts
        walk = _TreeWalk.from_tree(tree, self.population.columns, self.columns, self.ends)
        everyone = np.flatnonzero(walk.entered & (counts > 0))
        start = _Visit(0, everyone, np.zeros(len(everyone), np.intp), {})
        pending = [start]
        while pending and self.left > 0:
            visit = pending.pop()
            self.left -= len(visit.rows) + NODE_VISITS
            proved = self._judged(place, visit, float(sizes[visit.node]), walk)
            if tree.nodes[visit.node].children:
                pending += walk.below(visit, visit.closed | proved)

    def _judged(self, place: int, visit: _Visit, size: float, walk: _TreeWalk) -> frozenset[int]:
        """Note what the size of a node proves, and return of which columns that is."""
        asked = visit.asked
        if not asked or size != self.population.counts[visit.rows[visit.codes == ALL]].sum():
            return frozenset()  # nothing is published, or not what the table says
        there = np.bincount(visit.codes, minlength=len(self.columns) + 1)
        is_empty = not there[ALL]
        if is_empty and not visit.is_exact:
            return frozenset()
        proved = frozenset(each for each in asked if bool(there[each]) == is_empty)
        for code in proved if len(visit.rows) else ():
            rows = visit.rows[visit.codes == (code if is_empty else ALL)]
            self._note(code, rows, place, visit.node, float(self.population.counts[rows].sum()))
            left = ~visit.masks[code] if is_empty else visit.masks[code]
            values = walk.domains[self.columns[code - 1]].values
            self.claims.append(SizeClaim(rows, values, left))
        return proved

    def _note(self, code: int, rows: IndexArray, place: int, node: int, people: float) -> None:
        """Note that something is proved of these profiles, of so many people at one node."""
        size = len(self.population.counts)
        self._proved.setdefault(code, np.zeros(size, np.bool_))[rows] = True
        if people > self._best.get(code, (0.0, 0, 0))[0]:
            self._best[code] = people, place, node

    def proofs(self) -> tuple[SizeProof, ...]:
        """Return what was proved of each column, most people first."""
        counts = self.population.counts
        size_proofs = [
            SizeProof(
                self.columns[code - 1],
                profiles,
                float(counts[profiles].sum()),
                *self._best[code][1:],
                self._best[code][0],
            )
            for code, profiles in self._proved.items()
        ]
        return tuple(sorted(size_proofs, key=lambda proof: (-proof.people, proof.column)))


@dataclass(frozen=True, slots=True)
class _Visit:
    """A node, the profiles that can be there, and by which code each: a profile comes up once for each column.

    ``masks`` say of the columns that the way to the node tests, by code, which values of their domain it leaves open.
    Of those that are ``asked`` this is some and not all; of ``closed`` ones more was proved above. ``is_exact`` says
    that whoever comes up here can be here: where one test reads several columns, or a missing value has a way of its
    own, more may come up.
    """

    node: int
    rows: IndexArray
    codes: IndexArray
    masks: Mapping[int, BoolArray]
    asked: frozenset[int] = frozenset()
    closed: frozenset[int] = frozenset()
    is_exact: bool = True


Ways = tuple[dict[int, BoolArray], dict[int, BoolArray]]
"""By child: the profiles that can go there, and the values of a column with which they do."""


@dataclass(frozen=True, slots=True)
class _TreeWalk:
    """A tree with the columns that its tests see, (P,) and one of each value that they can have, by name."""

    branches: TreeBranches
    seen: Columns
    refused: Mapping[str, BoolArray]
    whole: frozenset[str]
    code_of: Mapping[str, int]
    domains: Mapping[str, ValueKinds]
    entered: BoolArray

    @classmethod
    def from_tree(
        cls, tree: Tree, columns: Columns, names: Sequence[str], ends: Sequence[float]
    ) -> _TreeWalk:
        """Return a walk over the tree for these people."""
        features = tree.used_features()
        seen, refused = prepared(
            features, {feature.name: columns[feature.name] for feature in features}
        )
        tests = column_tests([tree])
        domains = {
            feature.name: value_kinds_of(
                tests[feature.name],
                feature,
                *_few(columns[feature.name]),
                ends if feature.name in names else (),
            )
            for feature in features
        }
        size = len(next(iter(columns.values()))) if columns else 0
        return cls(
            branches=branches(tree),
            seen=seen,
            refused=refused,
            whole=frozenset(name for name, column in seen.items() if not column.missing.any()),
            code_of={name: code for code, name in enumerate(names, 1)},
            domains=domains,
            entered=answer(tree.root.test, seen, size).true,
        )

    def below(self, visit: _Visit, closed: frozenset[int]) -> Iterator[_Visit]:
        """Yield the children of a node with who can be there."""
        children = self.branches.tree.nodes[visit.node].children
        rows, codes = visit.rows, visit.codes
        if closed:
            is_open = ~self._are(codes, closed)
            rows, codes = rows[is_open], codes[is_open]
        if not len(rows):
            return
        names = dict.fromkeys(name for child in children for name in self.branches.reads[child])
        coded = [(self.code_of[name], name) for name in names if name in self.code_of]
        passing, _ = self._ways(visit, rows, None)
        read = {code: self._ways(visit, rows, name) for code, name in coded if code not in closed}
        is_mixed = any(len(self.branches.reads[child]) > 1 for child in children)
        is_exact = visit.is_exact and self.whole.issuperset(names) and not is_mixed
        is_member = codes == ALL
        is_kept = ~self._are(codes, read)
        for child in children:
            kept = passing[child] & is_kept
            parts, own, masks = [rows[kept]], [codes[kept]], dict(visit.masks)
            asked = set(visit.asked - closed)
            for code, (able, left) in read.items():
                more = able[child] & ((codes == code) | (is_member & ~passing[child]))
                parts.append(rows[more])
                own.append(np.full(len(parts[-1]), code, np.intp))
                masks[code] = left[child]
                is_asked = left[child].any() and not left[child].all()
                asked = asked | {code} if is_asked else asked - {code}
            found = np.concatenate(parts), np.concatenate(own)
            yield _Visit(child, *found, masks, frozenset(asked), closed, is_exact)

    def _are(self, codes: IndexArray, members: Collection[int]) -> BoolArray:
        """Return whether each code is one of some."""
        table = np.zeros(len(self.code_of) + 1, np.bool_)
        table[list(members)] = True
        return np.asarray(table[codes])

    def _ways(self, visit: _Visit, rows: IndexArray, hidden: str | None) -> Ways:
        """Return who can go to each child by their true values, whatever that of a hidden column is."""
        tree, reads = self.branches.tree, self.branches.reads
        node = tree.nodes[visit.node]
        default = node.default_child if tree.missing is Missing.DEFAULT_CHILD else None
        left = np.ones(1, np.bool_)
        if hidden is not None:
            left = visit.masks.get(self.code_of[hidden], ~self.domains[hidden].refused)
        able = {child: np.zeros(len(rows), np.bool_) for child in node.children}
        masks = {child: np.zeros(len(left), np.bool_) for child in node.children}

        def send(child: int | None, those: BoolArray, values: BoolArray) -> None:
            if child is not None and values.any():
                able[child] |= those
                masks[child] |= values

        is_open = np.ones(len(rows), np.bool_)
        for child in node.children:
            test = tree.nodes[child].test
            if hidden in reads[child] and len(reads[child]) > 1:
                send(child, is_open, left)
                send(default, is_open, left)
            elif hidden in reads[child]:
                assert hidden is not None
                test_answer = answer(test, {hidden: self.domains[hidden].seen}, len(left))
                send(child, is_open, left & test_answer.true)
                left = left & ~test_answer.true
                if tree.missing is not Missing.NONE and test_answer.unknown.any():
                    send(default, is_open, left & test_answer.unknown)
                    left = left & ~test_answer.unknown
            elif child in self.branches.opposite and reads[child] <= self.whole:
                send(child, is_open, left)  # who does not pass the test before passes this one
                break
            else:
                for name in reads[child] & self.refused.keys():
                    is_open = is_open & ~self.refused[name][rows]
                columns = {name: self.seen[name].take(rows) for name in reads[child]}
                test_answer = answer(test, columns, len(rows))
                send(child, is_open & test_answer.true, left)
                is_open = is_open & ~test_answer.true
                if tree.missing is not Missing.NONE and test_answer.unknown.any():
                    send(default, is_open & test_answer.unknown, left)
                    is_open = is_open & ~test_answer.unknown
        return able, masks


def _few(column: Column) -> tuple[Column, FloatArray]:
    """Return entries of a column that tell its kind: one that lacks a value, and a fraction, if there are some."""
    lacks = column.missing
    signs = [lacks, ~lacks]
    if isinstance(column, NumericColumn):
        signs.append(~lacks & (column.numbers != np.rint(column.numbers)))
    few = np.array([int(sign.argmax()) for sign in signs if sign.any()], dtype=np.intp)
    return column.take(few), np.ones(len(few))
