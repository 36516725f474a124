"""What noise leaves of privacy once the distribution is known: what its level does not say.

Entropies as in Agrawal & Aggarwal (2001): 2^h(X|W) is the width of a uniform distribution that is as uncertain as the
true value is to whoever sees the noisy one. Breaches as in Evfimievski, Gehrke & Srikant (2003).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from treewarden.ppdm_models.methods.randomised.noise import ClassNoise, Gaussian, Hiding
from treewarden.ppdm_models.methods.randomised.reconstruction import (
    Intervals,
    Kernel,
    kernel,
    membership,
)

Numbers = NDArray[np.float64]
CONFIDENCE = 0.95
WORST = 0.01
FINENESS = 400
"""How many intervals a posterior is looked at in, at least."""
SIGMA_PARTS = 50
"""Into how many places a standard deviation of Gaussian noise is parted, at least, unless the finest are wider."""


@dataclass(frozen=True, slots=True)
class ResidualPrivacy:
    """What is left of privacy in one attribute, given its distribution; all widths are shares of its range.

    ``equivalent_width`` is 2^h(X|W), ``loss`` 1 - 2^-I(X;W); ``mean_width`` and ``worst_width`` are of the shortest
    interval that holds the true value with 95 %: on average, and what 1 % of the people have no more than. Of whole
    numbers, a stretch from one to another is as wide as they are apart, and so many equally likely ones are as wide as
    if they stood side by side: whoever knows the number is left with 0.
    """

    equivalent_width: float
    loss: float
    mean_width: float
    worst_width: float


@dataclass(frozen=True, slots=True)
class JointIntervals:
    """How likely each fine interval of the domain and of what noise makes of it are together.

    ``chances``, shape (wide, own), are those of noisy values for each true one, ``shares``, shape (classes, own), those
    of true values in each class of records; they add up to 1. ``are_points`` says that values are whole numbers, one in
    the middle of each interval, and nothing between them.
    """

    own: Intervals
    chances: Numbers
    shares: Numbers
    are_points: bool = False

    @property
    def prior(self) -> Numbers:
        """How true values are distributed; shape (own,)."""
        numbers: Numbers = self.shares.sum(axis=0) / self.shares.sum()
        return numbers

    def posteriors(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield for each class the shares of all people who have it and a noisy value in each wide interval.

        With each of them goes the distribution of the true value; shapes (wide,) and (wide, own).
        """
        total = float((self.chances @ self.prior).sum())
        for shares in self.shares / self.shares.sum():
            joint = self.chances * shares
            people = joint.sum(axis=1)
            there = people > 0
            yield people[there] / total, joint[there] / people[there, None]

    def breached(self, before: float, after: float) -> float:
        """Return the share of people of whom something with a chance of no more than ``before`` has ``after`` or more.

        Of all that could be said of somebody's value, the worst is taken for each noisy value: the most telling
        intervals first, until together they had the chance ``before``. The last of them may count in part, so that of
        whole numbers there are rather more breaches said to be than there are.
        """
        prior, total = self.prior, 0.0
        together = chain.from_iterable(zip(*each, strict=True) for each in self.posteriors())
        for weight, posterior in together:
            ratio = np.divide(posterior, prior, out=np.zeros_like(prior), where=prior > 0)
            order = np.argsort(-ratio, kind="stable")
            used = np.cumsum(prior[order])
            chance = np.interp(
                before, np.append(0, used), np.append(0, np.cumsum(posterior[order]))
            )
            total += weight * bool(chance >= after - 1e-12)
        return float(total)


