"""Leaves that count draws: each tree saw a sample of the records, and a person drawn twice counts twice.

Where it is known which records were drawn, the counts are sums over people, each as often as drawn. Where it is not, a
leaf that drew a class holds a person who has it, and nothing more is certain: one person may be behind all its draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np

from treewarden.audit.inverters import GrownCase, LeafSums, inverters, leaf_sums
from treewarden.audit.joint.known_facts import KnownRows
from treewarden.audit.population.forest import Forest, draw_bootstrap
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray, grouped, kinds_of
from treewarden.ppdm_models.tree.column import Column
from treewarden.ppdm_models.tree.ensemble import Ensemble, EnsembleGrowth, Model, derived
from treewarden.ppdm_models.tree.plain_splits import class_counts_of, is_inner
from treewarden.ppdm_models.tree.tree import Quality, Tree, count_of

# The units that the leaves are about: profiles, or single records where draws tell people of one profile apart.


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Profiles, or the records of profiles: where each stops, ``stops`` (T, U), and how many ``people`` it is, (U,).

    ``profile`` (U,) is whose each one is, ``truth`` (U, m) its people of each class, None where that is not known.
    ``draws`` (T, U) says how often each tree drew a record; None where every tree saw everybody once.
    ``background`` are facts about them from elsewhere. ``weights`` (U,) is what one of them counts where sampling
    weights are summed, in whole units; None where each counts once.
    """

    stops: IndexArray
    people: FloatArray
    profile: IndexArray
    truth: FloatArray | None
    draws: IntArray | None = None
    background: KnownRows | None = None
    weights: IntArray | None = None

    @property
    def parts(self) -> IndexArray | None:
        """Whom facts and weights tell apart, (U,), None where there are none."""
        parts = None if self.background is None else self.background.parts()
        return parts if self.weights is None else parted(parts, self.weights)

    def knowing(self, background: KnownRows | None) -> Units:
        """Return the same people with what is known of their profiles from elsewhere."""
        return (
            self
            if background is None
            else replace(self, background=background.of_units(self.profile))
        )

    @property
    def profiles(self) -> int:
        """How many profiles there are."""
        return int(self.profile.max(initial=-1)) + 1

    def mean(self, shares: FloatArray) -> FloatArray:
        """Return the mean of what is said of each unit, (U, m), by profile, (P, m)."""
        if self.draws is None:
            return shares
        total = grouped(self.profile, shares * self.people[:, None], self.profiles)
        people = np.bincount(self.profile, self.people, self.profiles)
        return np.asarray(total / people[:, None])

    def agreed(self, classes: IntArray) -> IntArray:
        """Return the class that all units of a profile have, (P,), of those of units (U,); -1 stands for none."""
        if self.draws is None:
            return classes
        low = np.full(self.profiles, np.iinfo(np.int64).max)
        high = np.full(self.profiles, -1)
        np.minimum.at(low, self.profile, classes)
        np.maximum.at(high, self.profile, classes)
        return np.where(low == high, high, -1)


def parted(parts: IndexArray | None, *numbers: IntArray) -> IndexArray:
    """Return which of those whom ``parts`` (U,) tells apart numbers tell apart besides, (U,) each."""
    return kinds_of(numbers if parts is None else (parts, *numbers))


def by_profile(stops: IndexArray, population: Population) -> Units:
    """Return profiles, whose people no tree tells apart."""
    truth = None if isinstance(population.truth, Undetermined) else population.truth
    return Units(stops, population.counts, np.arange(len(population.counts)), truth)


def by_record(stops: IndexArray, population: Population, draws: IntArray) -> Units:
    """Return the records in the order of the table, each tree of which drew some, (T, n); the order is known."""
    order = population.order
    assert order is not None
    truth = None
    if order.classes is not None and not isinstance(population.truth, Undetermined):
        truth = np.zeros((len(order.profiles), population.truth.shape[1]))
        truth[np.arange(len(truth)), order.classes] = 1.0
    people = np.ones(len(order.profiles))
    return Units(stops[:, order.profiles], people, order.profiles, truth, draws)


