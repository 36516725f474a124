"""The rounds of a boosted model: what it predicted for everybody before each tree, and the sums that each leaf gives.

What a model said of a person before a tree follows from the published trees alone, whoever they were grown on. So each
person of a register has a known first and second derivative, by class, and each leaf says what those of its members add
up to (Chen & Guestrin 2016, equation 5, solved for the sums).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from treewarden.audit.inverters import NO_MEMBERS, Added, GrownCase, LeafSums, MemberSums
from treewarden.audit.inverters._bounds import NumberBounds, before_rounding, exactly, variance
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.ensemble import Fact

SINGLE, DOUBLE = 2.0**-24, 2.0**-53
"""How far a number may be off, relatively, where it is kept in 32 or in 64 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Leafs:
    """The leaves of one tree that hold people: ``nodes`` (L,) are theirs, ``place`` (P,) is everybody's among them.

    ``values`` are what the file says of them, ``people`` how many their numbers are of, and ``members`` how many stop
    there: the same, unless the tree saw a sample. ``often`` (P,) is how often it drew each record, if that is known.
    """

    tree: int
    output: int
    nodes: IndexArray
    place: IndexArray
    values: NumberBounds
    people: FloatArray
    members: FloatArray
    often: IntArray | None = None

    @property
    def left_out(self) -> float:
        """How many people the tree did not see."""
        return float(self.members.sum() - self.people.sum())

    def summed(self, numbers: NumberBounds, weight: FloatArray) -> NumberBounds:
        """Return the sums over the people of each leaf, shape (L,), or over those whom the tree drew."""
        weight = weight if self.often is None else weight * self.often
        return numbers.summed(self.place, weight, len(self.nodes))


def value_bounds(case: GrownCase) -> list[NumberBounds]:
    """Return what each leaf's values were before they were written, by node, per tree; NaN at inner nodes.

    A library computes it with a few roundings, and whoever publishes it may have cut its digits.
    """
    trees = case.growth.trees
    cut = before_rounding(np.concatenate([tree.values.ravel() for tree in trees]))
    ends = np.cumsum([0, *(tree.values.size for tree in trees)])
    relative = 4 * (SINGLE if case.growth.single else DOUBLE)
    number_bounds = []
    for tree, start, end in zip(trees, ends[:-1], ends[1:], strict=True):
        own, shape = cut.at(np.arange(start, end)), tree.values.shape
        before = NumberBounds(own.low.reshape(shape), own.high.reshape(shape))
        number_bounds.append(before.wider(relative * np.abs(tree.values)))
    return number_bounds


def rounds(
    case: GrownCase, start: NumberBounds, values: Sequence[NumberBounds] | None = None
) -> Iterator[tuple[NumberBounds, list[Leafs]]]:
    """Yield the scores before each round, shape (P, K), and the leaves of its trees: of each for every output it has.

    ``start`` (K,) is what the model starts from, and ``values`` are those of the leaves by node, per tree, where they
    are not what the file says. Whoever takes a round may narrow them by what its sums say, before asking for the next.
    """
    if values is None and case.in_order and _are_single(case):
        yield from _rounds_in_order(case, start)
        return
    size = len(case.people)
    precision = SINGLE if case.growth.single else DOUBLE
    scores = NumberBounds(np.tile(start.low, (size, 1)), np.tile(start.high, (size, 1)))
    values = value_bounds(case) if values is None else values
    for trees in case.growth.rounds:
        leaves = [
            leaf_numbers
            for tree in trees
            for leaf_numbers in _by_output(leaves_in(case, tree, values[tree]))
        ]
        yield scores, leaves
        low, high = scores.low.copy(), scores.high.copy()
        for leaf in leaves:
            now = _of_output(values[leaf.tree].at(leaf.nodes), leaf.output)
            low[:, leaf.output] += now.low[leaf.place]
            high[:, leaf.output] += now.high[leaf.place]
        # Each addition of the library rounds once, in an order that need not be ours.
        room = 2 * precision * np.maximum(np.abs(low), np.abs(high))
        scores = NumberBounds(low - room, high + room)


