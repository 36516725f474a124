"""Cases that cross a kind of model with what an adversary knows: drawn people, trees over them, and their audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.adversaries import of_model_alone, with_adversaries
from treewarden.audit.evidence import Evidence
from treewarden.audit.knowledge.adversaries import Adversary
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.knowledge.statement import KnownRecord
from treewarden.audit.options import AuditOptions
from treewarden.audit.partial.adversary_request import AdversaryRequest
from treewarden.audit.partial.secret_column import secret_of
from treewarden.audit.population.linked_population import shared_people
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.releases import LinkedReleases, ReleaseCase, run_releases
from treewarden.audit.result import Audit
from treewarden.audit.run import run
from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Member, Model, TreeSampling
from treewarden.ppdm_models.tree.predicate import CategoryTest
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
KNOWS = (
    "all columns",
    "some columns",
    "and a fact",
    "a secret",
    "and the target",
    "weights",
    "all and weights",
    "a secret and weights",
    "the target and weights",
)
COLUMNS = ("a", "b", "c")
SECRET = "b"
OPTIONS = AuditOptions(worlds_budget=8.0)
MOST_TABLES = 300_000
"""So many tables are listed for a case; fewer people make for fewer tables."""
RATE, RIDGE = 0.5, 1.0
"""How boosted leaves are made of gradients: ``rate * sum of residuals / (sum of p (1 - p) + ridge)``."""


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
class CrossingCase:
    """A drawn case: codes of n people in each column (n, 3), their values (n,), and trees over them.

    ``known`` are the columns that the adversary knows, ``fact`` is the person whose value is known, -1 for nobody's;
    ``is_sized`` says that trees of numbers publish how many people each leaf has, ``unit`` is that of weights.
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
    fact: int
    is_sized: bool

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
        return "secret" in self.knows or self.knows_target

    @property
    def knows_target(self) -> bool:
        """Whether the adversary knows everybody's value."""
        return "target" in self.knows

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
    sizes = (2, int(draw.choice([2, 2, 3])), 2)
    classes = 3 if is_number else int(draw.choice([2, 2, 3]))
    classes = 2 if kind == "boosted" else classes
    known = (("a", "c"), ("a",))[int(draw.integers(2))]
    known = COLUMNS if "all" in knows.split() else known
    hidden = [size for size, name in zip(sizes, COLUMNS, strict=True) if name not in known]
    alternatives = int(np.prod(hidden)) * (1 if "target" in knows else classes)
    most = int(np.log(MOST_TABLES) / np.log(max(alternatives, 2)))
    n = int(draw.integers(4, max(min(most, 7), 4) + 1))
    codes = np.stack([draw.integers(0, size, n) for size in sizes], axis=1)
    values = draw.integers(0, classes, n)
    values[:2] = 0, classes - 1
    codes[:2, 1] = 0, 1
    trees: list[DrawnTree] = []
    for _ in range(1 if kind in ("tree", "numbers") else int(draw.integers(2, 4))):
        people = np.arange(n)
        if is_released:
            people = np.union1d(np.flatnonzero(draw.random(n) < 0.85), [0, 1])
        draws = np.ones(n, dtype=np.int64)
        if kind == "samples":
            draws = np.bincount(draw.integers(0, n, n), minlength=n)
        trees.append(_drawn_tree(draw, codes, people, sizes, draws))
    unit = 1.0
    if "weights" in knows:
        weights, unit = draw.integers(1, 4, n), float(draw.choice([1.0, 0.1, 0.25, 1 / 3]))
        trees = [replace(tree, weights=weights) for tree in trees]
        if is_released and draw.integers(2):  # somebody has another weight in the first release
            trees[0] = replace(trees[0], weights=np.where(draw.random(n) < 0.3, 4, weights))
    fact = int(draw.choice(trees[-1].people)) if knows == "and a fact" else -1
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
        fact=fact,
        is_sized=bool(draw.integers(2)) and "weights" not in knows,
    )


def _drawn_tree(
    draw: np.random.Generator,
    codes: IntArray,
    people: IntArray,
    sizes: tuple[int, ...],
    draws: IntArray,
) -> DrawnTree:
    """Return a tree of up to four leaves, each of which holds somebody."""
    leaf_of = np.zeros(sizes, dtype=np.int64)
    paths: list[tuple[tuple[int, ...], ...]] = [tuple(tuple(range(size)) for size in sizes)]
    for _ in range(int(draw.integers(1, 4))):
        leaf, column = int(draw.integers(len(paths))), int(draw.integers(len(sizes)))
        inside = paths[leaf][column]
        stops = leaf_of[tuple(codes[people].T)]
        here = codes[people][stops == leaf, column]
        value = int(draw.choice(inside))
        if not (here == value).any() or (here == value).all():
            continue
        one, other = list(paths[leaf]), list(paths[leaf])
        one[column], other[column] = (value,), tuple(each for each in inside if each != value)
        paths[leaf] = tuple(other)
        paths.append(tuple(one))
        index = np.moveaxis(leaf_of, column, 0)
        index[value] = np.where(index[value] == leaf, len(paths) - 1, index[value])
    return DrawnTree(people, leaf_of, tuple(paths), draws, np.ones(len(codes), dtype=np.int64))