NOT_COUNTED = Undetermined(
    "the file contains neither its training settings nor class counts of leaves"
)
STOPS_EARLY = Undetermined("some records stop at an inner node")
NOT_DRAWN = Undetermined("the draws of its leaves are not those of this table's records")
SMALLEST = 1e-6
"""Counts that files give as products of shares are off by less of what a leaf holds."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassCountBounds:
    """The tree, the leaf and the class that is counted, with the least and the most, an entry each."""

    trees: IndexArray
    leaves: IndexArray
    outputs: IndexArray
    least: FloatArray
    most: FloatArray


def drawn_sums(forest: Forest, units: Units) -> LeafSums | Undetermined:
    """Return what the draws of all leaves say, of every class, or of the second one where there are two."""
    class_count_bounds: list[ClassCountBounds] = []
    for number, (tree, stops) in enumerate(zip(forest.trees, units.stops, strict=True)):
        stopped = stops >= 0
        here = stops[stopped]
        nodes = np.flatnonzero(np.bincount(here, minlength=len(tree.nodes)))
        counts = counts_at(tree, nodes, forest.model.classes)
        if isinstance(counts, Undetermined):
            return counts
        weight = units.people if units.draws is None else units.draws[number].astype(np.float64)
        inside = np.bincount(here, weight[stopped], len(tree.nodes)).astype(np.float64)[nodes]
        if units.draws is None:
            low, high = _bounds(counts, inside)
        elif (counts.sum(axis=1) != inside).any() or _total(tree) != weight.sum():
            return NOT_DRAWN
        else:
            low, high = counts, counts
        if (low > high).any():
            return NOT_DRAWN
        class_count_bounds.append(ends_of(number, nodes, low, high))
    sums = sums_of(class_count_bounds)
    return replace(sums, is_complete=units.draws is not None)


def ends_of(tree: int, nodes: IndexArray, low: FloatArray, high: FloatArray) -> ClassCountBounds:
    """Return the ends of the leaves of one tree, from those of each class, (L, m); of two classes the second's."""
    outputs = np.arange(low.shape[1])[1 if low.shape[1] == 2 else 0 :]
    return ClassCountBounds(
        np.full(len(nodes) * len(outputs), tree, dtype=np.intp),
        np.repeat(nodes.astype(np.intp), len(outputs)),
        np.tile(outputs, len(nodes)),
        low[:, outputs].reshape(-1),
        high[:, outputs].reshape(-1),
    )


def sums_of(bounds_of_trees: Sequence[ClassCountBounds]) -> LeafSums:
    """Return the ends of leaves as sums."""
    trees, leaves, outputs, least, most = (
        np.concatenate([getattr(bounds, name) for bounds in bounds_of_trees])
        for name in ("trees", "leaves", "outputs", "least", "most")
    )
    return LeafSums(
        trees=trees,
        nodes=leaves,
        output=outputs,
        low=np.rint(least).astype(np.int64),
        high=np.rint(most).astype(np.int64),
        wide=most - least,
        facts={},
    )


def counts_at(tree: Tree, nodes: IndexArray, classes: Sequence[str]) -> FloatArray | Undetermined:
    """Return what is counted of each class in some leaves, (L, m), or why that is not known of all."""
    if not tree.classes or not set(tree.classes) <= set(classes):
        return NOT_COUNTED
    counts = class_counts_of(tree, nodes)
    is_unknown = np.asarray(np.isnan(counts).any(axis=1))
    stops_early = is_inner(tree)[nodes]
    wrong = np.flatnonzero(is_unknown | stops_early)
    if len(wrong):
        return NOT_COUNTED if is_unknown[wrong[0]] else STOPS_EARLY
    found = np.zeros((len(nodes), len(classes)))
    found[:, [classes.index(name) for name in tree.classes]] = counts
    return found


# Leaves without counts, of trees that saw every record once: shares of known people are counts, a label is a bound.

MOST_ROUNDED = 1e-6
"""Shares of a leaf's people are off by no more of one than this: by rounding to 32 bits, or to so many digits."""
CLEAR = 0.25
"""A share of people that is nearer to a whole number than this can be no other."""
TIES = "it is not known which label leaves have whose classes are equally frequent"
NOTHING = (None, None, None)
LABEL_TIES = "some leaf counts are missing, and it is not known how ties of labels are broken"
MORE_THAN_LABELS = (
    "leaves name one of several classes, or inner nodes say something too: that is not used"
)


