"""Published numbers that a proof can rest on: class counts of leaves, and entries of outputs beside the model.

From them follows what the model and its outputs prove of people, and which numbers are to blame for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from treewarden.audit.blame.certainty import ALWAYS_KNOWN, CertaintyOracle, PublishedNumbers
from treewarden.audit.blame.information import bits_of_leaves, bits_of_rows
from treewarden.audit.blame.result import Blame, InformationBound, SourceProof
from treewarden.audit.blame.withholding import reasons_of_all, shares_of_blame, withhold_least
from treewarden.audit.engine.problem import ALL_PEOPLE, KNOWN_FACT, Problem
from treewarden.audit.joint.cells import PeopleCells
from treewarden.audit.joint.known_facts import joined_rows, known_rows, rows_beside
from treewarden.audit.joint.leaf_facts import EnsembleLeafFacts, read_leaf_facts
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.outputs.beside_rows import BesideRows
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.tree import Task, Tree

NOT_ALL = (
    "its leaves contain more than counts of people, so a smallest set of numbers cannot be "
    "determined"
)
NO_TRUTH = Undetermined("the true classes are not known")


@dataclass(frozen=True, slots=True, eq=False)
class ModelNumbers:
    """Published numbers with the leaf, (tree, node), or the entry that each is; -1 where it is of the other kind.

    ``cells`` are the groups of people that the numbers are about; ``without_labels`` is what is left where the model,
    and with it the labels of its leaves, is not known.
    """

    numbers: PublishedNumbers
    leaves: tuple[tuple[int, int], ...]
    entries: tuple[int, ...]
    cells: PeopleCells
    without_labels: PublishedNumbers


def numbers_of_model(
    forest: Forest,
    population: Population,
    knowledge: Knowledge,
    beside: BesideRows | None = None,
) -> ModelNumbers | Undetermined:
    """Return the numbers that a model publishes of its people, or why they are no rows over whole people.

    Labels of leaves stay, whatever is withheld, and so do facts that the adversary knows from elsewhere. How many
    people have each class is always known where outputs beside the model are judged, or the adversary knows it.
    """
    model = forest.model
    if isinstance(population.truth, Undetermined):
        return NO_TRUTH
    if model.task is Task.REGRESSION or not model.classes or population.weight is not None:
        return Undetermined("available only for models that predict a class and count people")
    facts = known_rows(knowledge, model.classes, population)
    published = None if beside is None else rows_beside(beside.rows, population, beside.words)
    growth = model.growth if isinstance(model, Ensemble) else None
    background = joined_rows([published, facts])
    read = read_leaf_facts(forest, population, growth, knowledge.training, None, background)
    if isinstance(read, Undetermined):
        return read
    if read.truth is None or read.rows.scaled is not None or not read.sums.is_complete:
        return Undetermined(NOT_ALL)
    entries = () if published is None else published.entries
    return _numbered(read, forest, beside, entries, is_total_known=knowledge.marginal)


def _numbered(
    read: EnsembleLeafFacts,
    forest: Forest,
    beside: BesideRows | None,
    entry_of_fact: tuple[int, ...],
    *,
    is_total_known: bool,
) -> ModelNumbers:
    """Return the rows with the number that each belongs to."""
    rows, truth = read.rows, read.truth
    assert truth is not None
    labels = _label_rows(forest, read) if isinstance(forest.model, Tree) else None
    is_kept = (rows.trees >= 0) | (rows.trees == KNOWN_FACT)
    is_kept |= (rows.trees == ALL_PEOPLE) & is_total_known
    rows = _rows_at(rows, np.flatnonzero(is_kept))
    origins = list(zip(rows.trees.tolist(), rows.nodes.tolist(), strict=True))
    leaves = list(dict.fromkeys(origin for origin in origins if origin[0] >= 0))
    place = {leaf: number for number, leaf in enumerate(leaves)}
    used = sorted({entry for entry in entry_of_fact if entry >= 0})
    place_of_entry = {entry: len(leaves) + number for number, entry in enumerate(used)}
    number_of_row = np.full(len(rows.low), ALWAYS_KNOWN, dtype=np.intp)
    for row, (tree, node) in enumerate(origins):
        if tree >= 0:
            number_of_row[row] = place[tree, node]
        elif tree == KNOWN_FACT and node < len(entry_of_fact) and entry_of_fact[node] >= 0:
            number_of_row[row] = place_of_entry[entry_of_fact[node]]
    names = [_leaf_name(forest, *leaf) for leaf in leaves]
    names += [] if beside is None else [beside.words(entry) for entry in used]
    costs = np.ones(len(names), dtype=np.int64)
    bare = PublishedNumbers(rows, number_of_row, tuple(names), costs, truth)
    numbers = bare if labels is None else _with_labels(bare, labels)
    return ModelNumbers(
        numbers=numbers,
        leaves=(*leaves, *[(-1, -1)] * len(used)),
        entries=(*[-1] * len(leaves), *used),
        cells=read.cells,
        without_labels=bare,
    )


def _with_labels(numbers: PublishedNumbers, labels: Problem) -> PublishedNumbers:
    known = np.full(len(labels.low), ALWAYS_KNOWN, dtype=np.intp)
    return replace(
        numbers,
        problem=_stacked(numbers.problem, labels),
        number_of_row=np.concatenate([numbers.number_of_row, known]),
    )


def _leaf_name(forest: Forest, tree: int, node: int) -> str:
    name = f"leaf {forest.trees[tree].nodes[node].name}"
    return f"tree {tree + 1}, {name}" if len(forest.trees) > 1 else name


def _label_rows(forest: Forest, read: EnsembleLeafFacts) -> Problem | None:
    """Return what the label of each leaf of one tree of two classes says where it leads, as it truly does."""
    tree, truth = forest.trees[0], read.truth
    assert truth is not None
    if len(tree.classes) != 2 or tuple(tree.classes) != tuple(forest.model.classes):
        return None
    stopped = forest.stops[0][read.cells.first]
    inside, low, output = [], list[int](), list[int]()
    for node in np.unique(stopped).tolist():
        label, here = tree.nodes[node].score, stopped == node
        if label not in tree.classes:
            continue
        klass = tree.classes.index(str(label))
        people = int(read.cells.sizes[here].sum())
        if 2 * int(truth[here, klass].sum()) >= people:
            inside.append(here)
            low.append((people + 1) // 2)
            output.append(klass)
    if not inside:
        return None
    matrix = sparse.csr_array(np.array(inside, dtype=np.int64))
    size = len(low)
    return replace(
        read.rows,
        matrix=matrix,
        low=np.array(low),
        high=np.asarray(matrix @ read.cells.sizes),
        output=np.array(output, dtype=np.intp),
        trees=np.full(size, KNOWN_FACT),
        nodes=np.full(size, -1),
    )


def _rows_at(problem: Problem, rows: IndexArray) -> Problem:
    columns = ("low", "high", "output", "trees", "nodes")
    parts: dict[str, Any] = {name: getattr(problem, name)[rows] for name in columns}
    return replace(problem, matrix=sparse.csr_array(problem.matrix[rows]), **parts)


def _stacked(first: Problem, second: Problem) -> Problem:
    columns = ("low", "high", "output", "trees", "nodes")
    parts: dict[str, Any] = {
        name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in columns
    }
    matrix = sparse.csr_array(sparse.vstack([first.matrix, second.matrix], format="csr"))
    return replace(first, matrix=matrix, **parts)


REASONS_SHARE, ALONE_SHARE = 0.5, 0.2
"""Of the time that is left: for reasons, and before them for what each output proves alone."""


def blame_numbers(
    forest: Forest,
    population: Population,
    knowledge: Knowledge,
    beside: BesideRows | None,
    until: Clock,
    *,
    same_everywhere: bool = False,
) -> Blame | Undetermined:
    """Return which numbers of a model, and of outputs beside it, prove people's values, as far as the time goes.

    With ``same_everywhere`` all numbers of a tree or an output are withheld together: which of them would prove
    something cannot be told from that (the minimality attack, Wong et al. 2007).
    """
    published = numbers_of_model(forest, population, knowledge, beside)
    if isinstance(published, Undetermined):
        return published
    numbers = published.numbers
    sizes = numbers.problem.sizes.astype(np.float64)
    oracle = CertaintyOracle(numbers, until.share(ALONE_SHARE))
    sources = _sources(oracle, published, forest, beside)
    found = oracle.certain_groups(numbers.everything)
    oracle.clock = until.share(REASONS_SHARE)
    reasons, left = reasons_of_all(oracle, numbers.everything, found.is_certain)
    oracle.clock = until
    return Blame(
        names=numbers.names,
        sources=sources,
        certain=_people(sizes, found.is_certain),
        may_be_certain=_people(sizes, found.is_open),
        reasons=tuple(reasons),
        people=tuple(float(sizes[list(reason.groups)].sum()) for reason in reasons),
        unexplained=_people(sizes, left),
        shares=shares_of_blame(reasons, sizes, len(numbers.names)),
        least=withhold_least(oracle, _ties(published, beside) if same_everywhere else ()),
        unused=() if beside is None else beside.unused,
        information=_information(published, population, beside),
    )


def _sources(
    oracle: CertaintyOracle, published: ModelNumbers, forest: Forest, beside: BesideRows | None
) -> tuple[SourceProof, ...]:
    """Return what the model proves alone, and each output; nothing where there is the model only."""
    if beside is None:
        return ()
    parts: dict[str, set[int]] = {forest.model.source: set()}
    for number, (leaf, entry) in enumerate(zip(published.leaves, published.entries, strict=True)):
        name = forest.model.source if leaf[0] >= 0 else beside.source(entry)
        parts.setdefault(name, set()).add(number)
    sizes = published.numbers.problem.sizes.astype(np.float64)
    found = []
    of_outputs = CertaintyOracle(published.without_labels, oracle.clock)
    for name, chosen in parts.items():
        asked = oracle if name == forest.model.source else of_outputs
        groups = asked.certain_groups(frozenset(chosen))
        certain, is_open = _people(sizes, groups.is_certain), _people(sizes, groups.is_open)
        found.append(SourceProof(name, len(chosen), certain, is_open))
    return tuple(found)


def _ties(published: ModelNumbers, beside: BesideRows | None) -> tuple[frozenset[int], ...]:
    """Return the numbers of each tree and of each output, where it has several."""
    ties: dict[tuple[int, str], set[int]] = {}
    for number, (leaf, entry) in enumerate(zip(published.leaves, published.entries, strict=True)):
        source = "" if beside is None or entry < 0 else beside.source(entry)
        ties.setdefault((leaf[0], source), set()).add(number)
    return tuple(frozenset(tie) for tie in ties.values() if len(tie) > 1)


def _information(
    published: ModelNumbers, population: Population, beside: BesideRows | None
) -> InformationBound:
    """Return how many bits the model's numbers and outputs hold at most, and how many everybody's values are."""
    problem = published.numbers.problem
    total = bits_of_leaves(problem, np.flatnonzero(problem.trees >= 0))
    if beside is not None:
        people = np.rint(population.counts).astype(np.int64)
        total += bits_of_rows(beside.rows, people)
    return InformationBound(total, float(population.counts.sum()) * math.log2(problem.classes))


def _people(sizes: np.ndarray, is_so: BoolArray) -> float:
    return float(sizes[is_so].sum())
