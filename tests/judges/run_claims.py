"""Tries the judgement of claims of differential privacy on drawn labels, true and false claims alike.

    python -m tests.judges.run_claims --runs 400 --seed 0 [--trees 5]

Of small tables every output is enumerated: realised losses must equal those of all neighbours, none may be above a
true epsilon, and the exact probabilities of a false alarm and of an interval that misses must be within what they
promise. Of larger ones labels are drawn: prints how often intervals hold the true epsilon, and how often claims are
refuted that are true, or false by a factor of 2 or 5. Beside the share of draws stands the probability, worked out for
each drawn table over all its outputs: the share has to be within the error of draws of it, and it has to be 95 % or
more for every table. The exit code is 1 where a promise is broken (for draws: by three deviations).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.judges.drawn_labels import (
    claim,
    draw,
    flips,
    labelled_tree,
    neighbours,
    outputs,
    people_in,
)
from treewarden.audit.claims.judge_claim import judge_claim
from treewarden.audit.claims.leaf_labels import LeafLabels
from treewarden.audit.claims.realised_loss import LabelTest, label_test
from treewarden.audit.claims.result import ClaimFindings
from treewarden.audit.population.forest import forest_of
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.privacy_claim import LabelMechanism

CONFIDENCE = 0.95
LEVEL = 0.001
EPSILONS = (0.05, 0.3, 1.0)
SIZES = (20, 60, 200)
FACTORS = (1, 2, 5)
Cells = Sequence[tuple[float, int]]
"""Epsilons, each with the leaves of all trees."""
SLACK = 1e-9
ROUNDING = 1e-10
MOST_WIDTHS = 20
"""So many intervals are worked out; of the others it is asked whether they hold the true epsilon."""


@dataclass
class Tally:
    """What was tried, and what broke a promise, in words."""

    cases: int = 0
    outputs: int = 0
    misses: list[str] = field(default_factory=list)


def findings_of(leaves: list[list[int]], labels: list[int], epsilon: float) -> ClaimFindings:
    """Return what is found of a claim of this epsilon."""
    people = people_in(leaves)
    found = judge_claim(
        forest_of(labelled_tree(leaves, labels, claim(epsilon)), people), people, ()
    )
    assert isinstance(found, ClaimFindings)
    return found


def labels_tested(leaves: list[list[int]], labels: list[int]) -> LabelTest:
    """Return the test of such labels, without a tree around them."""
    places = np.arange(len(leaves))
    labelled = LeafLabels(
        labels=np.array(labels),
        counts=np.array(leaves, dtype=float),
        leaf_of_profile=places[None, :],
        trees=np.zeros_like(places),
        nodes=places,
    )
    return label_test(labelled, LabelMechanism.PERMUTE_AND_FLIP_MONOTONIC)


def enumerate_case(seed: int) -> Tally:
    """Try one small table over all its outputs."""
    random = np.random.default_rng(seed)
    classes = int(random.integers(2, 4))
    leaves = random.integers(0, 7, (int(random.integers(2, 6)), classes)).tolist()
    leaves[0][0] += 1
    epsilon = float(random.choice([0.01, 0.2, 0.7, 1.5, 3.0]))
    tally = Tally(cases=1)
    missed = alarms = 0.0
    without = [(person, dict(outputs(other, epsilon))) for person, other in neighbours(leaves)]
    held = [leaf for leaf, counts in enumerate(leaves) if sum(counts)]
    for labels, chance in outputs(leaves, epsilon):
        tally.outputs += 1
        found = findings_of(leaves, list(labels), epsilon)
        assert not isinstance(found.loss, Undetermined)
        assert not isinstance(found.test, Undetermined)
        for (leaf, place), others in without:
            loss = abs(float(found.loss.of_cell[held.index(leaf), place]))
            if abs(loss - abs(math.log(chance / others[labels]))) > 1e-11:
                tally.misses.append(f"seed {seed}: a loss of {loss} is another one")
            if loss > epsilon + 1e-11 or found.is_refuted_by_loss:
                tally.misses.append(f"seed {seed}: a true claim is refuted by a loss of {loss}")
        low, high = found.test.interval(CONFIDENCE)
        missed += chance * (not low <= epsilon <= high)
        alarms += chance * found.is_refuted_by_test(LEVEL)
    if missed > 1 - CONFIDENCE + SLACK:
        tally.misses.append(f"seed {seed}: an interval misses with the probability {missed:.4f}")
    if alarms > LEVEL + SLACK:
        tally.misses.append(f"seed {seed}: a false alarm has the probability {alarms:.5f}")
    return tally


def drawn_leaves(random: np.random.Generator, size: int) -> list[list[int]]:
    """Return the counts of so many leaves of two classes: few people in most, many in some."""
    people = np.ceil(random.exponential(12, size)).astype(int)
    shares = random.beta(1, 1, size)
    return [
        [int(n - k), int(k)] for n, k in zip(people, random.binomial(people, shares), strict=True)
    ]


def drawn_forest(random: np.random.Generator, size: int, trees: int) -> list[list[int]]:
    """Return the counts of so many leaves, of trees that all saw the same people: each parts them at random."""
    if trees == 1:
        return drawn_leaves(random, size)
    counts = np.array(drawn_leaves(random, size))
    classes = np.repeat(np.arange(2), counts.sum(axis=0))
    leaves = []
    for _ in range(trees):
        found = np.zeros((size // trees, 2), dtype=int)
        ranks = np.argsort(classes + random.normal(0, 1, len(classes)))
        parts = np.sort(random.integers(0, len(classes), size // trees - 1))
        np.add.at(found, (np.searchsorted(parts, np.arange(len(classes))), classes[ranks]), 1)
        leaves += found.tolist()
    return leaves


@dataclass(frozen=True)
class Coverage:
    """How often intervals hold the true epsilon, for so many leaves of all trees.

    ``hits`` of ``runs`` drawn files hold it; over all outputs of each drawn table it is held with the probability
    ``mean`` on average, and ``least`` for the table where it is least. ``width`` is the median of high / low.
    """

    epsilon: float
    leaves: int
    runs: int
    hits: int
    mean: float
    least: float
    width: float

    @property
    def deviations(self) -> float:
        """How far the share of draws is from the probability, in deviations of that share."""
        spread = math.sqrt(self.mean * (1 - self.mean) / self.runs)
        return 0.0 if not spread else (self.hits / self.runs - self.mean) / spread

    @property
    def problem(self) -> str:
        """What of the promise is broken, in words; "" where nothing is."""
        where = f"epsilon {self.epsilon}, {self.leaves} leaves"
        if self.least < CONFIDENCE - SLACK:
            return f"{where}: the intervals of a table hold it with {self.least:.4f}"
        if abs(self.deviations) > 3:
            return (
                f"{where}: {self.hits} of {self.runs} hold it, where {self.mean:.4f} was worked out"
            )
        return ""


def losses_by_hand(leaves: list[list[int]], epsilon: float) -> FloatArray:
    """Return how likely the labels of all leaves lose 0, 1, 2, ... people against the commonest classes."""
    chances = np.ones(1)
    for counts in leaves:
        gaps = [max(counts) - count for count in counts]
        of_leaf = np.zeros(max(gaps) + 1)
        np.add.at(of_leaf, gaps, flips(counts, epsilon))
        chances = np.convolve(chances, of_leaf)
    return chances


def held_probability(chances: FloatArray) -> float:
    """Return how likely an interval holds the epsilon that labels were drawn with, by how likely they lose how many."""
    at_most, at_least = np.cumsum(chances), np.cumsum(chances[::-1])[::-1]
    tail = (1 - CONFIDENCE) / 2
    return float(chances[(at_most > tail) & (at_least > tail)].sum())


def covered(cells: Cells, runs: int, seed: int, trees: int = 1) -> Iterator[Coverage]:
    """Yield the coverage of each cell: an epsilon, and leaves of all trees."""
    for epsilon, size in cells:
        random = np.random.default_rng([seed, size, int(epsilon * 1000)])
        hits, widths, probabilities = 0, [], []
        for run in range(runs):
            leaves = drawn_forest(random, size, trees)
            test = labels_tested(leaves, draw(leaves, epsilon, random))
            chances = losses_by_hand(leaves, epsilon)
            ends = test.p_value(epsilon), test.p_value_of_noise(epsilon)
            assert abs(ends[0] - chances[: test.lost + 1].sum()) < ROUNDING
            assert abs(ends[1] - chances[test.lost :].sum()) < ROUNDING
            is_held = min(ends) > (1 - CONFIDENCE) / 2  # where neither end is refuted
            hits += is_held
            probabilities.append(held_probability(chances))
            if run < MOST_WIDTHS:
                low, high = test.interval(CONFIDENCE)
                assert is_held == (low <= epsilon <= high)
                widths.append(high / low if low > 0 else math.inf)
        yield Coverage(
            epsilon=epsilon,
            leaves=size,
            runs=runs,
            hits=hits,
            mean=float(np.mean(probabilities)),
            least=min(probabilities),
            width=float(np.median(widths)),
        )


def refuted(
    cells: Cells, runs: int, seed: int, trees: int = 1
) -> Iterator[tuple[float, int, list[int]]]:
    """Yield, by claimed epsilon of each tree and leaves, how many claims are refuted, by how false they are."""
    for epsilon, size in cells:
        random = np.random.default_rng([seed, size, int(epsilon * 1000), 1])
        counts = []
        for factor in FACTORS:
            hits = 0
            for _ in range(runs):
                leaves = drawn_forest(random, size, trees)
                test = labels_tested(leaves, draw(leaves, epsilon * factor, random))
                hits += test.p_value(epsilon) < LEVEL
            counts.append(hits)
        yield epsilon, size, counts


def most_misses(runs: int, chance: float) -> float:
    """Return how often something of this probability may happen: three deviations above what is expected."""
    return runs * chance + 3 * math.sqrt(runs * chance * (1 - chance)) + 1


def main() -> None:
    """Try all, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trees", type=int, default=1)
    parser.add_argument("--epsilon", type=float, nargs="*", default=EPSILONS)
    parser.add_argument("--leaves", type=int, nargs="*", default=SIZES)
    asked = parser.parse_args()
    cells = [(epsilon, size) for epsilon in asked.epsilon for size in asked.leaves]
    problems: list[str] = []
    tried = 0
    for number in range(asked.tables):
        tally = enumerate_case(asked.seed + number)
        tried += tally.outputs
        problems += tally.misses
    print(f"{asked.tables} small tables, all {tried:,} outputs: {len(problems)} broken promises")
    print(f"\nintervals of {CONFIDENCE:.0%}, {asked.runs} files each, of {asked.trees} trees")
    print(
        f"{'epsilon':>8} {'leaves':>6} {'drawn':>8} {'worked out':>11} {'least':>8} {'deviations':>11} "
        f"{'high / low (median)':>20}"
    )
    for cell in covered(cells, asked.runs, asked.seed, asked.trees):
        print(
            f"{cell.epsilon:8g} {cell.leaves:6} {cell.hits / cell.runs:8.1%} {cell.mean:11.2%} {cell.least:8.2%} "
            f"{cell.deviations:11.1f} {cell.width:20.3g}",
            flush=True,
        )
        problems += [cell.problem] if cell.problem else []
    print(f"\nclaims refuted at {LEVEL:g}, by what the true epsilon is a multiple of")
    print(f"{'claimed':>8} {'leaves':>6} " + " ".join(f"{f'x{factor}':>8}" for factor in FACTORS))
    for epsilon, size, counts in refuted(cells, asked.runs, asked.seed, asked.trees):
        shown = " ".join(f"{hits / asked.runs:8.1%}" for hits in counts)
        print(f"{epsilon:8g} {size:6} {shown}", flush=True)
        if counts[0] > most_misses(asked.runs, LEVEL):
            problems.append(f"epsilon {epsilon}, {size} leaves: {counts[0]} true claims refuted")
    print(*problems, sep="\n")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