def uncounted_leaves(
    model: Model, number: int, tree: Tree, people: FloatArray
) -> tuple[ClassCountBounds, str] | Undetermined:
    """Return what shares or labels say of the people (N,) in the leaves of a tree, and what is said beyond that.

    A label alone is the most frequent class of its leaf, or one of those that are equally frequent. Nothing is known
    where trees may have seen samples, where weights had a part, or where shares are of no whole numbers.
    """
    is_whole_table = isinstance(model, Ensemble) and model.sampling.resampled is False
    is_plain = tree.quality in (Quality.ABSENT, Quality.NORMALISED) and not tree.label_reason
    is_changed = tree.learner.weighs_classes or tree.learner.saw_noise or bool(tree.unused)
    is_changed |= any(node.class_counts or node.bands for node in tree.nodes)
    if not is_whole_table or not is_plain or is_changed or len(model.classes) < 2:
        return NOT_COUNTED
    nodes, missing = np.flatnonzero(people), ""
    low, high = (np.zeros((len(nodes), len(model.classes))) for _ in range(2))
    place = [model.classes.index(name) for name in tree.classes]
    for row, index in enumerate(nodes.tolist()):
        node, inside = tree.nodes[index], people[index]
        if not node.is_leaf:
            return STOPS_EARLY
        if node.class_shares is not None:
            counts = np.array(node.class_shares) * inside
            whole, slack = np.rint(counts), MOST_ROUNDED * inside
            if slack >= CLEAR or (np.abs(counts - whole) > slack).any() or whole.sum() != inside:
                return NOT_COUNTED
            low[row, place] = high[row, place] = whole
        elif node.score in model.classes:
            own = model.classes.index(str(node.score))
            low[row, own], high[row] = np.ceil(inside / len(model.classes)), inside // 2
            high[row, own] = inside
            missing = MORE_THAN_LABELS if len(model.classes) > 2 else missing
            if inside % 2 == 0 and not tree.learner.draws_tied_labels:
                missing = missing or TIES
        else:
            return NOT_COUNTED
    if any(tree.nodes[index].class_shares is None for index in nodes.tolist()):
        others = (node for node in tree.nodes if node.children or node.impurity)
        says_more = any(
            (node.score, node.class_shares, node.impurity) != NOTHING for node in others
        )
        missing = MORE_THAN_LABELS if says_more else missing
    return ends_of(number, nodes, low, high), missing


class LabelTies(Enum):
    """How a label of a leaf without counts is read, where classes may be equally frequent.

    ``EITHER``: it is one of the most frequent classes, as in the audit of one tree. ``OPEN``: the same, and an
    adversary who knows how ties are broken may know more. ``ANY_RULE``: whatever fulfils what is read agrees with the
    label, whether ties are drawn or the first class of some order is taken.
    """

    EITHER = auto()
    OPEN = auto()
    ANY_RULE = auto()