def _are_single(case: GrownCase) -> bool:
    """Return whether all leaf values are numbers of 32 bits, as the library added them."""
    own = (tree.values[np.isfinite(tree.values)] for tree in case.growth.trees)
    return case.growth.single and all((own == own.astype(np.float32)).all() for own in own)


def _rounds_in_order(
    case: GrownCase, start: NumberBounds
) -> Iterator[tuple[NumberBounds, list[Leafs]]]:
    """Yield the same where the library adds each tree's value to a score of 32 bits, one tree after another.

    Rounding to the nearest never swaps two numbers: the ends of a score are what its ends before are rounded to.
    """
    begin = NumberBounds(
        np.nextafter(start.low.astype(np.float32), np.float32(-np.inf)).astype(np.float64),
        np.nextafter(start.high.astype(np.float32), np.float32(np.inf)).astype(np.float64),
    )
    size = len(case.people)
    low, high = np.tile(begin.low, (size, 1)), np.tile(begin.high, (size, 1))
    values, exact = value_bounds(case), [exactly(tree.values) for tree in case.growth.trees]
    for trees in case.growth.rounds:
        leaves = [
            leaf for tree in trees for leaf in _by_output(leaves_in(case, tree, values[tree]))
        ]
        yield NumberBounds(low, high), leaves
        low, high = low.copy(), high.copy()
        for leaf in leaves:
            now = _of_output(exact[leaf.tree].at(leaf.nodes), leaf.output).low[leaf.place]
            for end in (low, high):
                # The sum of two numbers of 32 bits, rounded to 64 and then to 32, is that rounded to 32 at once.
                end[:, leaf.output] = (end[:, leaf.output] + now).astype(np.float32)


def narrow(values: list[NumberBounds], leaves: Leafs, bounds: NumberBounds) -> None:
    """Take what the sums of a tree's leaves leave of their values, (L,), before these were cut to few digits.

    Whoever knows how many of a leaf's people have the class computes its value as the library did, and goes on with
    that in place of the few digits. Where both have nothing in common, the digits stay.
    """
    number_bounds = values[leaves.tree]
    both = number_bounds.at(leaves.nodes).both(bounds)
    fits = both.low <= both.high
    low, high = number_bounds.low.copy(), number_bounds.high.copy()
    low[leaves.nodes[fits]], high[leaves.nodes[fits]] = both.low[fits], both.high[fits]
    values[leaves.tree] = NumberBounds(low, high)


def rounding(people: FloatArray | float, everybody: float) -> FloatArray | float:
    """Return how far sums over people may be off: each gradient is rounded to 32 bits, and sums are kept in 64."""
    return 1.25 * SINGLE * people + 4 * DOUBLE * everybody**2


def leaves_in(case: GrownCase, tree: int, values: NumberBounds) -> Leafs:
    """Return the leaves of one tree that profiles stop in."""
    nodes, place = np.unique(case.stops[tree], return_inverse=True)
    place, grown = place.reshape(-1), case.growth.trees[tree]
    members = np.bincount(place, case.people, len(nodes)).astype(np.float64)
    people, often = members, None
    if case.draws is not None:
        often = case.draws[tree]
        people = np.bincount(place, case.people * often, len(nodes)).astype(np.float64)
    elif case.is_sampled and grown.counts is not None:
        people = grown.counts[nodes]
    return Leafs(
        tree=tree,
        output=grown.output,
        nodes=nodes,
        place=place,
        values=values.at(nodes),
        people=people,
        members=members,
        often=often,
    )


def _by_output(leaves: Leafs) -> Iterator[Leafs]:
    """Yield the leaves of a tree once for each output that they hold a number of."""
    if leaves.values.low.ndim == 1:
        yield leaves
        return
    for output in range(leaves.values.low.shape[1]):
        yield replace(leaves, output=output, values=_of_output(leaves.values, output))


def _of_output(values: NumberBounds, output: int) -> NumberBounds:
    """Return the numbers that leaves hold of one output, (L,), whether they hold one of each, (L, K), or one alone."""
    return values if values.low.ndim == 1 else column(values, output)


def column(numbers: NumberBounds, output: int) -> NumberBounds:
    """Return one column of numbers, (P, K) to (P,)."""
    return NumberBounds(numbers.low[:, output], numbers.high[:, output])


