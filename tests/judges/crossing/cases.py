"""Cases that cross a kind of model with what an adversary knows: drawn people, trees over them, and their audit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from treewarden.audit.adversaries import of_model_alone, with_adversaries
from treewarden.audit.evidence import Evidence
from treewarden.audit.knowledge.adversaries import Adversary
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.knowledge.statement import KnownRecord, Statement
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.secret_values import AdversaryRequest, secret_of
from treewarden.audit.population.linked_population import shared_people
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.releases import LinkedReleases, ReleaseCase, run_releases
from treewarden.audit.result import Audit
from treewarden.audit.run import run
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    EnsembleGrowth,
    GrownTree,
    Member,
    Model,
    TreeSampling,
    stated_fact,
)
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, Predicate
from treewarden.ppdm_models.tree.tree import Feature, Node, Quality, Task, Tree

KINDS = (
    "tree",
    "forest",
    "samples",
    "boosted",
    "numbers",
    "forest of numbers",
    "releases",
    "number releases",
)
WHO = ("all columns", "some columns", "a secret", "the target")
BESIDE = ("", " and a fact", " and weights")
KNOWS = tuple(f"{who}{beside}" for who in WHO for beside in BESIDE)
"""Who knows what: the last two are after a secret column, and the last one knows what the model predicts of all."""
COLUMNS = ("a", "b", "c")
SECRET = "b"
OPTIONS = AuditOptions(worlds_budget=8.0, levels=False)
MOST_TABLES = 60_000
"""So many tables are listed for a case; fewer people make for fewer tables."""
RATE, RIDGE = 0.5, 1.0
"""How boosted leaves are made of gradients: ``rate * sum of residuals / (sum of p (1 - p) + ridge)``."""
MIDDLE = 0.5
"""Between the two values of a column of numbers."""


class Published(StrEnum):
    """What nodes say of their people's classes."""

    COUNTS = "counts"
    SIZES = "sizes and labels"
    LABELS = "labels"


@dataclass(frozen=True)
class DrawnTree:
    """A tree over some people (k,): ``leaf_of`` (A, B, C) is the leaf of each combination of values of the columns.

    ``paths`` are the values of each column that each leaf leaves, ``draws`` (n,) how often each person was drawn, and
    ``weights`` (n,) what each counts: whole numbers of one unit.
    """

    people: IntArray
    leaf_of: IntArray
    paths: tuple[tuple[tuple[int, ...], ...], ...]
    draws: IntArray
    weights: IntArray


@dataclass(frozen=True)
class CaseFact:
    """That one of the people of these values has this one, or so many of them: ``share`` None is one of them.

    ``where`` is the value of each column that is named, ``sign`` how the share is meant.
    """

    where: tuple[tuple[int, int], ...]
    value: int
    share: float | None = None
    sign: str = "="

    def alike(self, codes: IntArray) -> BoolArray:
        """Return who has the values, (..., n), of codes (..., n, 3)."""
        found = np.ones(codes.shape[:-1], dtype=bool)
        for at, code in self.where:
            found &= codes[..., at] == code
        return found

    def holds(self, codes: IntArray, values: IntArray) -> BoolArray:
        """Return in which tables, (K,), it holds: codes (K, n, 3) and values (K, n)."""
        alike = self.alike(codes)
        having = (alike & (values == self.value)).sum(axis=1)
        if self.share is None:
            return having > 0
        off = having - self.share * alike.sum(axis=1)
        low, high = (
            -1e-6 if self.sign != "<=" else -math.inf,
            1e-6 if self.sign != ">=" else math.inf,
        )
        return np.asarray((low <= off) & (off <= high))


