"""The runs of Sharkey et al. 2008: global models from pseudo data, and from data made diverse before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from benchmarks.studies.pruning_data import Records
from benchmarks.studies.sharkey_data import SEED, domains, folds, ladders, sources, taxonomies
from benchmarks.studies.sharkey_models import MODELS, DecisionTree, Model
from treewarden.audit.population.population import Population
from treewarden.policies.pack import Pack, read_pack
from treewarden.policies.remedies._pruning import Merging, held_to, merging
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import of_classes
from treewarden.ppdm_models.methods.generalise.lattice import Lattice, Requirement, generalise
from treewarden.ppdm_models.methods.synthesis.pgen import DrawPlan, basegen, pgen
from treewarden.ppdm_models.pruning.prune import prune
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, Columns, NumericColumn
from treewarden.ppdm_models.tree.tree import NoTrueChild, Tree

LEARNER = BestFirst("entropy", multiway=True, min_records=5)
MOST_SPLITS = 100_000
TARGET = "the class"
DIVERSITY = [(l, c) for l in (2, 3, 4, 5) for c in (20, 15, 10, 5)]  # noqa: E741  # the notion's name
PRIVACY_MODELS = ("decision tree", "naive Bayes")


@dataclass(frozen=True)
class Size:
    """How much is run: ``tested`` of ``folds`` folds, in each repetition; ``privacy_tested`` for the second part.

    ``most`` is how many records of a data set are drawn, ``repeated`` how often it is repeated, where that is less.
    """

    folds: int
    tested: int
    privacy_tested: int
    repetitions: int
    sources: tuple[int, ...]
    privacy_sources: tuple[int, ...]
    most: Mapping[str, int] = field(default_factory=dict)
    repeated: Mapping[str, int] = field(default_factory=dict)

    def repetitions_of(self, name: str) -> int:
        """How often a data set is repeated."""
        return min(self.repeated.get(name, self.repetitions), self.repetitions)


@dataclass(frozen=True)
class Scores:
    """One model on one fold: share right, share as the model learnt from the raw data says, paths shared with it."""

    right: float
    match: float
    paths: float = float("nan")


Pseudo = dict[tuple[str, int, str], list[Scores]]
"""By method, number of sources (0: the raw data) and model."""

Private = dict[tuple[str, tuple[int, int], int, str], list[Scores | None]]
"""By method, (l, c), number of sources (0: no parting) and model; None where there is no data."""


class Fold:
    """One fold of one repetition: the records, what is learnt from them as they are, and each source's tree."""

    def __init__(self, records: Records, size: Size, repetition: int, fold: int) -> None:
        self.records, self.seed = records, [repetition, fold]
        rows = list(folds(len(records.target), repetition, size.folds, fold + 1))[fold]
        self.learnt_rows, self.other_rows = rows
        self.learnt, self.other = records.take(rows[0]), records.take(rows[1])
        self.basis: dict[str, Model] = {}
        self.said: dict[str, np.ndarray] = {}
        self._grown: dict[int, tuple[list[Records], list[Tree]]] = {}

    def learn(self, names: Sequence[str]) -> None:
        """Learn models from the raw data, those that are not known yet, and let them predict the other records."""
        for name in names:
            if name not in self.basis:
                self.basis[name] = MODELS[name](self.learnt)
                self.said[name] = self.basis[name].predict(self.other.columns)

    def grown(self, count: int) -> tuple[list[Records], list[Tree]]:
        """Return the records of so many sources, and the trees that they grow."""
        if count not in self._grown:
            parts = sources(self.learnt, count, self.seed)
            self._grown[count] = parts, [grown(own) for own in parts]
        return self._grown[count]

    def scores(self, name: str, said: np.ndarray) -> Scores:
        """Compare what a model says of the other records with the truth and with the model of the raw data."""
        right, match = said == self.other.target, said == self.said[name]
        return Scores(float(right.mean()), float(match.mean()))


def pseudo_run(part: Fold, size: Size) -> Pseudo:
    """Compare PGEN and BASEGEN with the raw data on one fold."""
    part.learn(tuple(MODELS))
    found: Pseudo = {}
    _note(found, ("BASIS", 0), part.basis, part)
    for count in size.sources:
        _, trees = part.grown(count)
        for method in ("PGEN", "BASEGEN"):
            drawn = _drawn(trees, method, part, [*part.seed, count])
            assert drawn is not None
            _note(found, (method, count), _models(drawn, tuple(MODELS)), part)
    return found


