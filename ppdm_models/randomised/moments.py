"""Means and covariances of true and noisy values together, added up as records pass by; no record is kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
        found: Numbers = self._sums.sum(axis=0) / max(self.records, 1)
        return found

    @property
    def within(self) -> Numbers:
        """The covariances within classes, over all of them: what varies still where the class is known."""
        means = self._sums / np.maximum(self._counts, 1)[:, None]
        found: Numbers = (self._products - means.T @ self._sums) / max(self.records, 1)
        return found

    @property
    def covariance(self) -> Numbers:
        """The covariances of true and noisy values."""
        means = self.means
        found: Numbers = self._products / max(self.records, 1) - np.outer(means, means)
        return found
