"""Published numbers that a proof can rest on: class counts of leaves, and entries of outputs beside the model.

From them follows what the model and its outputs prove of people, and which numbers are to blame for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from scipy import sparse

from treewarden.audit.blame.certainty import ALWAYS_KNOWN, CertaintyOracle, PublishedNumbers
from treewarden.audit.blame.inference_blame import blame_inference
from treewarden.audit.blame.result import Blame, InformationBound, ProofReason, SourceProof
from treewarden.audit.blame.withholding import (
    find_smallest,
    reasons_of_all,
    shares_of_blame,
    withhold_least,
)
from treewarden.audit.engine.problem import ALL_PEOPLE, KNOWN_FACT, Problem
from treewarden.audit.joint.cells import PeopleCells
from treewarden.audit.joint.draws import LabelTies, label_ends
from treewarden.audit.joint.known_facts import joined_rows, known_rows, rows_beside
from treewarden.audit.joint.leaf_facts import EnsembleLeafFacts, read_leaf_facts
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.outputs.beside_rows import BesideRows
from treewarden.audit.outputs.whole_row import WholeRow
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Clock, Share, clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.withholding_costs import (
    BAND,
    BAND_WIDTH,
    EQUAL_COSTS,
    LEAF,
    WithholdingCosts,
)
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.ensemble import growth_of
from treewarden.ppdm_models.tree.tree import Task

NOT_ALL = (
    "its leaves contain more than counts of people, so a smallest set of numbers cannot be "
    "determined"
)
NO_TRUTH = Undetermined("the true classes are not known")


@dataclass(frozen=True, slots=True, eq=False)
class ModelNumbers:
    """Published numbers with the leaf, (tree, node), or the entry that each is; -1 where it is of the other kind.

    ``unit`` of the numbers' costs make 1. ``cells`` are the groups of people that the numbers are about;
    ``without_labels`` is what is left where the model, and with it the labels of its leaves, is not known.
    """

    numbers: PublishedNumbers
    leaves: tuple[tuple[int, int], ...]
    entries: tuple[int, ...]
    cells: PeopleCells
    without_labels: PublishedNumbers
    unit: int = 1


def numbers_of_model(
    forest: Forest,
    population: Population,
    knowledge: Knowledge,
    beside: BesideRows | None = None,
    costs: WithholdingCosts = EQUAL_COSTS,
    ties: LabelTies = LabelTies.EITHER,
) -> ModelNumbers | Undetermined:
    """Return the numbers that a model publishes of its people, or why they are no rows over whole people.

    Labels of leaves stay, whatever is withheld, and so do facts that the adversary knows from elsewhere. How many
    people have each class is always known where outputs beside the model are judged, or the adversary knows it. By
    ``ties`` labels are read as whoever knows how ties are broken reads them, or as everybody does.
    """
    model = forest.model
    if isinstance(population.truth, Undetermined):
        return NO_TRUTH
    if model.task is Task.REGRESSION or not model.classes or population.weight is not None:
        return Undetermined("available only for models that predict a class and count people")
    facts = known_rows(knowledge, model.classes, population)
    published = None if beside is None else rows_beside(beside.rows, population, beside.words)
    growth = growth_of(model)
    background = joined_rows([published, facts])
    training = knowledge.training
    read = read_leaf_facts(forest, population, growth, training, None, background, ties=ties)
    if isinstance(read, Undetermined):
        return read
    if read.truth is None or read.rows.scaled is not None or not read.sums.is_complete:
        return Undetermined(NOT_ALL)
    entries = () if published is None else published.entries
    found = _numbered(read, forest, beside, entries, is_total_known=knowledge.marginal)
    found = _with_costs(found, beside, costs)
    labels = _label_rows(forest, read, ties)
    return found if labels is None else replace(found, numbers=_with_labels(found.numbers, labels))


def _numbered(
    read: EnsembleLeafFacts,
    forest: Forest,
    beside: BesideRows | None,
    entry_of_fact: tuple[int, ...],
    *,
    is_total_known: bool,
) -> ModelNumbers:
    """Return the rows, without those of labels, with the number that each belongs to."""
    rows, truth = read.rows, read.truth
    assert truth is not None
    is_kept = (rows.trees >= 0) | (rows.trees == KNOWN_FACT)
    is_kept |= (rows.trees == ALL_PEOPLE) & is_total_known
    rows = rows.select(np.flatnonzero(is_kept))
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
    numbers = PublishedNumbers(rows, number_of_row, tuple(names), costs, truth)
    return ModelNumbers(
        numbers=numbers,
        leaves=(*leaves, *[(-1, -1)] * len(used)),
        entries=(*[-1] * len(leaves), *used),
        cells=read.cells,
        without_labels=numbers,
    )


def _with_costs(
    published: ModelNumbers, beside: BesideRows | None, costs: WithholdingCosts
) -> ModelNumbers:
    """Return the numbers with what each costs, and with the bands of each leaf where those may be published."""
    kinds = [
        LEAF if entry < 0 or beside is None else beside.kind(entry) for entry in published.entries
    ]
    whole = np.array([costs.whole(kind) for kind in kinds], dtype=np.int64)
    numbers = replace(published.numbers, costs=whole)
    leaves, entries = published.leaves, published.entries
    if costs.has_bands:
        banded = [number for number, (tree, _) in enumerate(leaves) if tree >= 0]
        numbers = _with_bands(numbers, np.array(banded, dtype=np.intp), costs)
        leaves += tuple(leaves[number] for number in banded)
        entries += (-1,) * len(banded)
    return replace(
        published,
        numbers=numbers,
        without_labels=numbers,
        leaves=leaves,
        entries=entries,
        unit=costs.unit,
    )


def _with_bands(
    numbers: PublishedNumbers, banded: IndexArray, costs: WithholdingCosts
) -> PublishedNumbers:
    """Return the numbers with a further one for each of some leaves: its class counts in bands.

    What was the leaf becomes its exact counts. Who withholds those publishes the bands still.
    """
    names, whole = list(numbers.names), numbers.costs.copy()
    rows = np.flatnonzero(np.isin(numbers.number_of_row, banded))
    bands = numbers.problem.select(rows)
    low, high = _band_ends(bands.low, bands.high)
    if bands.classes == 2:  # one class is counted, and the other has its band too
        of_other = _band_ends(bands.people - bands.high, bands.people - bands.low)
        low = np.maximum(low, bands.people - of_other[1])
        high = np.minimum(high, bands.people - of_other[0])
    bands = replace(
        bands,
        trees=np.full(len(rows), KNOWN_FACT),  # the exact counts imply them
        nodes=np.full(len(rows), -1),
        low=low,
        high=high,
    )
    place = {number: len(names) + index for index, number in enumerate(banded.tolist())}
    of_bands = [place[number] for number in numbers.number_of_row[rows].tolist()]
    in_bands = [f"{names[number]}, class counts in bands of {BAND_WIDTH}" for number in place]
    for number in place:
        names[number] += ", exact class counts"
    whole[banded] = costs.whole(BAND)
    rest = np.full(len(banded), costs.whole(LEAF) - costs.whole(BAND), dtype=np.int64)
    return replace(
        numbers,
        problem=numbers.problem.stacked(bands),
        number_of_row=np.concatenate([numbers.number_of_row, np.array(of_bands, dtype=np.intp)]),
        names=(*names, *in_bands),
        costs=np.concatenate([whole, rest]),
    )


def _with_labels(numbers: PublishedNumbers, labels: Problem) -> PublishedNumbers:
    known = np.full(len(labels.low), ALWAYS_KNOWN, dtype=np.intp)
    return replace(
        numbers,
        problem=numbers.problem.stacked(labels),
        number_of_row=np.concatenate([numbers.number_of_row, known]),
    )


def _band_ends(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Return the ends of the bands in which counts lie."""
    return low // BAND_WIDTH * BAND_WIDTH, high // BAND_WIDTH * BAND_WIDTH + BAND_WIDTH - 1


