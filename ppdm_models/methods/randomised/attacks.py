"""What somebody gets back of noisy records who uses that attributes go together.

The linear Bayes estimate is that of Huang, Du & Chen (2005), the spectral filter that of Kargupta, Datta, Wang &
Sivakumar (2003). Both know the noise and the noisy records and nothing else. The best linear estimate knows how true
values vary as well, from elsewhere, and each record's class. All are linear, so that what they get back follows from
means and covariances: no record is needed to tell how far off they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Means and covariances of true and noisy values together, added up as records pass by; no record is kept.

Numbers = NDArray[np.float64]
MOST_CLASSES = 20
"""What more classes than that tell of hidden columns is not reckoned with."""


class Moments:
    """Of the records that have a value in every attribute: how many there are, and what their values are like.

    Values are counted from the middle of their domain in shares of its width, so that no sum loses digits: ``middles``
    and ``widths`` have shape (attributes,). True values come first, then noisy ones: means have shape (2 attributes,),
    covariances (2 attributes, 2 attributes). Records may be of so many ``classes``.
    """

    def __init__(self, middles: Numbers, widths: Numbers, classes: int = 1) -> None:
        self.middles, self.widths = middles, widths
        size = 2 * len(middles)
        self._counts: NDArray[np.int64] = np.zeros(classes, dtype=np.int64)
        self._sums: Numbers = np.zeros((classes, size))
        self._products: Numbers = np.zeros((size, size))

    def add(self, true: Numbers, noisy: Numbers, classes: NDArray[np.int64] | None = None) -> None:
        """Take in records; shapes (records, attributes). Those with a missing value (NaN) are passed over.

        ``classes`` are the numbers of their classes, from 0; shape (records,).
        """
        both = np.hstack([(each - self.middles) / self.widths for each in (true, noisy)])
        are_whole = ~np.isnan(both).any(axis=1)
        both = both[are_whole]
        self._products += both.T @ both
        if classes is None or len(self._counts) == 1:
            self._counts[0] += len(both)
            self._sums[0] += both.sum(axis=0)
            return
        own = classes[are_whole]
        for number in np.unique(own):
            of_class = both[own == number]
            self._counts[number] += len(of_class)
            self._sums[number] += of_class.sum(axis=0)

    @property
    def records(self) -> int:
        """How many records there are."""
        return int(self._counts.sum())

    @property
    def means(self) -> Numbers:
        """The means; 0 of no record."""
        numbers: Numbers = self._sums.sum(axis=0) / max(self.records, 1)
        return numbers

    @property
    def within(self) -> Numbers:
        """The covariances within classes, over all of them: what varies still where the class is known."""
        means = self._sums / np.maximum(self._counts, 1)[:, None]
        numbers: Numbers = (self._products - means.T @ self._sums) / max(self.records, 1)
        return numbers

    @property
    def covariance(self) -> Numbers:
        """The covariances of true and noisy values."""
        means = self.means
        numbers: Numbers = self._products / max(self.records, 1) - np.outer(means, means)
        return numbers


WIDTH_95 = 2 * 1.959963984540054
"""How many standard deviations a 95 % interval is wide."""
BEST_LINEAR = "best linear estimate"
NEGLIGIBLE = 1e-10
"""A direction with a smaller share of the largest variance has none but what rounding makes."""


@dataclass(frozen=True, slots=True)
class Attack:
    """An estimate of the true values: the mean, and ``gain`` times what a noisy record differs from it.

    ``gain`` has shape (attributes, attributes).
    """

    name: str
    gain: Numbers

    def estimates(self, noisy: Numbers) -> Numbers:
        """Return an estimate of each true value; shapes (records, attributes)."""
        mean = noisy.mean(axis=0)
        numbers: Numbers = mean + (noisy - mean) @ self.gain.T
        return numbers

    def errors(self, moments: Moments) -> Numbers:
        """Return the root mean square distance of its estimates to the true values, in the moments' units."""
        size = len(self.gain)
        means, all_ = moments.means, moments.covariance
        true, cross, noisy = all_[:size, :size], all_[:size, size:], all_[size:, size:]
        spread = true - self.gain @ cross.T - cross @ self.gain.T + self.gain @ noisy @ self.gain.T
        bias = means[:size] - means[size:]
        return np.sqrt(np.maximum(np.diag(spread) + bias**2, 0.0))


def linear_bayes(covariance: Numbers, deviations: Numbers) -> Attack:
    """Return the best linear estimate of the true values, from the covariance of the noisy ones.

    ``deviations`` are those of the noise, one per attribute; an attribute without noise (0) is taken as it stands.
    """
    true = true_covariance(covariance, deviations)
    gain = true @ np.linalg.pinv(true + np.diag(deviations**2), NEGLIGIBLE, hermitian=True)
    known = np.flatnonzero(deviations == 0)
    gain[known] = np.eye(len(gain))[known]
    return Attack("linear Bayes estimate", gain)


def best_errors(moments: Moments) -> Numbers:
    """Return how far the best linear estimate is off, which knows each record's class and how all values vary.

    Of noise that is independent it is what ``linear_bayes`` comes to with many records of one class. Of classes in
    place of values it is more: where columns go together, those of others tell where in its class a value lies.
    """
    all_ = moments.within
    size = len(all_) // 2
    true, cross, noisy = all_[:size, :size], all_[:size, size:], all_[size:, size:]
    unexplained = true - cross @ np.linalg.pinv(noisy, NEGLIGIBLE, hermitian=True) @ cross.T
    return np.sqrt(np.maximum(np.diag(unexplained), 0.0))


def spectral(covariance: Numbers, deviations: Numbers, records: int) -> Attack:
    """Return the noisy values without what noise alone explains: directions of no more variance than noise can have.

    Attributes without noise (0) are no part of it, and taken as they stand.
    """
    noisy = np.flatnonzero(deviations > 0)
    scale = deviations[noisy]
    values, vectors = np.linalg.eigh(covariance[np.ix_(noisy, noisy)] / np.outer(scale, scale))
    kept = vectors[:, values > (1 + np.sqrt(len(noisy) / max(records, 1))) ** 2]
    gain = np.eye(len(covariance))
    gain[np.ix_(noisy, noisy)] = (kept @ kept.T) * np.outer(scale, 1 / scale)
    return Attack("spectral filter", gain)


def true_covariance(covariance: Numbers, deviations: Numbers) -> Numbers:
    """Return the covariance of the true values, as far as noisy ones show it; never one that cannot be."""
    values, vectors = np.linalg.eigh(covariance - np.diag(deviations**2))
    numbers: Numbers = (vectors * np.maximum(values, 0)) @ vectors.T
    return numbers


def correlations(covariance: Numbers) -> Numbers:
    """Return how attributes go together, 0 where one hardly varies; shape (attributes, attributes)."""
    spread = np.sqrt(np.maximum(np.diag(covariance), 0))
    scale = np.outer(spread, spread)
    numbers: Numbers = np.divide(
        covariance, scale, out=np.zeros_like(covariance), where=scale > 1e-12
    )
    return np.clip(numbers, -1, 1)