@dataclass(slots=True)
class Gathered:
    """Sums of leaves as they come, tree by tree."""

    case: GrownCase
    parts: list[tuple[Leafs, int, NumberBounds, FloatArray]]
    added: list[Added] = field(default_factory=list)

    def weigh(self, leaves: Leafs, output: int, shares: NumberBounds, sums: NumberBounds) -> None:
        """Take sums (L,) over those of a tree's leaves who have a class, each of whom adds a number of his own (P,)."""
        half = (shares.high - shares.low) / 2
        people = self.case.people
        room = leaves.summed(NumberBounds(half, half), people).high
        there = np.isfinite(sums.low) & np.isfinite(sums.high)
        if there.all():
            self.added.append(
                Added(
                    tree=leaves.tree,
                    output=output,
                    nodes=leaves.nodes,
                    place=leaves.place,
                    each=shares.low + half,
                    low=sums.low - room,
                    high=sums.high + room,
                )
            )

    def add(self, leaves: Leafs, output: int, sums: NumberBounds) -> Undetermined | None:
        """Take the sums of a tree's leaves for one class; return why they cannot be, where no whole number fits."""
        low, high = whole_between(sums, leaves.people)
        if self.case.ends is not None:
            begin = sum(len(part.nodes) for part, *_ in self.parts)
            known = (end[begin : begin + len(leaves.nodes)] for end in self.case.ends)
            low, high = np.maximum(low, next(known)), np.minimum(high, next(known))
        odd = np.flatnonzero(low > high)
        if len(odd):
            first = int(odd[0])
            middle = (sums.low[first] + sums.high[first]) / 2
            where = _named(self.case, leaves, first)
            return Undetermined(
                f"{where} would hold {middle:.4g} of {leaves.people[first]:g} people with a class, which is no number "
                "of people: the model was trained on another table, on a sample, with weights or with settings that "
                "are not published"
            )
        self.parts.append((leaves, output, NumberBounds(low, high), sums.high - sums.low))
        return None

    @property
    def last(self) -> NumberBounds:
        """The ends of the sums that were taken last, (L,)."""
        return self.parts[-1][2]

    def sums(
        self, facts: dict[str, Fact], statements: Sequence[str] = ()
    ) -> LeafSums | Undetermined:
        """Return all that were taken; why there are none, where no tree has a split."""
        if not self.parts:
            return Undetermined("none of its trees has a split, so all people are in one leaf")
        return LeafSums(
            trees=np.concatenate([np.full(len(part.nodes), part.tree) for part, *_ in self.parts]),
            nodes=np.concatenate([part.nodes for part, *_ in self.parts]),
            output=np.concatenate(
                [np.full(len(part.nodes), output) for part, output, *_ in self.parts]
            ),
            low=np.concatenate([ends.low for *_, ends, _ in self.parts]).astype(np.int64),
            high=np.concatenate([ends.high for *_, ends, _ in self.parts]).astype(np.int64),
            wide=np.concatenate([wide for *_, wide in self.parts]),
            facts=facts,
            said=tuple(statements),
            added=tuple(self.added),
        )


