"""The runs of Sharkey et al. 2008: global models from pseudo data, and from data made diverse before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from audit.population import Population
from benchmarks.studies.pruning_data import Part, Records
from benchmarks.studies.sharkey_data import SEED, domains, folds, ladders, sources, taxonomies
from benchmarks.studies.sharkey_models import MODELS, DecisionTree, Model
from policies.pack import Pack, read_pack
from policies.remedies._pruning import prospect
from ppdm_models.apt import prune
from ppdm_models.full_domain import Lattice, generalise
from ppdm_models.full_domain_groups import Requirement
from ppdm_models.learn.best_first import BestFirst
from ppdm_models.learn.response import of_classes
from ppdm_models.pgen import Plan, basegen, pgen
from ppdm_models.predicate import Column, Columns
from ppdm_models.regions import Domains
from ppdm_models.routing import route
from ppdm_models.taxonomy import Taxonomies
from ppdm_models.tree import NoTrueChild, Tree

LEARNER = BestFirst("entropy", multiway=True, min_records=5)
MOST_SPLITS = 100_000
TARGET = "the class"
DIVERSITY = [(l, c) for l in (2, 3, 4, 5) for c in (20, 15, 10, 5)]  # noqa: E741  # the notion's name
PRIVACY_MODELS = ("decision tree", "naive Bayes")


@dataclass(frozen=True)
class Size:
    """How much is run: ``tested`` of ``folds`` folds, in each repetition; ``privacy_tested`` for the second part."""

    folds: int
    tested: int
    privacy_tested: int
    repetitions: int
    sources: tuple[int, ...]
    privacy_sources: tuple[int, ...]
    adult: int | None


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


def pseudo_runs(records: Records, size: Size) -> Pseudo:
    """Compare PGEN and BASEGEN with the raw data."""
    found: Pseudo = {}
    known = domains(records)
    for seed, learnt_rows, other_rows in _parts(records, size, size.tested):
        learnt, other = records.take(learnt_rows), records.take(other_rows)
        basis = _models(learnt, tuple(MODELS))
        _note(found, ("BASIS", 0), basis, basis, other)
        for count in size.sources:
            trees = [grown(own) for own in sources(learnt, count, seed)]
            for method in ("PGEN", "BASEGEN"):
                drawn = _drawn(trees, method, known, learnt, [*seed, count])
                assert drawn is not None
                _note(found, (method, count), _models(drawn, tuple(MODELS)), basis, other)
    return found


def private_runs(records: Records, size: Size) -> Private:
    """Compare PPGEN with full-domain generalisation, both diverse."""
    found: Private = {}
    everyone = ladders(records)
    for seed, learnt_rows, other_rows in _parts(records, size, size.privacy_tested):
        part = Part(records.take(learnt_rows), records.take(other_rows))
        basis = _models(part.learnt, PRIVACY_MODELS)
        raw = part.other.columns
        for name in PRIVACY_MODELS:
            scores = _scores(basis[name], basis[name], part.other, raw)
            found.setdefault(("BASIS", (0, 0), 0, name), []).append(scores)
        target = Column(codes=part.learnt.target, categories=records.classes)
        lattice = Lattice(tuple(own.take(learnt_rows) for own in everyone), target)
        tested = {own.name: own.take(other_rows) for own in everyone}
        for need in DIVERSITY:
            best = generalise(lattice, Requirement(l=need[0], c=need[1]))
            models: dict[str, Model] = {}
            seen: dict[str, Column] = {}
            if best is not None:
                columns = lattice.columns(best.levels)
                diverse = Records(columns, part.learnt.target, records.classes)
                models = _models(diverse, PRIVACY_MODELS)
                levels = zip(tested.items(), best.levels, strict=True)
                seen = {name: own.column(level) for (name, own), level in levels}
            _note_private(found, ("LD", need, 0), models, basis, part.other, seen)
        for count in size.privacy_sources:
            _ppgen_runs(found, records, part, basis, count, seed)
    return found


def _ppgen_runs(
    found: Private,
    records: Records,
    part: Part,
    basis: dict[str, Model],
    count: int,
    seed: list[int],
) -> None:
    known, hierarchies = domains(records), taxonomies(records)
    parts = sources(part.learnt, count, seed)
    trees = [grown(own) for own in parts]
    for need in DIVERSITY:
        for form, method in (("published", "PPGEN"), ("real", "PPGEN, real counts")):
            pack = _pack(need, form)
            left = [_pruned(t, own, pack, hierarchies) for t, own in zip(trees, parts, strict=True)]
            kept = [tree for tree in left if tree is not None]
            drawn = _drawn(kept, "PGEN", known, part.learnt, [*seed, count, *need])
            models = {} if drawn is None else _models(drawn, PRIVACY_MODELS)
            _note_private(
                found, (method, need, count), models, basis, part.other, part.other.columns
            )


def grown(records: Records) -> Tree:
    """Return a source's tree: information gain, one branch per category, two per number, not pruned."""
    response = of_classes(TARGET, records.target, records.classes)
    tree = LEARNER.growth(records.columns, response, MOST_SPLITS).tree(MOST_SPLITS)
    return replace(tree, no_true_child=NoTrueChild.LAST_PREDICTION)


