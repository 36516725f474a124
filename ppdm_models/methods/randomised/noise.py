"""Noise of a stated level of privacy: uniform, Gaussian, or values replaced by the class they lie in.

The level is the width of the interval that holds the true value with the stated confidence, as a share of the
attribute's range (Agrawal & Srikant 2000, section 2). It says what the noise alone hides, before
anything else is known.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Numbers = NDArray[np.float64]
CONFIDENCE = 0.95
MOST_LEVEL = 10.0
REACH_SIGMAS = 5.0
"""How far Gaussian noise is taken to reach where a finite domain is needed."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Noise that is equally likely anywhere between -alpha and alpha."""

    alpha: float
    kind = "uniform"

    @property
    def reach(self) -> float:
        """How far a noisy value can be from the true one."""
        return self.alpha

    @property
    def limit(self) -> float:
        """How far off a noisy value is no noise any more, but a mistake."""
        return self.alpha * (1 + 1e-9)

    def density(self, distance: Numbers) -> Numbers:
        """Return the density at distances from the true value; at the very end it still counts."""
        within = np.abs(distance) <= self.alpha * (1 + 1e-12)
        return np.where(within, 1 / (2 * self.alpha), 0.0)

    def below(self, distance: Numbers) -> Numbers:
        """Return the chance of noise below distances from the true value."""
        numbers: Numbers = np.clip((distance + self.alpha) / (2 * self.alpha), 0.0, 1.0)
        return numbers

    def second_integral(self, distance: Numbers) -> Numbers:
        """Return the density integrated twice from minus infinity."""
        inside = np.clip(distance + self.alpha, 0, 2 * self.alpha)
        numbers: Numbers = inside**2 / (4 * self.alpha) + np.maximum(distance - self.alpha, 0)
        return numbers

    def draw(self, count: int, random: np.random.Generator) -> Numbers:
        """Return so many draws."""
        return random.uniform(-self.alpha, self.alpha, count)


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Noise of the normal distribution with mean 0."""

    sigma: float
    kind = "gaussian"

    @property
    def reach(self) -> float:
        """How far a noisy value is taken to be from the true one at most."""
        return REACH_SIGMAS * self.sigma

    @property
    def limit(self) -> float:
        """How far off a noisy value is no noise any more, but a mistake: once in 10^23 draws."""
        return 2 * self.reach

    def density(self, distance: Numbers) -> Numbers:
        """Return the density at distances from the true value."""
        scaled = distance / self.sigma
        numbers: Numbers = np.exp(-0.5 * scaled**2) / (self.sigma * math.sqrt(2 * math.pi))
        return numbers

    def below(self, distance: Numbers) -> Numbers:
        """Return the chance of noise below distances from the true value."""
        numbers: Numbers = ndtr(distance / self.sigma)
        return numbers

    def second_integral(self, distance: Numbers) -> Numbers:
        """Return the density integrated twice from minus infinity."""
        within: Numbers = ndtr(distance / self.sigma)
        return distance * within + self.sigma**2 * self.density(distance)

    def draw(self, count: int, random: np.random.Generator) -> Numbers:
        """Return so many draws."""
        return random.normal(0.0, self.sigma, count)


Noise = Uniform | Gaussian


@dataclass(frozen=True, slots=True)
class ClassNoise:
    """No noise, but values replaced by the middle of the class that they lie in.

    Classes begin at ``low`` and are ``wide``; the last one ends at ``high``.
    """

    low: float
    high: float
    wide: float
    kind = "discretize"

    @property
    def count(self) -> int:
        """How many classes there are."""
        return max(math.ceil((self.high - self.low) / self.wide - 1e-9), 1)

    @property
    def edges(self) -> Numbers:
        """Where they begin and end; shape (count + 1,)."""
        found = self.low + self.wide * np.arange(self.count + 1, dtype=np.float64)
        return np.minimum(found, self.high)

    def numbers(self, values: Numbers) -> NDArray[np.int64]:
        """Return the number of the class of each value; the first or last where it lies outside."""
        found = np.floor((values - self.low) / self.wide)
        return np.clip(found, 0, self.count - 1).astype(np.int64)

    def hidden(self, values: Numbers) -> Numbers:
        """Return the middle of the class of each value; missing ones (NaN) stay missing."""
        is_missing = np.isnan(values)
        edges = self.edges
        middles = (edges[:-1] + edges[1:]) / 2
        return np.where(
            is_missing, np.nan, middles[self.numbers(np.where(is_missing, self.low, values))]
        )


Hiding = Uniform | Gaussian | ClassNoise
"""How the values of an attribute are hidden."""
KINDS = (Uniform.kind, Gaussian.kind, ClassNoise.kind)


def uniform(level: float, width: float, confidence: float = CONFIDENCE) -> Uniform:
    """Return uniform noise of a level for an attribute whose range has a width.

    Raises:
        ValueError: the level, the width or the confidence cannot be.
    """
    _check(level, width, confidence)
    return Uniform(level * width / (2 * confidence))


def gaussian(level: float, width: float, confidence: float = CONFIDENCE) -> Gaussian:
    """Return Gaussian noise of a level for an attribute whose range has a width.

    Raises:
        ValueError: the level, the width or the confidence cannot be.
    """
    _check(level, width, confidence)
    return Gaussian(level * width / (2 * float(ndtri((1 + confidence) / 2))))


def classes(level: float, low: float, high: float, confidence: float = CONFIDENCE) -> ClassNoise:
    """Return the classes that hide values of a domain as well as noise of a level does.

    Raises:
        ValueError: the level, the domain or the confidence cannot be.
    """
    _check(level, high - low, confidence)
    return ClassNoise(low, high, level * (high - low) / confidence)


def hiding(
    kind: str, level: float, low: float, high: float, confidence: float = CONFIDENCE
) -> Hiding:
    """Return what hides values of a domain: one of ``KINDS``, of a level.

    Raises:
        ValueError: there is no such kind, or the level, the domain or the confidence cannot be.
    """
    if kind == Uniform.kind:
        return uniform(level, high - low, confidence)
    if kind == Gaussian.kind:
        return gaussian(level, high - low, confidence)
    if kind == ClassNoise.kind:
        return classes(level, low, high, confidence)
    raise ValueError(f"no noise {kind!r}; use {', '.join(KINDS)}")


def noisy(values: Numbers, hiding: Hiding, random: np.random.Generator) -> Numbers:
    """Return values with noise, or the middles of their classes; missing ones (NaN) stay missing.

    Draw once and keep it: repeats average noise away.
    """
    if isinstance(hiding, ClassNoise):
        return hiding.hidden(values)
    return values + hiding.draw(len(values), random)


def unpredictable() -> np.random.Generator:
    """Return a generator that nobody can repeat: seeded by the operating system's secrets, the seed forgotten."""
    return np.random.Generator(np.random.PCG64(secrets.randbits(256)))


def _check(level: float, width: float, confidence: float) -> None:
    if not 0 < level <= MOST_LEVEL:
        raise ValueError(f"the level is {level:g}; give more than 0, and at most {MOST_LEVEL:g}")
    if not (math.isfinite(width) and width > 0):
        raise ValueError(
            f"the range is {width:g} wide, but must be finite and wider than 0; give another"
        )
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence is {confidence:g}; give a number between 0 and 1")