def label_ends(label: int, counts: IntArray, ties: LabelTies) -> tuple[IntArray, IntArray]:
    """Return the ends of each class of a leaf, (m,), by its label, which leads among its true counts.

    By any rule, classes that do not tie with the label in truth stay behind it, and those that do are not ahead: a rule
    that took the label among those takes it among fewer of them.
    """
    size, most = int(counts.sum()), int(counts[label])
    low, high = np.zeros(len(counts), dtype=np.int64), np.full(len(counts), size // 2)
    if ties is not LabelTies.ANY_RULE:
        low[label], high[label] = -(-size // len(counts)), size
        return low, high
    others = np.delete(counts, label)
    is_tied = bool((others == most).any())
    behind = int(others.max(initial=0))
    least = most if is_tied else size // 2 + 1 if len(counts) == 2 else (behind + 1 + most) // 2
    high = np.minimum(np.where(counts == most, least, least - 1), size - least)
    low[label], high[label] = least, size
    return low, high


def _total(tree: Tree) -> float:
    """Return the draws of all leaves, those that nobody reaches as well."""
    counts = class_counts_of(tree, np.flatnonzero(~is_inner(tree)))
    return float(sum(map(sum, np.nan_to_num(counts).tolist())))


def _bounds(counts: FloatArray, people: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how many people of each leaf have each class, (L, m), at least and at most: who was drawn has it."""
    is_there = counts > SMALLEST * np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    others = is_there.sum(axis=1, keepdims=True) - is_there
    return is_there.astype(np.float64), people[:, None] - others


# Bootstrap draws repeated from a seed, for records in a known order, and checked against every leaf of the file.
#
# A replay is believed where all leaves agree with it and so many do that it cannot be by chance: had the records stood
# otherwise in the table of the training, some leaf would have drawn another number of them.

MOST_PLACES = 12_000_000
"""Trees times records: more draws are not kept in memory."""
FEWEST_BITS = 64.0
"""How unlikely, as a power of one half, it must be that other draws agree with all leaves."""
REPLAYED = "the rows that each tree was trained on, drawn again with the seed in the file"
FROM_SEED = (
    "the rows that each tree was trained on, drawn again with the seed {}, which the file withholds"
)

Replay = tuple[Units, LeafSums]


def replays(
    forest: Forest, population: Population, growth: EnsembleGrowth | None, seeds: Sequence[int]
) -> Iterator[Replay]:
    """Yield what the leaves say of the records that a seed draws, where all leaves agree with that.

    ``seeds`` are tried beside the file's own, or where it says none, beside what the library takes by itself.
    """
    order = population.order
    if order is None or population.weight is not None:
        return
    if len(forest.trees) * len(order.profiles) > MOST_PLACES:
        return
    if (np.bincount(order.profiles, minlength=len(population.counts)) != population.counts).any():
        return
    found = (
        _of_forest(forest, population)
        if growth is None
        else _of_boosted(forest, population, growth, seeds)
    )
    for units, sums in found:
        assert units.draws is not None
        if not isinstance(sums, Undetermined) and bits(units, growth is None) >= FEWEST_BITS:
            yield units, sums


def bits(units: Units, with_replacement: bool) -> float:
    """Return how unlikely it is, as a power of one half, that draws of as many other records agree with all leaves.

    In each tree the last leaf holds the rest. Trees that saw the same sample are counted once.
    """
    assert units.draws is not None
    total, size, seen = 0.0, len(units.people), set[bytes]()
    for stops, often in zip(units.stops, units.draws, strict=True):
        key = often.tobytes()
        if key in seen:
            continue
        seen.add(key)
        drawn = int(often.sum())
        _, people = np.unique(stops, return_counts=True)
        for inside in np.sort(people)[:-1].tolist():
            total += _surprise(inside, size, drawn, with_replacement)
    return total


def _surprise(inside: int, size: int, drawn: int, with_replacement: bool) -> float:
    """Return the logarithm, to the base 1/2, of how likely the likeliest number of draws among some records is."""
    if with_replacement:
        share = inside / size
        k = min(int((drawn + 1) * share), drawn)
        found = _choices(drawn, k) + k * math.log(share) + (drawn - k) * math.log1p(-share)
    else:
        k = (drawn + 1) * (inside + 1) // (size + 2)
        k = min(max(k, drawn + inside - size, 0), drawn, inside)
        found = _choices(inside, k) + _choices(size - inside, drawn - k) - _choices(size, drawn)
    return max(-found / math.log(2), 0.0)


def _choices(size: int, chosen: int) -> float:
    """Return the logarithm of in how many ways some can be chosen."""
    return math.lgamma(size + 1) - math.lgamma(chosen + 1) - math.lgamma(size - chosen + 1)


def _of_forest(
    forest: Forest, population: Population
) -> Iterator[tuple[Units, LeafSums | Undetermined]]:
    """Yield what scikit-learn's bootstrap drew."""
    model = forest.model
    if not isinstance(model, Ensemble) or len(model.sampling.seeds) != len(forest.trees):
        return
    size = int(population.records)
    drawn = []
    for seed, tree in zip(model.sampling.seeds, forest.trees, strict=True):
        count = count_of(tree.root)
        if count is None or not 0 < count <= 10 * size or count != int(count):
            return
        drawn.append(draw_bootstrap(seed, size, int(count)))
    units = by_record(forest.stops, population, np.array(drawn, dtype=np.int64))
    sums = drawn_sums(forest, units)
    yield units, _saying(sums, REPLAYED)


def _of_boosted(
    forest: Forest, population: Population, growth: EnsembleGrowth, seeds: Sequence[int]
) -> Iterator[tuple[Units, LeafSums | Undetermined]]:
    inverter = inverters()[growth.library]
    if not inverter.seed or not _can_be_checked(growth):
        return
    told = growth.fact(inverter.seed).value
    tried = (*seeds, inverter.default_seed) if told is None else (int(told),)
    nobody = np.zeros((len(forest.trees), int(population.records)), dtype=np.int64)
    records = by_record(forest.stops, population, nobody)
    classes = len(forest.model.classes)
    case = GrownCase(
        growth,
        forest.trees,
        records.stops,
        records.people,
        classes,
        columns=None if population.order is None else _by_record(population),
    )
    for seed in dict.fromkeys(tried):
        for draws in inverter.draws(case, seed):
            sums = leaf_sums(replace(case, draws=draws.often))
            said = REPLAYED
            if told is None:
                said = FROM_SEED.format(seed)
                draws = replace(draws, facts={**draws.facts, inverter.seed: derived(seed)})
            if isinstance(sums, LeafSums):
                sums = replace(sums, facts={**sums.facts, **draws.facts})
            yield (
                replace(records, draws=np.asarray(draws.often, dtype=np.int64)),
                _saying(sums, said),
            )


def _by_record(population: Population) -> dict[str, Column]:
    """Return the quasi-identifiers, one value for each record in order."""
    assert population.order is not None
    profiles = population.order.profiles
    return {name: column.take(profiles) for name, column in population.columns.items()}


def _can_be_checked(growth: EnsembleGrowth) -> bool:
    """Return whether each leaf says how many records, or sums of second derivatives, the draws have to agree with."""
    for tree in growth.trees:
        said = [each for each in (tree.counts, tree.hessians) if each is not None]
        if not any((np.isnan(tree.values) | ~np.isnan(each)).all() for each in said):
            return False
    return True


def _saying(sums: LeafSums | Undetermined, statement: str) -> LeafSums | Undetermined:
    return sums if isinstance(sums, Undetermined) else replace(sums, said=(*sums.said, statement))