def _pruned(tree: Tree, own: Records, pack: Pack, hierarchies: Taxonomies) -> Tree | None:
    truth = np.eye(len(own.classes))[own.target]
    people = Population((), {}, np.ones(len(truth)), route(tree, own.columns), truth)
    found = prospect(tree, people, pack, hierarchies)
    assert not isinstance(found, str), found
    left = prune(found.prunable)
    return None if left is None else replace(left.tree, no_true_child=tree.no_true_child)


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


def _drawn(
    trees: Sequence[Tree], method: str, known: Domains, like: Records, seed: list[int]
) -> Records | None:
    """Return pseudo records, as many as the trees publish (PGEN) or as were learnt from; None without a tree."""
    if not trees:
        return None
    number = int(np.random.default_rng([SEED, *seed]).integers(2**31))
    rows = None if method == "PGEN" else len(like.target)
    plan = Plan(rows, number, domains=known)
    chunks = list((pgen if method == "PGEN" else basegen)(trees, plan))
    columns = {
        name: Column(numbers=np.concatenate([c[name].numbers for c in chunks]))
        if column.numbers is not None
        else Column(
            codes=np.concatenate([c[name].codes for c in chunks]), categories=column.categories
        )
        for name, column in like.columns.items()
    }
    return Records(columns, np.concatenate([c[TARGET].codes for c in chunks]), like.classes)


def _parts(
    records: Records, size: Size, tested: int
) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
    for repetition in range(size.repetitions):
        rows = folds(len(records.target), repetition, size.folds, tested)
        for fold, (learnt, other) in enumerate(rows):
            yield [repetition, fold], learnt, other


def _models(learnt: Records, names: Sequence[str]) -> dict[str, Model]:
    return {name: MODELS[name](learnt) for name in names}


def _scores(model: Model, basis: Model, other: Records, seen: Columns) -> Scores:
    said = model.predict(seen)
    as_basis = said == basis.predict(other.columns)
    return Scores(float((said == other.target).mean()), float(as_basis.mean()))


def _shared_paths(model: Model, basis: Model) -> float:
    """Return the share of all paths of two trees that both have; not a number for other models."""
    if not (isinstance(model, DecisionTree) and isinstance(basis, DecisionTree)):
        return float("nan")
    one, two = model.paths(), basis.paths()
    return len(one & two) / len(one | two)


def _note(
    found: Pseudo,
    what: tuple[str, int],
    models: dict[str, Model],
    basis: dict[str, Model],
    other: Records,
) -> None:
    for name, model in models.items():
        scores = _scores(model, basis[name], other, other.columns)
        scores = replace(scores, paths=_shared_paths(model, basis[name]))
        found.setdefault((*what, name), []).append(scores)


def _note_private(
    found: Private,
    what: tuple[str, tuple[int, int], int],
    models: dict[str, Model],
    basis: dict[str, Model],
    other: Records,
    seen: Columns,
) -> None:
    for name in basis:
        scores = _scores(models[name], basis[name], other, seen) if name in models else None
        found.setdefault((*what, name), []).append(scores)