def private_run(part: Fold, size: Size) -> Private:
    """Compare PPGEN with full-domain generalisation, both diverse, on one fold."""
    part.learn(PRIVACY_MODELS)
    found: Private = {}
    for name in PRIVACY_MODELS:
        found["BASIS", (0, 0), 0, name] = [part.scores(name, part.said[name])]
    everyone = ladders(part.records)
    target = CategoricalColumn(codes=part.learnt.target, categories=part.records.classes)
    lattice = Lattice(tuple(own.take(part.learnt_rows) for own in everyone), target)
    tested = {own.name: own.take(part.other_rows) for own in everyone}
    for need in DIVERSITY:
        best = generalise(lattice, Requirement(l=need[0], c=need[1]))
        models: dict[str, Model] = {}
        seen: dict[str, Column] = {}
        if best is not None:
            columns = lattice.columns(best.levels)
            diverse = Records(columns, part.learnt.target, part.records.classes)
            models = _models(diverse, PRIVACY_MODELS)
            levels = zip(tested.items(), best.levels, strict=True)
            seen = {name: own.column(level) for (name, own), level in levels}
        _note_private(found, ("LD", need, 0), models, part, seen)
    for count in size.privacy_sources:
        _ppgen_runs(found, part, count)
    return found


def _ppgen_runs(found: Private, part: Fold, count: int) -> None:
    # What merging could make of a tree is the same under every demand.
    whole = [_merging(own, tree, part) for own, tree in zip(*part.grown(count), strict=True)]
    for need in DIVERSITY:
        for form, method in (("published", "PPGEN"), ("real", "PPGEN, real counts")):
            left = [_pruned(each, _pack(need, form)) for each in whole]
            kept = [tree for tree in left if tree is not None]
            drawn = _drawn(kept, "PGEN", part, [*part.seed, count, *need])
            models = {} if drawn is None else _models(drawn, PRIVACY_MODELS)
            _note_private(found, (method, need, count), models, part, part.other.columns)


def grown(records: Records) -> Tree:
    """Return a source's tree: information gain, one branch per category, two per number, not pruned."""
    response = of_classes(TARGET, records.target, records.classes)
    tree = LEARNER.growth(records.columns, response, MOST_SPLITS).tree(MOST_SPLITS)
    return replace(tree, no_true_child=NoTrueChild.LAST_PREDICTION)


def _merging(own: Records, tree: Tree, part: Fold) -> Merging:
    truth = np.eye(len(own.classes))[own.target]
    people = Population((), {}, np.ones(len(truth)), route(tree, own.columns), truth)
    return merging(tree, people, taxonomies(part.records))


def _pruned(whole: Merging, pack: Pack) -> Tree | None:
    found = held_to(whole, pack)
    assert not isinstance(found, str), found
    left = prune(found.prunable)
    return None if left is None else replace(left.tree, no_true_child=whole.tree.no_true_child)


@cache
def _pack(need: tuple[int, int], form: str) -> Pack:
    clause = f"""name = "study"
version = "1"
title = "(c, l)-diversity"
[[clause]]
id = "diverse"
measure = "cl_diversity"
rule = "below"
limit = {need[1]}
parameters = {{ l = {need[0]}, basis = "{form}" }}
"""
    return read_pack(clause.encode(), "study")


def _drawn(trees: Sequence[Tree], method: str, part: Fold, seed: Sequence[int]) -> Records | None:
    """Return pseudo records, as many as the trees publish (PGEN) or as were learnt from; None without a tree."""
    if not trees:
        return None
    number = int(np.random.default_rng([SEED, *seed]).integers(2**31))
    like = part.learnt
    rows = None if method == "PGEN" else len(like.target)
    plan = DrawPlan(rows, number, domains=domains(part.records))
    chunks = list((pgen if method == "PGEN" else basegen)(trees, plan))
    columns = {
        name: NumericColumn(np.concatenate([c[name].numbers for c in chunks]))
        if isinstance(column, NumericColumn)
        else CategoricalColumn(
            codes=np.concatenate([c[name].codes for c in chunks]), categories=column.categories
        )
        for name, column in like.columns.items()
    }
    return Records(columns, np.concatenate([c[TARGET].codes for c in chunks]), like.classes)


def _models(learnt: Records, names: Sequence[str]) -> dict[str, Model]:
    return {name: MODELS[name](learnt) for name in names}


def _shared_paths(model: Model, basis: Model) -> float:
    """Return the share of all paths of two trees that both have; not a number for other models."""
    if not (isinstance(model, DecisionTree) and isinstance(basis, DecisionTree)):
        return float("nan")
    one, two = model.paths, basis.paths
    return len(one & two) / len(one | two)


def _note(found: Pseudo, what: tuple[str, int], models: dict[str, Model], part: Fold) -> None:
    for name, model in models.items():
        scores = part.scores(name, model.predict(part.other.columns))
        found[*what, name] = [replace(scores, paths=_shared_paths(model, part.basis[name]))]


def _note_private(
    found: Private,
    what: tuple[str, tuple[int, int], int],
    models: dict[str, Model],
    part: Fold,
    seen: Columns,
) -> None:
    for name in PRIVACY_MODELS:
        known = name in models
        found[*what, name] = [part.scores(name, models[name].predict(seen)) if known else None]