@dataclass(frozen=True)
class CrossingCase:
    """A drawn case: codes of n people in each column (n, 3), their values (n,), and trees over them.

    ``known`` are the columns that the adversary knows, ``facts`` what is known besides; ``has_totals`` says that it is
    known how common each class is. ``is_sized`` says that trees of numbers publish how many people each leaf has,
    ``unit`` is that of weights. ``numeric`` are the columns of numbers. ``split`` is by what the splits of a tree were
    chosen, and ``is_inverted`` says that a boosted file tells how its leaf values were made.
    """

    kind: str
    knows: str
    sizes: tuple[int, ...]
    codes: IntArray
    values: IntArray
    classes: int
    unit: float
    trees: tuple[DrawnTree, ...]
    known: tuple[str, ...]
    facts: tuple[CaseFact, ...]
    is_sized: bool
    published: Published
    has_totals: bool
    numeric: tuple[int, ...]
    split: SplitLevel
    is_inverted: bool

    @property
    def is_of_numbers(self) -> bool:
        """Whether the models predict a number."""
        return "number" in self.kind

    @property
    def is_of_releases(self) -> bool:
        """Whether each tree is a release of its own."""
        return "releases" in self.kind

    @property
    def is_weighed(self) -> bool:
        """Whether the models count weights."""
        return "weights" in self.knows

    def weighed(self, weights: IntArray) -> FloatArray:
        """Return weights as a table writes them."""
        return np.array([float(f"{weight * self.unit:.15g}") for weight in weights.tolist()])

    @property
    def is_of_secret(self) -> bool:
        """Whether a column is the secret, not what the models predict."""
        return self.knows.startswith("a secret") or self.knows_target

    @property
    def knows_target(self) -> bool:
        """Whether the adversary knows everybody's value."""
        return self.knows.startswith("the target")

    @property
    def hidden(self) -> tuple[int, ...]:
        """The places of the columns that the adversary does not know."""
        return tuple(at for at, name in enumerate(COLUMNS) if name not in self.known)

    @property
    def last(self) -> IntArray:
        """The people whom the audit is about."""
        return self.trees[-1].people if self.is_of_releases else np.arange(len(self.values))