def _leaf_name(forest: Forest, tree: int, node: int) -> str:
    own = forest.trees[tree].nodes[node].name
    name = own if own.casefold().startswith("leaf") else f"leaf {own}"  # some files say so already
    return f"tree {tree + 1}, {name}" if len(forest.trees) > 1 else name


def _label_rows(forest: Forest, read: EnsembleLeafFacts, ties: LabelTies) -> Problem | None:
    """Return what the label of each leaf says of people where it leads among them, as it truly does.

    Leaves that count draws say nothing of people.
    """
    truth, classes = read.truth, tuple(forest.model.classes)
    assert truth is not None
    if int(read.rows.matrix.data.max(initial=1)) > 1:
        return None
    inside, low, high, output = [], list[int](), list[int](), list[int]()
    for tree, stops in zip(forest.trees, forest.stops, strict=True):
        if tuple(tree.classes) != classes:
            continue
        stopped = stops[read.cells.first]
        for node in np.unique(stopped).tolist():
            label, here = tree.nodes[node].score, np.flatnonzero(stopped == node)
            people, counts = int(read.cells.sizes[here].sum()), truth[here].sum(axis=0)
            if label not in classes or not people:
                continue
            own = classes.index(str(label))
            if counts[own] < counts.max():
                continue
            least, most = label_ends(own, counts, ties)
            for klass in range(len(classes)) if len(classes) > 2 else (own,):
                inside.append(here)
                low.append(int(least[klass]))
                high.append(int(most[klass]))
                output.append(klass)
    if not inside:
        return None
    ends = np.cumsum([0, *map(len, inside)])
    ones = np.ones(int(ends[-1]), dtype=np.int64)
    shape = (len(low), len(read.cells.sizes))
    matrix = sparse.csr_array((ones, np.concatenate(inside), ends), shape=shape)
    return replace(
        read.rows,
        matrix=matrix,
        low=np.array(low),
        high=np.array(high),
        output=np.array(output, dtype=np.intp),
        trees=np.full(len(low), KNOWN_FACT),
        nodes=np.full(len(low), -1),
    )


