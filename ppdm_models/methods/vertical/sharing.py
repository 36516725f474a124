"""Secrets in shares, so that no more than a threshold of sides know anything (Shamir 1979), and products of them.

A secret is what a polynomial has at 0 whose other coefficients are random, a share what it has at a side's point.
Shares of sums are sums of shares. Products of shares lie on a polynomial of twice the degree, and that one is not
random: whoever sees enough of it can take it apart into its factors. So what they stand for is shared anew, and they
go to nobody as they are (Ben-Or, Goldwasser & Wigderson 1988; as here, Gennaro, Rabin & Rabin 1998). This tells a
threshold of sides nothing at all, however much they compute.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Sequence

# Many elements of a field with 2^m elements at once: plane i holds bit i of each, one element per lane.
#
# So an operation on all of them is a few operations on long whole numbers, which is what Python does fast. Adding is
# exclusive or, lane by lane.

Planes = list[int]
"""One whole number for each bit of the elements."""
POLYNOMIALS = {2: 0b111, 3: 0b1011, 4: 0b10011, 5: 0b100101, 6: 0b1000011}
"""By the number of bits: what elements are reduced by, irreducible polynomials over two elements."""


def bits_for(elements: int) -> int:
    """Return how many bits elements have of the smallest field that has so many besides 0."""
    return next(bits for bits in POLYNOMIALS if 1 << bits > elements)


def times(first: Sequence[int], second: Sequence[int]) -> Planes:
    """Return products, lane by lane."""
    bits = len(first)
    found = [0] * (2 * bits - 1)
    for place, own in enumerate(first):
        for other, each in enumerate(second):
            found[place + other] ^= own & each
    rest = POLYNOMIALS[bits] ^ 1 << bits
    for place in range(2 * bits - 2, bits - 1, -1):
        for low in range(bits):
            if rest >> low & 1:
                found[place - bits + low] ^= found[place]
    return found[:bits]


def scaled(factor: int, planes: Sequence[int]) -> Planes:
    """Return all lanes times one element."""
    found = [0] * len(planes)
    for into, places in enumerate(_sums(factor, len(planes))):
        for place in places:
            found[into] ^= planes[place]
    return found


def plus(first: Sequence[int], second: Sequence[int]) -> Planes:
    """Return sums, lane by lane."""
    return [a ^ b for a, b in zip(first, second, strict=True)]


def drawn(bits: int, lanes: int) -> Planes:
    """Return random elements."""
    return [secrets.randbits(lanes) for _ in range(bits)]


def joined(low: Sequence[int], lanes: int, high: Sequence[int]) -> Planes:
    """Return the lanes of both, the ``lanes`` of the first one below."""
    return [a | b << lanes for a, b in zip(low, high, strict=True)]


def cut(planes: Sequence[int], start: int, lanes: int) -> Planes:
    """Return some lanes from a place on."""
    mask = (1 << lanes) - 1
    return [plane >> start & mask for plane in planes]


def bytes_of(planes: Sequence[int], lanes: int) -> bytes:
    """Return elements as bytes."""
    whole = 0
    for plane in reversed(planes):
        whole = whole << lanes | plane
    return whole.to_bytes(size_of(len(planes), lanes), "little")


def of_bytes(body: bytes, bits: int, lanes: int) -> Planes:
    """Return the elements in bytes; more bits than they have are left out."""
    whole, mask = int.from_bytes(body, "little"), (1 << lanes) - 1
    return [whole >> place * lanes & mask for place in range(bits)]


def size_of(bits: int, lanes: int) -> int:
    """Return how many bytes elements take."""
    return -(-bits * lanes // 8)


@functools.cache
def product(first: int, second: int, bits: int) -> int:
    """Return the product of two elements."""
    planes = times(*([each >> place & 1 for place in range(bits)] for each in (first, second)))
    return sum(bit << place for place, bit in enumerate(planes))


@functools.cache
def inverse(element: int, bits: int) -> int:
    """Return one over an element that is not 0."""
    return next(each for each in range(1 << bits) if product(element, each, bits) == 1)


@functools.cache
def _sums(factor: int, bits: int) -> tuple[tuple[int, ...], ...]:
    """Return for each plane of a product with an element which planes it is the sum of."""
    columns = [product(factor, 1 << place, bits) for place in range(bits)]
    return tuple(
        tuple(place for place, column in enumerate(columns) if column >> into & 1)
        for into in range(bits)
    )


class Sharing:
    """How sides share; up to ``threshold`` of them together learn nothing. It takes twice as many, and one, to compute.

    Elements have ``bits`` planes. Sides are numbered from 0, and have the points from 1 on.
    """

    def __init__(self, threshold: int) -> None:
        self.threshold, self.sides = threshold, 2 * threshold + 1
        self.bits = bits_for(self.sides)
        self._of_products = self._weights(self.sides)
        self._of_shares = self._weights(threshold + 1)

    def dealt(self, secret: Sequence[int], lanes: int) -> list[Planes]:
        """Return each side's shares of secrets."""
        random = [drawn(self.bits, lanes) for _ in range(self.threshold)]
        found = []
        for side in range(self.sides):
            value = random[0]
            for each in random[1:]:
                value = plus(scaled(side + 1, value), each)
            found.append(plus(scaled(side + 1, value), secret))
        return found

    def dealt_anew(self, side: int, products: Sequence[int], lanes: int) -> list[Planes]:
        """Return for each side what a side gives it of products; the sum of what all give is its share of them."""
        return self.dealt(scaled(self._of_products[side], products), lanes)

    def opened(self, shares: Sequence[Sequence[int]]) -> Planes:
        """Return the secrets of which the first sides have shares, one more than the threshold."""
        found = [0] * self.bits
        for weight, share in zip(self._of_shares, shares, strict=True):
            found = plus(found, scaled(weight, share))
        return found

    def _weights(self, sides: int) -> list[int]:
        """Return what the values at the first points are multiplied by to add up to what is at 0 (Lagrange)."""
        points, found = range(1, sides + 1), []
        for point in points:
            weight = 1
            for other in points:
                if other != point:
                    ratio = inverse(other ^ point, self.bits)
                    weight = product(weight, product(other, ratio, self.bits), self.bits)
            found.append(weight)
        return found