def drawn_case(seed: int) -> CrossingCase:
    """Return the case of a seed."""
    draw = np.random.default_rng(seed)
    kind, knows = KINDS[seed % len(KINDS)], KNOWS[seed // len(KINDS) % len(KNOWS)]
    is_number, is_released = "number" in kind, "releases" in kind
    is_weighed = knows.endswith("weights")
    sizes = (2, int(draw.choice([2, 2, 3])), 2)
    classes = 3 if is_number else int(draw.choice([2, 2, 3]))
    classes = 2 if kind == "boosted" else classes
    known = (("a", "c"), ("a",))[int(draw.integers(2))]
    known = COLUMNS if knows.startswith("all") else known
    hidden = [size for size, name in zip(sizes, COLUMNS, strict=True) if name not in known]
    alternatives = int(np.prod(hidden)) * (1 if knows.startswith("the target") else classes)
    most = int(np.log(MOST_TABLES) / np.log(max(alternatives, 2)))
    n = int(draw.integers(4, max(min(most, 8), 4) + 1))
    codes = np.stack([draw.integers(0, size, n) for size in sizes], axis=1)
    values = draw.integers(0, classes, n)
    values[:2] = 0, classes - 1
    codes[:2, 1] = 0, 1
    published, split = Published.COUNTS, SplitLevel.NONE
    if kind in ("tree", "forest", "releases") and not is_weighed:
        published = Published(draw.choice(list(Published), p=[0.6, 0.2, 0.2]))
    if kind == "tree" and not is_weighed:
        split = SplitLevel(draw.choice(["none", "gini", "entropy"]))
    trees: list[DrawnTree] = []
    for _ in range(1 if kind in ("tree", "numbers") else int(draw.integers(2, 4))):
        people = np.arange(n)
        if is_released:
            people = np.union1d(np.flatnonzero(draw.random(n) < 0.85), [0, 1])
        draws = np.ones(n, dtype=np.int64)
        if kind == "samples":
            draws = np.bincount(draw.integers(0, n, n), minlength=n)
        trees.append(_drawn_tree(draw, codes, people, sizes, draws, (values, split)))
    unit = 1.0
    if is_weighed:
        weights, unit = draw.integers(1, 4, n), float(draw.choice([1.0, 0.1, 0.25, 1 / 3]))
        trees = [replace(tree, weights=weights) for tree in trees]
        if is_released and draw.integers(2):  # somebody has another weight in the first release
            trees[0] = replace(trees[0], weights=np.where(draw.random(n) < 0.3, 4, weights))
    last = trees[-1].people
    has_facts = "fact" in knows or (is_weighed and draw.random() < 0.3)
    facts = tuple(_facts(draw, (codes, values), known, last, is_number)) if has_facts else ()
    is_counted = not is_number and not is_weighed
    return CrossingCase(
        kind=kind,
        knows=knows,
        sizes=sizes,
        codes=codes,
        values=values,
        classes=classes,
        unit=unit,
        trees=tuple(trees),
        known=known,
        facts=facts,
        is_sized=bool(draw.integers(2)) and not is_weighed,
        published=published,
        has_totals=is_counted and bool(draw.random() < 0.25),
        numeric=tuple(at for at in (0, 2) if draw.integers(2)),
        split=split,
        is_inverted=kind == "boosted" and not is_weighed and bool(draw.integers(2)),
    )


def _facts(
    draw: np.random.Generator,
    table: tuple[IntArray, IntArray],
    known: Sequence[str],
    people: IntArray,
    is_number: bool,
) -> Iterator[CaseFact]:
    """Yield one or two true facts of some people of a table: of one of them, or a share."""
    codes, values = table
    for person in draw.choice(people, int(draw.integers(1, 3)), replace=False).tolist():
        places = [at for at, name in enumerate(COLUMNS) if name in known]
        fact = CaseFact(tuple((at, int(codes[person, at])) for at in places), int(values[person]))
        if not is_number and draw.integers(2):
            # A share is of those of a release whom one column tells apart.
            at = int(draw.choice(places))
            fact = replace(fact, where=((at, int(codes[person, at])),))
            inside = people[fact.alike(codes[people])]
            share = float(np.mean(values[inside] == fact.value))
            fact = replace(fact, share=share, sign=str(draw.choice(["=", "<=", ">="])))
        yield fact


def _drawn_tree(
    draw: np.random.Generator,
    codes: IntArray,
    people: IntArray,
    sizes: tuple[int, ...],
    draws: IntArray,
    by: tuple[IntArray, SplitLevel],
) -> DrawnTree:
    """Return a tree of up to four leaves, each of which holds somebody.

    Its splits are drawn, or the best of all by the values and the criterion that ``by`` has.
    """
    values, split = by
    leaf_of = np.zeros(sizes, dtype=np.int64)
    paths: list[tuple[tuple[int, ...], ...]] = [tuple(tuple(range(size)) for size in sizes)]
    for _ in range(int(draw.integers(1, 4))):
        leaf, column = int(draw.integers(len(paths))), int(draw.integers(len(sizes)))
        stops = leaf_of[tuple(codes[people].T)]
        value = int(draw.choice(paths[leaf][column]))
        if split is not SplitLevel.NONE:
            inside = people[stops == leaf]
            if len(np.unique(values[inside])) < 2:
                continue  # who compares splits stops at pure nodes
            column, value = _best_split(codes[inside], values[inside], sizes, split)
        here = codes[people][stops == leaf, column]
        if not (here == value).any() or (here == value).all():
            continue
        one, other = list(paths[leaf]), list(paths[leaf])
        rest = tuple(each for each in paths[leaf][column] if each != value)
        one[column], other[column] = (value,), rest
        paths[leaf] = tuple(other)
        paths.append(tuple(one))
        index = np.moveaxis(leaf_of, column, 0)
        index[value] = np.where(index[value] == leaf, len(paths) - 1, index[value])
    return DrawnTree(people, leaf_of, tuple(paths), draws, np.ones(len(codes), dtype=np.int64))


def _best_split(
    codes: IntArray, values: IntArray, sizes: tuple[int, ...], split: SplitLevel
) -> tuple[int, int]:
    """Return the column and the value that part people best, one value against the rest."""
    choices = [(at, value) for at, size in enumerate(sizes) for value in range(size)]
    left = [
        float(left_of(codes[None, :, at] == value, values[None, :], split)[0])
        for at, value in choices
    ]
    return choices[int(np.argmin(left))]


def left_of(
    is_one: BoolArray, values: IntArray, split: SplitLevel, inside: BoolArray | None = None
) -> FloatArray:
    """Return what a split leaves of impurity, times people, in tables (K,): who is on one side (K, n), and values."""
    here = np.ones(is_one.shape, dtype=bool) if inside is None else inside
    total = np.zeros(len(values))
    for side in (is_one & here, ~is_one & here):
        size = side.sum(axis=1).astype(np.float64)
        for k in range(int(values.max()) + 1):
            part = (side & (values == k)).sum(axis=1).astype(np.float64)
            share = part / np.maximum(size, 1.0)
            if split is SplitLevel.GINI:
                total += part * (1 - share)
            else:
                total -= part * np.log(np.where(part > 0, share, 1.0))
    return total


@dataclass(frozen=True)
class DrawnNode:
    """A node of a drawn tree: the leaves below it, and the column and value that part it; -1 of a leaf."""

    leaves: IntArray
    box: tuple[tuple[int, ...], ...]
    column: int = -1
    value: int = -1


def nodes_of(
    tree: DrawnTree, box: tuple[tuple[int, ...], ...], by: tuple[IntArray, IntArray, SplitLevel]
) -> Iterator[DrawnNode]:
    """Yield a node of a drawn tree and those below it; ``by`` are codes, values and how splits were chosen."""
    leaves = np.unique(tree.leaf_of[np.ix_(*box)])
    if len(leaves) == 1:
        yield DrawnNode(leaves, box)
        return
    column, value = _split(tree, box, by)
    yield DrawnNode(leaves, box, column, value)
    rest = tuple(each for each in box[column] if each != value)
    for part in ((value,), rest):
        yield from nodes_of(tree, (*box[:column], part, *box[column + 1 :]), by)


# The case as an audit sees it.


def boosted_values(
    case: CrossingCase, stops: Sequence[IntArray], values: IntArray
) -> list[FloatArray]:
    """Return the leaf values (K, L) of each tree, for K tables of people who stop at ``stops`` (K, n) each.

    The first number is what the model starts from, where it starts from how common the second class is.
    """
    margin = np.zeros(values.shape)
    found = []
    if case.is_inverted:
        share = np.clip(values.mean(axis=1, keepdims=True), 1e-9, 1 - 1e-9)
        margin = margin + np.log(share / (1 - share))
        found.append(margin[:, :1])
    for tree, stop in zip(case.trees, stops, strict=True):
        p = 1.0 / (1.0 + np.exp(-margin))
        leaves = np.zeros((len(values), len(tree.paths)))
        for leaf in range(len(tree.paths)):
            there = stop == leaf
            gradient = np.where(there, values - p, 0.0).sum(axis=1)
            curvature = np.where(there, p * (1 - p), 0.0).sum(axis=1)
            leaves[:, leaf] = RATE * gradient / (curvature + RIDGE)
        found.append(leaves)
        margin = margin + np.take_along_axis(leaves, stop, axis=1)
    return found


def told_value(case: CrossingCase, at: int, code: int) -> str | float:
    """Return a value of a column as a table has it."""
    return float(code) if at in case.numeric else f"{COLUMNS[at]}{code}"


def _features(case: CrossingCase) -> tuple[Feature, ...]:
    return tuple(
        Feature(name, numeric=True)
        if at in case.numeric
        else Feature(name, numeric=False, values=tuple(f"{name}{code}" for code in range(size)))
        for at, (name, size) in enumerate(zip(COLUMNS, case.sizes, strict=True))
    )


def _test(case: CrossingCase, column: int, inside: Sequence[int]) -> Predicate:
    name = COLUMNS[column]
    if column not in case.numeric:
        return CategoryTest(name, tuple(f"{name}{code}" for code in inside))
    if inside == (0,):
        return NumericTest(name, high=MIDDLE, high_closed=True)
    return NumericTest(name, low=MIDDLE)


def _tree(case: CrossingCase, tree: DrawnTree, leaf_values: FloatArray | None, name: str) -> Tree:
    """Return a drawn tree as a file's: one level, whose tests are those of each path at once, one column a level."""
    features = _features(case)
    nodes: list[Node] = []
    own = case.values[tree.people]
    stops = tree.leaf_of[tuple(case.codes[tree.people].T)]
    task = (
        Task.CLASSIFICATION if leaf_values is None and not case.is_of_numbers else Task.REGRESSION
    )
    classes = tuple(str(k) for k in range(case.classes)) if task is Task.CLASSIFICATION else ()

    def told(index: int, parent: int | None, children: tuple[int, ...], test, there) -> Node:
        people, leaf = own[there], int(np.unique(stops[there])[0])
        weight = (tree.draws * case.weighed(tree.weights))[tree.people][there]
        more = {} if test is None else {"test": test}
        if leaf_values is not None:
            score = float(leaf_values[leaf]) if not children else 0.0
            return Node(index, str(index), parent, children, score=score, **more)
        if case.is_of_numbers:
            more["score"] = float(np.average(people, weights=weight))
            more["records"] = float(len(people)) if case.is_sized else None
            return Node(index, str(index), parent, children, **more)
        counts = np.bincount(people, weight, case.classes)
        numbers = tuple(float(each) for each in counts)
        more["score"] = classes[int(counts.argmax())]
        if case.published is not Published.LABELS:
            more["records"] = float(sum(numbers))
        if case.published is Published.COUNTS:
            more["class_counts"] = numbers
        return Node(index, str(index), parent, children, **more)

    def grow(box: tuple[tuple[int, ...], ...], parent: int | None, test) -> int:
        index = len(nodes)
        nodes.append(None)  # type: ignore[arg-type]  # filled in once the children are known
        there = np.ones(len(tree.people), dtype=bool)
        for column, inside in enumerate(box):
            there &= np.isin(case.codes[tree.people, column], inside)
        children: list[int] = []
        if len(np.unique(tree.leaf_of[np.ix_(*box)])) > 1:
            column, value = _split(tree, box, _by(case))
            rest = tuple(each for each in box[column] if each != value)
            for part in ((value,), rest):
                inner = (*box[:column], part, *box[column + 1 :])
                children.append(grow(inner, index, _test(case, column, part)))
        nodes[index] = told(index, parent, tuple(children), test, there)
        return index

    grow(whole_box(case), None, None)
    quality = Quality.WEIGHTED if case.is_weighed else Quality.EXACT
    if task is Task.REGRESSION:
        target = "value" if case.is_of_numbers else ""
        return Tree(tuple(nodes), features, target, (), task=task, quality=quality, source=name)
    return Tree(tuple(nodes), features, "value", classes, quality=quality, source=name)


def whole_box(case: CrossingCase) -> tuple[tuple[int, ...], ...]:
    """Return all values of each column."""
    return tuple(tuple(range(size)) for size in case.sizes)


def drawn_nodes(case: CrossingCase, tree: DrawnTree) -> list[DrawnNode]:
    """Return the nodes of a drawn tree, from the root on."""
    return list(nodes_of(tree, whole_box(case), _by(case)))


def _by(case: CrossingCase) -> tuple[IntArray, IntArray, SplitLevel]:
    return case.codes, case.values, case.split


def _split(
    tree: DrawnTree,
    box: tuple[tuple[int, ...], ...],
    by: tuple[IntArray, IntArray, SplitLevel],
) -> tuple[int, int]:
    """Return a column and a value that part a box of values between leaves, so that no leaf is on both sides.

    Where splits were chosen, it is the best of them.
    """
    codes, values, split = by
    inside = tree.leaf_of[np.ix_(*box)]
    found = []
    for column, part in enumerate(box):
        for place, value in enumerate(part if len(part) > 1 else ()):
            one = np.unique(np.take(inside, [place], axis=column))
            other = np.unique(np.delete(inside, place, axis=column))
            if not len(np.intersect1d(one, other)):
                found.append((column, value))
    if not found:
        raise ValueError("leaves that no test parts")
    if split is SplitLevel.NONE:
        return found[0]
    there = tree.people
    for column, part in enumerate(box):
        there = there[np.isin(codes[there, column], part)]
    left = [left_of(codes[None, there, at] == v, values[None, there], split)[0] for at, v in found]
    return found[int(np.argmin(left))]


def model_of(case: CrossingCase, trees: Sequence[DrawnTree], name: str) -> Model:
    """Return trees as one model."""
    values: list[FloatArray | None] = [None] * len(trees)
    start = 0.0
    if case.kind == "boosted":
        stops = [tree.leaf_of[tuple(case.codes.T)][None, :] for tree in trees]
        told = [leaves[0] for leaves in boosted_values(case, stops, case.values[None, :])]
        start = float(told.pop(0)[0]) if case.is_inverted else 0.0
        values = [*told]
    grown = [_tree(case, tree, own, name) for tree, own in zip(trees, values, strict=True)]
    if case.kind in ("tree", "numbers") or case.is_of_releases:
        return grown[0]
    is_boosted = case.kind == "boosted"
    how = Combination.AVERAGE if case.is_of_numbers else Combination.MAJORITY_VOTE
    return Ensemble(
        members=tuple(Member(tree, output=1 if is_boosted else None) for tree in grown),
        combination=Combination.SUM if is_boosted else how,
        features=_features(case),
        target="value",
        classes=("0", "1") if is_boosted else grown[0].classes,
        task=Task.CLASSIFICATION if is_boosted else grown[0].task,
        sampling=TreeSampling(case.kind == "samples"),
        base=(start,) if case.is_inverted else (),
        growth=_growth(grown, start) if case.is_inverted else None,
        source=name,
    )


def _growth(trees: Sequence[Tree], start: float) -> EnsembleGrowth:
    """Return what a file of scikit-learn says of how such leaf values were made."""
    values = [
        np.array([float(node.score) if node.is_leaf else math.nan for node in tree.nodes])
        for tree in trees
    ]
    return EnsembleGrowth(
        library="sklearn_hist",
        objective="log_loss",
        outputs=1,
        rounds=tuple((number,) for number in range(len(trees))),
        trees=tuple(map(GrownTree, values)),
        start=(start,),
        facts={"learning_rate": stated_fact(RATE), "l2_regularization": stated_fact(RIDGE)},
    )


def _table(case: CrossingCase, people: IntArray, weights: IntArray) -> Table:
    values: list[object] = case.values[people].tolist()
    columns = {"id": [str(p) for p in people.tolist()]}
    for at, name in enumerate(COLUMNS):
        columns[name] = [told_value(case, at, code) for code in case.codes[people, at].tolist()]
    own = values if case.is_of_numbers else [str(each) for each in values]
    more = {"weight": case.weighed(weights[people]).tolist()}
    return table_of({**columns, "value": own, **(more if case.is_weighed else {})})


def evidence_of(case: CrossingCase) -> Evidence:
    """Return what an audit of the case has to measure, of the adversary that it is about."""
    facts = tuple(_statement(case, fact) for fact in case.facts)
    knowledge = Knowledge(facts=facts, split=case.split, marginal=case.has_totals)
    parts = [(tree,) for tree in case.trees] if case.is_of_releases else [case.trees]
    cases, tables = [], []
    for number, trees in enumerate(parts):
        model, table = (
            model_of(case, trees, f"m{number}"),
            _table(case, trees[0].people, trees[0].weights),
        )
        people = build_population(
            model,
            table,
            sensitive="value",
            qi=COLUMNS,
            sampling_weights="weight" if case.is_weighed else None,
        )
        cases.append(ReleaseCase(model, people, ()))
        tables.append(table)
    linked = _linked(cases, tables) if case.is_of_releases else None
    audit, last = _audit(case, cases, linked, knowledge), cases[-1]
    request = _request(case, last.population)
    if request is None:
        return audit.full.evidence
    knowing = audit.full.evidence.knowledge
    return (
        with_adversaries(
            audit,
            last.model,
            last.population,
            knowing,
            request,
            (),
            OPTIONS,
            releases=linked,
        )
        .exposures[-1]
        .evidence
    )


def _statement(case: CrossingCase, fact: CaseFact) -> KnownRecord | Statement:
    values = {COLUMNS[at]: told_value(case, at, code) for at, code in fact.where}
    if fact.share is None:
        return KnownRecord.model_validate({"record": values, "class": str(fact.value)})
    where = ", ".join(f"{name} = {value}" for name, value in values.items())
    return Statement(says=f"P({fact.value} | {where}) {fact.sign} {fact.share!r}")


def _linked(cases: Sequence[ReleaseCase], tables: Sequence[Table]) -> LinkedReleases:
    models, people = [each.model for each in cases], [each.population for each in cases]
    return LinkedReleases(cases, shared_people(models, tables, people, "id"))


def _audit(
    case: CrossingCase,
    cases: Sequence[ReleaseCase],
    linked: LinkedReleases | None,
    knowledge: Knowledge,
) -> Audit:
    last = cases[-1]
    if case.is_of_secret:
        return of_model_alone(last.model, last.population, knowledge, SECRET)
    if linked is None:
        return run(last.model, last.population, knowledge, options=OPTIONS)
    return run_releases(cases, linked.shared, knowledge, options=OPTIONS)


def _request(case: CrossingCase, population: Population) -> AdversaryRequest | None:
    if case.known == COLUMNS:
        return None
    who = Adversary("some", case.known, target=case.knows_target)
    if not case.is_of_secret:
        return AdversaryRequest((who,))
    further = tuple(f"{SECRET}{code}" for code in range(case.sizes[1]))
    return AdversaryRequest((who,), secret_of(population, SECRET, None, "here", further))
