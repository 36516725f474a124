"""Secrets in shares, so that no more than a threshold of sides know anything (Shamir 1979), and products of them.

A secret is what a polynomial has at 0 whose other coefficients are random, a share what it has at a side's point.
Shares of sums are sums of shares. Products of shares lie on a polynomial of twice the degree, and that one is not
random: whoever sees enough of it can take it apart into its factors. So what they stand for is shared anew, and they
go to nobody as they are (Ben-Or, Goldwasser & Wigderson 1988; as here, Gennaro, Rabin & Rabin 1998). This tells a
threshold of sides nothing at all, however much they compute.
"""

from __future__ import annotations

from collections.abc import Sequence

from treewarden.ppdm_models.vertical import planes
from treewarden.ppdm_models.vertical.planes import Planes


class Sharing:
    """How sides share; up to ``threshold`` of them together learn nothing. It takes twice as many, and one, to compute.

    Elements have ``bits`` planes. Sides are numbered from 0, and have the points from 1 on.
    """

    def __init__(self, threshold: int) -> None:
        self.threshold, self.sides = threshold, 2 * threshold + 1
        self.bits = planes.bits_for(self.sides)
        self._of_products = self._weights(self.sides)
        self._of_shares = self._weights(threshold + 1)

    def dealt(self, secret: Sequence[int], lanes: int) -> list[Planes]:
        """Return each side's shares of secrets."""
        random = [planes.drawn(self.bits, lanes) for _ in range(self.threshold)]
        found = []
        for side in range(self.sides):
            value = random[0]
            for each in random[1:]:
                value = planes.plus(planes.scaled(side + 1, value), each)
            found.append(planes.plus(planes.scaled(side + 1, value), secret))
        return found

    def dealt_anew(self, side: int, products: Sequence[int], lanes: int) -> list[Planes]:
        """Return for each side what a side gives it of products; the sum of what all give is its share of them."""
        return self.dealt(planes.scaled(self._of_products[side], products), lanes)

    def opened(self, shares: Sequence[Sequence[int]]) -> Planes:
        """Return the secrets of which the first sides have shares, one more than the threshold."""
        found = [0] * self.bits
        for weight, share in zip(self._of_shares, shares, strict=True):
            found = planes.plus(found, planes.scaled(weight, share))
        return found

    def _weights(self, sides: int) -> list[int]:
        """Return what the values at the first points are multiplied by to add up to what is at 0 (Lagrange)."""
        points, found = range(1, sides + 1), []
        for own in points:
            weight = 1
            for other in points:
                if other != own:
                    ratio = planes.inverse(other ^ own, self.bits)
                    weight = planes.product(
                        weight, planes.product(other, ratio, self.bits), self.bits
                    )
            found.append(weight)
        return found