def seen(
    intervals: Intervals, shares: Numbers, hiding: Hiding, *, are_points: bool = False
) -> JointIntervals:
    """Return what is seen of people whose values have a distribution, spread evenly within each interval.

    ``shares`` are of intervals, or of classes and intervals: shape (own,) or (classes, own). Where values
    ``are_points`` they are the middles of their intervals. To spread those would be to add noise that nobody added.
    """
    shares = np.atleast_2d(shares)
    shares = shares[shares.any(axis=1)]
    parts = -(-FINENESS // intervals.count)
    fine = Intervals(intervals.low, intervals.width / parts, intervals.count * parts)
    if are_points:
        chances = _as_fine_as_needed(_of_points(intervals, fine, hiding), fine, hiding)
        return JointIntervals(intervals, chances, shares, are_points=True)
    if isinstance(hiding, ClassNoise):
        chances = membership(hiding, fine)
    else:
        chances = kernel(hiding, fine, fine.widened(hiding.reach), Kernel.EXACT)
        chances = _as_fine_as_needed(chances, fine, hiding)
    return JointIntervals(fine, chances, np.repeat(shares / parts, parts, axis=1))


def _as_fine_as_needed(chances: Numbers, fine: Intervals, hiding: Hiding) -> Numbers:
    """Return chances of wider places where Gaussian noise is so wide that the finest ones tell no more."""
    together = int(hiding.sigma / SIGMA_PARTS / fine.width) if isinstance(hiding, Gaussian) else 1
    if together <= 1:
        return chances
    numbers: Numbers = np.add.reduceat(chances, np.arange(0, len(chances), together), axis=0)
    return numbers


def _of_points(intervals: Intervals, fine: Intervals, hiding: Hiding) -> Numbers:
    """Return the chance of each place for the middle of each interval; shape (wide, own)."""
    if isinstance(hiding, ClassNoise):
        return np.equal.outer(np.arange(hiding.count), hiding.numbers(intervals.middles)).astype(
            np.float64
        )
    edges = fine.widened(hiding.reach).edges
    numbers: Numbers = np.diff(hiding.below(edges[:, None] - intervals.middles[None, :]), axis=0)
    return numbers


def left(joint_intervals: JointIntervals) -> ResidualPrivacy:
    """Return what is left of privacy once the noisy value and the class are known."""
    less = 1 if joint_intervals.are_points else 0
    shortest = _fewest if joint_intervals.are_points else _shortest
    after, shares, stretches = 0.0, [], []
    for people, posteriors in joint_intervals.posteriors():
        after += float(people @ np.array([_bits(posterior) for posterior in posteriors]))
        shares.append(people)
        stretches.append([shortest(posterior) for posterior in posteriors])
    people = np.concatenate(shares)
    widths = (np.concatenate(stretches) - less) / (joint_intervals.own.count - less)
    order = np.argsort(widths)
    worst = int(np.searchsorted(np.cumsum(people[order]), WORST))
    return ResidualPrivacy(
        equivalent_width=(2**after - less) / (joint_intervals.own.count - less),
        loss=1 - 2 ** -(_bits(joint_intervals.prior) - after),
        mean_width=float(people @ widths),
        worst_width=float(widths[order][min(worst, len(order) - 1)]),
    )


def _bits(shares: Numbers) -> float:
    there = shares[shares > 0]
    return float(-(there * np.log2(there)).sum())


def _shortest(posterior: Numbers) -> float:
    """Return how many intervals the shortest stretch takes that holds the true value with 95 %, counted in parts."""
    cumulated = np.append(0.0, np.cumsum(posterior))
    cumulated /= cumulated[-1]
    positions = np.arange(len(cumulated), dtype=np.float64)
    rising = np.append(True, np.diff(cumulated) > 0)
    known, at = cumulated[rising], positions[rising]
    starts = cumulated[cumulated <= 1 - CONFIDENCE]
    from_left = np.interp(starts + CONFIDENCE, known, at) - positions[: len(starts)]
    ends = cumulated[cumulated >= CONFIDENCE]
    to_right = positions[len(cumulated) - len(ends) :] - np.interp(ends - CONFIDENCE, known, at)
    return float(min(from_left.min(), to_right.min()))


def _fewest(posterior: Numbers) -> float:
    """Return how many whole numbers, one after another, hold the true one with 95 %: as few as can be."""
    cumulated = np.append(0.0, np.cumsum(posterior))
    least = cumulated[:-1] + CONFIDENCE * cumulated[-1]
    ends = np.searchsorted(cumulated, least - 1e-12)
    stretches = ends - np.arange(len(posterior))
    return float(stretches[ends < len(cumulated)].min())