# The case as an audit sees it.


def boosted_values(
    case: CrossingCase, stops: Sequence[IntArray], values: IntArray
) -> list[FloatArray]:
    """Return the leaf values (K, L) of each tree, for K tables of people who stop at ``stops`` (K, n) each."""
    margin = np.zeros(values.shape)
    found = []
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


def _features(case: CrossingCase) -> tuple[Feature, ...]:
    return tuple(
        Feature(name, numeric=False, values=tuple(f"{name}{code}" for code in range(size)))
        for name, size in zip(COLUMNS, case.sizes, strict=True)
    )


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
            size = float(len(people)) if case.is_sized else None
            return Node(
                index,
                str(index),
                parent,
                children,
                score=float(np.average(people, weights=weight)),
                records=size,
                **more,
            )
        counts = np.bincount(people, weight, case.classes)
        numbers = tuple(float(each) for each in counts)
        score = classes[int(counts.argmax())]
        return Node(
            index,
            str(index),
            parent,
            children,
            score=score,
            records=float(sum(numbers)),
            class_counts=numbers,
            **more,
        )

    def grow(box: tuple[tuple[int, ...], ...], parent: int | None, test) -> int:
        index = len(nodes)
        nodes.append(None)  # type: ignore[arg-type]  # filled in once the children are known
        there = np.ones(len(tree.people), dtype=bool)
        for column, inside in enumerate(box):
            there &= np.isin(case.codes[tree.people, column], inside)
        children: list[int] = []
        if len(np.unique(tree.leaf_of[np.ix_(*box)])) > 1:
            column, value = _split(tree, box)
            rest = tuple(each for each in box[column] if each != value)
            for part in ((value,), rest):
                names = tuple(f"{COLUMNS[column]}{code}" for code in part)
                inner = (*box[:column], part, *box[column + 1 :])
                children.append(grow(inner, index, CategoryTest(COLUMNS[column], names)))
        nodes[index] = told(index, parent, tuple(children), test, there)
        return index

    grow(tuple(tuple(range(size)) for size in case.sizes), None, None)
    quality = Quality.WEIGHTED if case.is_weighed else Quality.EXACT
    if task is Task.REGRESSION:
        target = "value" if case.is_of_numbers else ""
        return Tree(tuple(nodes), features, target, (), task=task, quality=quality, source=name)
    return Tree(tuple(nodes), features, "value", classes, quality=quality, source=name)


def _split(tree: DrawnTree, box: tuple[tuple[int, ...], ...]) -> tuple[int, int]:
    """Return a column and a value that part a box of values between leaves, so that no leaf is on both sides."""
    inside = tree.leaf_of[np.ix_(*box)]
    for column, values in enumerate(box):
        for place, value in enumerate(values if len(values) > 1 else ()):
            one = np.unique(np.take(inside, [place], axis=column))
            other = np.unique(np.delete(inside, place, axis=column))
            if not len(np.intersect1d(one, other)):
                return column, value
    raise ValueError("leaves that no test parts")


def model_of(case: CrossingCase, trees: Sequence[DrawnTree], name: str) -> Model:
    """Return trees as one model."""
    values: list[FloatArray | None] = [None] * len(trees)
    if case.kind == "boosted":
        stops = [tree.leaf_of[tuple(case.codes.T)][None, :] for tree in trees]
        values = [leaves[0] for leaves in boosted_values(case, stops, case.values[None, :])]
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
        source=name,
    )


def _table(case: CrossingCase, people: IntArray, weights: IntArray) -> Table:
    values: list[object] = case.values[people].tolist()
    columns = {"id": [str(p) for p in people.tolist()]}
    for at, name in enumerate(COLUMNS):
        columns[name] = [f"{name}{code}" for code in case.codes[people, at].tolist()]
    own = values if case.is_of_numbers else [str(each) for each in values]
    more = {"weight": case.weighed(weights[people]).tolist()}
    return table_of({**columns, "value": own, **(more if case.is_weighed else {})})


def evidence_of(case: CrossingCase) -> Evidence:
    """Return what an audit of the case has to measure, of the adversary that it is about."""
    fact = ()
    if case.fact >= 0:
        names = {
            name: f"{name}{case.codes[case.fact, at]}"
            for at, name in enumerate(COLUMNS)
            if name in case.known
        }
        said = {"record": names, "class": str(case.values[case.fact])}
        fact = (KnownRecord.model_validate(said),)
    knowledge = Knowledge(facts=fact, split=SplitLevel.NONE)
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