LEAST_SECONDS = 5.0
"""What the number that tells most may take, where the rest took all of the time."""
REASONS_SHARE, ALONE_SHARE, SMALLEST_SHARE = 0.5, 0.2, 0.5
"""Of the time that is left: for reasons, before them for what each output proves alone, then for smaller reasons."""


@dataclass(frozen=True, slots=True)
class BlameSettings:
    """What is asked beyond reasons.

    With ``same_everywhere`` all numbers of a tree or an output are withheld together: which of them would prove
    something cannot be told from that (the minimality attack, Wong et al. 2007). ``is_smallest`` asks for reasons of
    the fewest numbers.
    """

    same_everywhere: bool = False
    is_smallest: bool = False
    costs: WithholdingCosts = EQUAL_COSTS


def blame_numbers(
    forest: Forest,
    population: Population,
    knowledge: Knowledge,
    beside: BesideRows | None,
    until: Clock,
    settings: BlameSettings = BlameSettings(),
    share: Share | None = None,
) -> Blame | Undetermined:
    """Return which numbers of a model, and of outputs beside it, prove people's values, as far as the time goes.

    ``share`` hears how much has to be withheld at least.
    """
    published = numbers_of_model(forest, population, knowledge, beside, settings.costs)
    if isinstance(published, Undetermined):
        return published
    numbers = published.numbers
    sizes = numbers.problem.sizes.astype(np.float64)
    oracle = CertaintyOracle(numbers, until.share(ALONE_SHARE))
    # First all numbers: each table that fits all of them answers for fewer too.
    found = oracle.certain_groups(numbers.everything)
    sources = _sources(oracle, published, forest, beside)
    oracle.clock = until.share(REASONS_SHARE)
    reasons, left = reasons_of_all(oracle, numbers.everything, found.is_certain)
    if settings.is_smallest:
        oracle.clock = until.share(SMALLEST_SHARE)
        reasons = _smallest_of_all(oracle, reasons)
    oracle.clock = until
    ties = ties_of(published, beside) if settings.same_everywhere else ()
    return Blame(
        names=numbers.names,
        sources=sources,
        certain=_people(sizes, found.is_certain),
        may_be_certain=_people(sizes, found.is_open),
        reasons=tuple(reasons),
        people=tuple(float(sizes[list(reason.groups)].sum()) for reason in reasons),
        unexplained=_people(sizes, left),
        shares=shares_of_blame(reasons, sizes, len(numbers.names)),
        least=withhold_least(oracle, ties, published.unit, share),
        leaves=published.leaves,
        has_costs=bool(settings.costs.of_kind),
        unused=() if beside is None else beside.unused,
        information=_information(published, population, beside),
        inference=blame_inference(numbers, clock(max(until.left, LEAST_SECONDS))),
    )