def whole_between(sums: NumberBounds, people: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest whole number of people between the ends, which are crossed if there is none.

    An end that overflowed (NaN) is not known, and bounds nothing.
    """
    return np.fmax(np.ceil(sums.low), 0.0), np.fmin(np.floor(sums.high), people)


def differing(
    case: GrownCase,
    leaves: Leafs,
    published: FloatArray | None,
    number_bounds: NumberBounds,
    what: str,
) -> Undetermined | None:
    """Return why a table cannot be the one of the training, where a number of the file is not what its people give."""
    if published is None:
        return None
    there = published[leaves.nodes]
    odd: BoolArray = ~np.isnan(there) & ((there < number_bounds.low) | (there > number_bounds.high))
    places = np.flatnonzero(odd)
    if not len(places):
        return None
    first = int(places[0])
    middle = (number_bounds.low[first] + number_bounds.high[first]) / 2
    return Undetermined(
        f"{_named(case, leaves, first)} has {what} {there[first]:.7g}, where this table gives {middle:.7g}: the model "
        "was trained on another table, on a sample of it, with weights or with settings that are not published"
    )


def _named(case: GrownCase, leaves: Leafs, place: int) -> str:
    tree = case.trees[leaves.tree]
    return f"{tree.where(tree.nodes[int(leaves.nodes[place])])} (tree {leaves.tree + 1})"


# Checks the trees against each other: all were trained on the same people, and a record reached each leaf.

DIFFERENT = (
    "the trees give different class totals: the model was trained on another table, on a "
    "sample, with weights, or with unpublished settings"
)


@dataclass(slots=True)
class ClassTotals:
    """Between which ends the number of people with each class lies, by output, as all trees so far say."""

    ends: dict[int, tuple[float, float]] = field(default_factory=dict)

    def differing(self, leaves: Leafs, sums: NumberBounds) -> Undetermined | None:
        """Take the sums of one tree's leaves; return why they cannot be, where the trees contradict each other."""
        everybody = float(leaves.members.sum())
        low, high = self.ends.get(leaves.output, (0.0, everybody))
        room = 2.0**-40 * everybody
        low = max(low, float(np.maximum(sums.low, 0).sum()) - room)
        # Whoever the tree did not see may have the class or not.
        most = float(np.minimum(sums.high, leaves.people).sum()) + leaves.left_out
        high = min(high, most + room)
        self.ends[leaves.output] = low, high
        return Undetermined(DIFFERENT) if np.ceil(low) > np.floor(high) else None

    def whole(self, outputs: int) -> dict[int, tuple[int, int]]:
        """Return the ends as whole numbers, by the class counted."""
        return {
            1 if outputs == 1 else output: (int(np.ceil(low)), int(np.floor(high)))
            for output, (low, high) in self.ends.items()
        }


def unreached(case: GrownCase, leaves: Leafs) -> Undetermined | None:
    """Return why a table cannot be the one of the training, where nobody reaches a leaf that is not empty.

    Symmetric trees have leaves that no record reached, which add nothing.
    """
    tree = case.growth.trees[leaves.tree]
    is_empty = ~tree.is_leaf
    if tree.counts is not None:
        is_empty |= (tree.counts == 0) & (tree.values.reshape(len(is_empty), -1) == 0).all(axis=1)
    is_empty[leaves.nodes] = True
    if is_empty.all() and (leaves.people > 0).all():
        return None
    return Undetermined(
        f"no record of this table reaches a leaf of tree {leaves.tree + 1} that has records: "
        "the model was trained on another table"
    )


# Why leaf values of losses other than those of classes are not inverted into numbers of people.

FAMILIES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("rank", "pairlogit", "query", "lambda_mart", "lambdamart", "stochastic"),
        "it is a ranking model: what a record adds to a leaf depends on other records",
    ),
    (
        ("poisson", "tweedie", "gamma"),
        "its targets are amounts, and sums of amounts do not count people",
    ),
    (("cox", "aft", "survival"), "its targets are survival times, some of them censored"),
    (
        ("quantile", "absolute", "l1", "mae", "mape", "median"),
        "its leaves hold quantiles of residuals, not sums over their records",
    ),
    (
        ("hinge", "focal", "exponential"),
        "its loss is not a difference of label and probability",
    ),
    (
        ("custom", "python", "userper", "userquery", "none"),
        "the loss is a custom function, so what a record adds to a leaf is not known",
    ),
    (
        ("entropy", "xentropy"),
        "its labels may be class shares, which do not count people",
    ),
)
"""Parts of the names of losses, in small letters, and why they are not inverted; the first that fits is said."""


def not_turned_back(kind: str, name: str) -> Undetermined:
    """Return that leaf values of a loss (by the library's own word for it) are not inverted, and why."""
    if not name:
        return Undetermined(f"the file names no {kind}: it may be a custom one")
    lowered = name.lower()
    why = next((why for parts, why in FAMILIES if any(part in lowered for part in parts)), "")
    said = f"leaf values of the {kind} {name!r} are not inverted"
    return Undetermined(f"{said}: {why}" if why else said)


