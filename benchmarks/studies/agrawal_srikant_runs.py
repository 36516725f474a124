"""The runs of the study of Agrawal & Srikant 2000: accuracies, reconstructions, what is left of privacy, attacks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.studies.agrawal_srikant_trees import Ordinary
from treewarden.ppdm_models.methods.randomised.attacks import Moments, linear_bayes, spectral
from treewarden.ppdm_models.methods.randomised.generating import ATTRIBUTES, people
from treewarden.ppdm_models.methods.randomised.learning import Method, Noisy, learn
from treewarden.ppdm_models.methods.randomised.noise import Noise, gaussian, hiding, noisy, uniform
from treewarden.ppdm_models.methods.randomised.reconstruction import intervals, reconstruct
from treewarden.ppdm_models.methods.randomised.residual_privacy import ResidualPrivacy, left, seen

Numbers = NDArray[np.float64]
NOISES = ("gaussian", "uniform")
LEVELS = (0.10, 0.25, 0.50, 1.00, 1.50, 2.00)
FUNCTIONS = (1, 2, 3, 4, 5)
ALGORITHMS = ("Randomized", "Global", "ByClass", "Local")
METHODS = {"Global": Method.GLOBAL, "ByClass": Method.BYCLASS, "Local": Method.LOCAL}


@dataclass(frozen=True, slots=True)
class Cell:
    """What is compared at once: a function, a kind of noise and a level."""

    function: int
    noise: str
    level: float


def original(function: int, train: int, test: int, seed: int) -> float:
    """Return the accuracy of a tree grown from true values, in per cent."""
    grown, judged = _people(function, train, test, seed)
    columns, classes = grown
    return _accuracy(Ordinary(columns, classes).predicted(judged[0]), judged[1])


def accuracies(cell: Cell, train: int, test: int, seed: int) -> dict[str, float]:
    """Return the accuracy of each algorithm on records without noise, in per cent."""
    (columns, classes), (other, truth) = _people(cell.function, train, test, seed)
    random = np.random.default_rng([seed, cell.function, round(100 * cell.level), len(cell.noise)])
    noises = {each.name: _noise(cell.noise, cell.level, each.width) for each in ATTRIBUTES}
    hidden = {
        each.name: noisy(columns[:, i], noises[each.name], random)
        for i, each in enumerate(ATTRIBUTES)
    }
    as_they_are = Ordinary(np.stack(list(hidden.values()), axis=1), classes)
    found = {"Randomized": _accuracy(as_they_are.predicted(other), truth)}
    records = Noisy(ATTRIBUTES, hidden, noises, classes, 2)
    for name, method in METHODS.items():
        predicted = learn(records, method).predicted(list(other.T))
        found[name] = _accuracy(predicted, truth)
    return found


@dataclass(frozen=True, slots=True)
class Recovered:
    """How far off the noisy and the reconstructed distribution are from the true one: half the sum of differences."""

    shape: str
    noise: str
    level: float
    noisy: float
    reconstructed: float
    steps: int


def reconstruction(shape: str, noise: str, level: float, records: int, seed: int) -> Recovered:
    """Return how well a distribution of a shape is recovered: a plateau, or two triangles, as in the paper."""
    random = np.random.default_rng([seed, len(shape), round(100 * level), len(noise)])
    values = SHAPES[shape](records, random)
    hidden_by = _noise(noise, level, 1.0)
    own = intervals(0, 1, records)
    there = noisy(values, hidden_by, random)
    made = reconstruct(there, hidden_by, own)
    true = np.bincount(own.numbers(values), minlength=own.count) / records
    inside = np.bincount(own.numbers(there), minlength=own.count) / records
    return Recovered(
        shape,
        noise,
        level,
        float(np.abs(inside - true).sum() / 2),
        float(np.abs(made.shares - true).sum() / 2),
        made.steps,
    )


def privacy(noise: str, level: float) -> ResidualPrivacy:
    """Return what noise of a nominal level leaves of values that are spread evenly."""
    own = intervals(0, 1, 10_000)
    return left(seen(own, np.full(own.count, 1 / own.count), hiding(noise, level, 0, 1)))


def attacked(rho: float, level: float, records: int, seed: int) -> tuple[float, float]:
    """Return what the linear Bayes estimate and the spectral filter are off by, in deviations of the noise.

    Twenty normal columns that correlate by ``rho``.
    """
    random = np.random.default_rng([seed, round(100 * rho)])
    common = random.normal(size=(records, 1))
    own = random.normal(size=(records, 20))
    true = np.sqrt(rho) * common + np.sqrt(1 - rho) * own
    sigma = gaussian(level, float(np.ptp(true))).sigma
    there = true + random.normal(0, sigma, true.shape)
    moments = Moments(np.zeros(20), np.ones(20))
    moments.add(true, there)
    seen_of, deviations = moments.covariance[20:, 20:], np.full(20, sigma)
    attacks = linear_bayes(seen_of, deviations), spectral(seen_of, deviations, records)
    bayes, filtered = (float(each.errors(moments).mean()) / sigma for each in attacks)
    return bayes, filtered


def _plateau(records: int, random: np.random.Generator) -> Numbers:
    return random.uniform(0.25, 0.75, records)


def _triangles(records: int, random: np.random.Generator) -> Numbers:
    left_one = random.triangular(0, 0.25, 0.5, records)
    return np.where(random.random(records) < 0.5, left_one, left_one + 0.5)


SHAPES = {"plateau": _plateau, "triangles": _triangles}


def _noise(kind: str, level: float, width: float) -> Noise:
    return gaussian(level, width) if kind == "gaussian" else uniform(level, width)


def _people(
    function: int, train: int, test: int, seed: int
) -> tuple[tuple[Numbers, NDArray[np.int64]], tuple[Numbers, NDArray[np.int64]]]:
    random = np.random.default_rng([seed, function])
    made = (people(count, function, random) for count in (train, test))
    first, second = (
        (
            np.stack([each.columns[attribute.name] for attribute in ATTRIBUTES], axis=1),
            (~each.in_group_a).astype(np.int64),
        )
        for each in made
    )
    return first, second


def _accuracy(predicted: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    return float(100 * np.mean(predicted == truth))
