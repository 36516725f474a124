"""Between which shares parts of people can be spread, of a crossed case: what rows of sums leave, by linear programs.

An estimate spreads each person over alternatives in parts. So the sums that a file tells leave it more room than they
leave tables of whole people: weights of 3, 3, 3, 2 and 2 sum to 6 only as two whole people of weight 3, and in parts
also with those of weight 2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog

from tests.judges.crossing.cases import COLUMNS, SECRET, CrossingCase, DrawnTree
from treewarden.ppdm_models.arrays import FloatArray, IntArray

Row = tuple[FloatArray, float, float]
"""Weights (n, W) of each person in each alternative, and the least and the most of their sum."""


class PartsOfPeople:
    """The parts of each of n people in W alternatives, of hidden columns and value, as the rows of a case allow."""

    def __init__(self, case: CrossingCase) -> None:
        people, sizes = len(case.values), [case.sizes[at] for at in case.hidden]
        sizes += [] if case.knows_target else [case.classes]
        ways = np.array(list(itertools.product(*map(range, sizes))), dtype=np.int64)
        ways = ways.reshape(-1, len(sizes))
        codes = np.repeat(case.codes[:, None, :], len(ways), axis=1)
        codes[:, :, list(case.hidden)] = ways[:, : len(case.hidden)]
        values = np.repeat(case.values[:, None], len(ways), axis=1)
        values = values if case.knows_target else np.tile(ways[:, -1], (people, 1))
        self.answers = codes[:, :, COLUMNS.index(SECRET)] if case.is_of_secret else values
        rows = [*_facts(case, codes, values)]
        for tree in case.trees:
            rows += _leaves(case, tree, codes, values)
        whole = np.repeat(np.eye(people), len(ways), axis=1)
        weights = np.array([row.ravel() for row, _, _ in rows]).reshape(len(rows), -1)
        low, high = (np.array([row[at] for row in rows]) for at in (1, 2))
        is_equal, has_low, has_high = low == high, low > -math.inf, high < math.inf
        up, down = has_high & ~is_equal, has_low & ~is_equal
        self._rows = {
            "A_eq": np.concatenate([whole, weights[is_equal]]),
            "b_eq": np.concatenate([np.ones(people), low[is_equal]]),
            "A_ub": np.concatenate([weights[up], -weights[down]]),
            "b_ub": np.concatenate([high[up], -low[down]]),
        }

    def ends(self, people: list[int], answer: int) -> tuple[float, float]:
        """Return the least and the greatest share of some people who can have an answer."""
        asked = np.zeros(self.answers.shape)
        asked[people] = self.answers[people] == answer
        least, most = (
            linprog(sign * asked.ravel(), **self._rows, bounds=(0.0, 1.0)).fun for sign in (1, -1)
        )
        return float(least) / len(people), -float(most) / len(people)


def _facts(case: CrossingCase, codes: IntArray, values: IntArray) -> Iterator[Row]:
    """Yield what is known besides of the people of each tree."""
    for held in {tuple(tree.people.tolist()) for tree in case.trees}:
        here = np.zeros((len(codes), 1), dtype=bool)
        here[list(held)] = True
        true = case.codes[None, list(held)], case.values[None, list(held)]
        for fact in case.facts:
            if not (fact.alike(true[0]).any() and fact.holds(*true)[0]):
                continue
            alike = fact.alike(codes) & here
            having = (alike & (values == fact.value)).astype(np.float64)
            if fact.share is None:
                yield having, 1.0, math.inf
                continue
            low = -math.inf if fact.sign == "<=" else -1e-6
            high = math.inf if fact.sign == ">=" else 1e-6
            yield having - fact.share * alike, low, high
        for k in range(case.classes if case.has_totals else 0):
            total = float((true[1] == k).sum())
            yield ((values == k) & here).astype(np.float64), total, total


def _leaves(
    case: CrossingCase, tree: DrawnTree, codes: IntArray, values: IntArray
) -> Iterator[Row]:
    """Yield the sums of each leaf of a tree of counts or means."""
    here = np.zeros((len(codes), 1), dtype=bool)
    here[tree.people] = True
    stops, true = (tree.leaf_of[tuple(np.moveaxis(at, -1, 0))] for at in (codes, case.codes))
    for leaf in range(len(tree.paths)):
        there = (stops == leaf) & here
        own = (true == leaf) & here[:, 0]
        weights = there * tree.weights[:, None].astype(np.float64)
        size = float(tree.weights[own].sum())
        if case.is_of_numbers:
            total = float((tree.weights * case.values)[own].sum())
            yield weights * (values * size - total), 0.0, 0.0
            if case.is_sized:
                yield weights, size, size
            continue
        for k in range(case.classes):
            is_own = own & (case.values == k)
            if case.kind != "samples":
                total = float(tree.weights[is_own].sum())
                yield weights * (values == k), total, total
            elif tree.draws[is_own].sum():
                yield (there & (values == k)).astype(np.float64), 1.0, math.inf