@dataclass(frozen=True, slots=True, eq=False)
class MemberDerivatives:
    """The derivatives of one tree's output for everybody, (P,): ``shares`` less labels, and ``curves``.

    ``of_class`` (m,) is 1 for the class that the output is of. ``single`` says that the library keeps them in 32 bits
    and adds them up in 64, or in whole numbers of as many. ``times`` (m,) are weights of the classes, None where they
    have none: a product with one is rounded to 32 bits too.
    """

    shares: NumberBounds
    curves: NumberBounds
    of_class: FloatArray
    single: bool = False
    times: FloatArray | None = None

    def curve_sums(self, leaves: Leafs, total: NumberBounds) -> MemberSums:
        """Return the sums of second derivatives, which are the same whatever the class."""
        return self._sums(leaves, self.curves, np.zeros_like(self.of_class), total)

    def gradient_sums(self, leaves: Leafs, total: NumberBounds) -> MemberSums:
        """Return the sums of labels less probabilities, where these are told."""
        return self._sums(leaves, self._negative_shares, self.of_class, total)

    def step_sums(self, leaves: Leafs, steps: NumberBounds, total: NumberBounds) -> MemberSums:
        """Return the sums of labels less probabilities less the leaf's step, (L,), times the second derivative.

        That is what a leaf's value says where its sum of second derivatives is withheld.
        """
        each = self._negative_shares - steps.at(leaves.place) * self.curves
        return self._sums(leaves, each, self.of_class, total)

    @property
    def _negative_shares(self) -> NumberBounds:
        return NumberBounds(-self.shares.high, -self.shares.low)

    def _sums(
        self, leaves: Leafs, numbers: NumberBounds, of_class: FloatArray, total: NumberBounds
    ) -> MemberSums:
        people = float(leaves.people.sum())
        rounding = self.sum_rounding(people)
        if self.times is not None:
            rounding = 4 * DOUBLE * (1 + people) ** 2 * max(1.0, float(self.times.max()))
            numbers = numbers.wider(np.full(len(numbers.low), 2 * SINGLE))
        total = total.wider(rounding)
        return MemberSums(
            leaves.tree, leaves.nodes, leaves.place, numbers, of_class, total, times=self.times
        )

    def sum_rounding(self, people: float) -> float:
        """Return how far sums over some of so many people, and differences of sums, may be off by additions alone.

        Numbers of 32 bits that are no smaller than 2^-k are whole multiples of 2^-(k + 24), and so are their sums: in
        64 bits these are exact while there are no more of them than 2^(53 - k - 24). Who adds whole numbers of 64 bits
        in their place (XGBoost, ``src/tree/gpu_hist``) loses at most 2^-62 of the sum of all for each person.
        """
        ends = (self.shares.low, 1.0 - self.shares.high, self.curves.low)
        smallest = min(float(end.min(initial=1.0)) for end in ends)
        largest = max(1.0, float(self.curves.high.max(initial=0.0)))
        if self.single and smallest > 0 and people * largest * 2.0**24 <= 2.0**52 * smallest:
            return 2.0**-60 * largest * (1 + people) ** 2
        return 4 * DOUBLE * (1 + people) ** 2


def derivatives(
    shares: NumberBounds,
    of_class: FloatArray,
    factor: float,
    rounding: float,
    *,
    single: bool = False,
) -> MemberDerivatives:
    """Return them by the probabilities before the tree; second derivatives are rounded by so much of their size."""
    curves = variance(shares).times(factor)
    return MemberDerivatives(shares, curves.wider(rounding * curves.high), of_class, single)


def counted_members(case: GrownCase) -> tuple[MemberSums, ...] | Undetermined:
    """Return what the numbers of records of all leaves say, where the file has them."""
    values = value_bounds(case)
    found = [
        record_sums(case, leaves_in(case, tree, values[tree])) for tree in range(len(case.trees))
    ]
    told = tuple(sums for sums in found if sums is not None)
    return told or Undetermined(NO_MEMBERS)


def record_sums(case: GrownCase, leaves: Leafs) -> MemberSums | None:
    """Return how many members the leaves of a tree have, as the file counts them; None where it does not."""
    counts = case.growth.trees[leaves.tree].counts
    if counts is None or np.isnan(counts[leaves.nodes]).any():
        return None
    everybody = exactly(np.ones(len(case.people)))
    total = exactly(counts[leaves.nodes])
    return MemberSums(
        leaves.tree, leaves.nodes, leaves.place, everybody, np.zeros(case.classes), total
    )