def _smallest_of_all(oracle: CertaintyOracle, reasons: list[ProofReason]) -> list[ProofReason]:
    """Return a smallest reason for each group, as far as the oracle's clock goes; groups of one reason are joined."""
    found: dict[ProofReason, list[int]] = {}
    for reason in reasons:
        for group in reason.groups:
            alone = find_smallest(oracle, replace(reason, groups=(group,)))
            found.setdefault(replace(alone, groups=()), []).append(group)
    return [replace(reason, groups=tuple(groups)) for reason, groups in found.items()]


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
    of_outputs = oracle.over(published.without_labels)
    for name, chosen in parts.items():
        asked = oracle if name == forest.model.source else of_outputs
        groups = asked.certain_groups(frozenset(chosen))
        certain, is_open = _people(sizes, groups.is_certain), _people(sizes, groups.is_open)
        found.append(SourceProof(name, len(chosen), certain, is_open))
    return tuple(found)


def known_outputs(published: ModelNumbers) -> PublishedNumbers:
    """Return the numbers where those of outputs beside the model are known, whatever of the model is withheld."""
    numbers, entries = published.numbers, np.array(published.entries, dtype=np.intp)
    of_row = numbers.number_of_row
    is_output = (of_row >= 0) & (entries[np.maximum(of_row, 0)] >= 0)
    return replace(numbers, number_of_row=np.where(is_output, ALWAYS_KNOWN, of_row))


def ties_of(
    published: ModelNumbers, beside: BesideRows | None = None
) -> tuple[frozenset[int], ...]:
    """Return the numbers of each tree and of each output, where it has several: all of them go or none does.

    The bands of a tree's leaves are tied for themselves, so that all of its leaves may be published in bands.
    """
    ties: dict[tuple[int, str, bool], set[int]] = {}
    seen = set[tuple[int, int]]()
    for number, (leaf, entry) in enumerate(zip(published.leaves, published.entries, strict=True)):
        source = "" if beside is None or entry < 0 else beside.source(entry)
        is_band = leaf[0] >= 0 and leaf in seen
        seen.add(leaf)
        ties.setdefault((leaf[0], source, is_band), set()).add(number)
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


# How many bits numbers can hold at most, beside how many everybody's values are, says which risk to expect: a number
# that can take v values tells at most ``log2 v`` bits (Shannon 1948). With far fewer bits than the values have, few
# people can be proved, and inference is the risk; with more, most of them may be.

STATEMENT_BITS = 1.0
"""A row with one end says one thing or its opposite."""


def bits_of_leaves(problem: Problem, rows: IndexArray) -> float:
    """Return how many bits some rows over counts of people hold at most."""
    people = np.asarray(problem.matrix[rows] @ problem.sizes, dtype=np.float64)
    width = np.asarray(problem.high[rows] - problem.low[rows], dtype=np.float64)
    return float(np.log2((people + 1.0) / (np.clip(width, 0.0, people) + 1.0)).sum())


def bits_of_rows(rows: Sequence[WholeRow], people: IntArray) -> float:
    """Return how many bits rows of outputs, in the order of their entries, hold at most; ``people`` is (P,)."""
    total = 0.0
    for _, group in groupby(rows, key=lambda row: row.entry):
        before: WholeRow | None = None
        for row in group:
            if row.low is not None and row.high is not None:
                total += _of_two_ends(row, people)
            elif before is not None and before.low is not None and row.low is None:
                total += _of_pair(before, row) - STATEMENT_BITS  # which the first of them was given
            else:
                total += STATEMENT_BITS
            before = row if row.high is None else None
    return total


def _of_two_ends(row: WholeRow, people: IntArray) -> float:
    assert row.low is not None
    assert row.high is not None
    weights = row.weights.astype(np.float64)
    least, most = (
        float(part @ people) for part in (np.minimum(weights, 0), np.maximum(weights, 0))
    )
    width = max(min(row.high, most) - max(row.low, least), 0.0)
    return math.log2((most - least + 1.0) / (width + 1.0))


def _of_pair(low: WholeRow, high: WholeRow) -> float:
    """Return the bits of a mean or a share, of which each end is a row: the widest range over the width of rounding."""
    scale = max(float(np.abs(low.weights).max(initial=0)), 1.0)
    other = max(float(np.abs(high.weights).max(initial=0)), 1.0)
    gap = float(np.abs(low.weights / scale - high.weights / other).max(initial=0.0))
    return math.log2(1.0 + 2.0 / gap) if gap > 0 else STATEMENT_BITS
