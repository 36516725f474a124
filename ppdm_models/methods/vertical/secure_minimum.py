"""Whose key is the smallest: keys are shared among sides, compared as shares, and one index is opened to the miner.

Three parties or more compute among themselves, as many of them as the threshold asks for; two have the miner help. What
they say goes over the session's channel like all else: one message to each of the others for each step.

A secret is what a polynomial has at 0 whose other coefficients are random, a share what it has at a side's point, so
that no more than a threshold of sides know anything (Shamir 1979). Shares of sums are sums of shares. Products of
shares lie on a polynomial of twice the degree, and that one is not random: whoever sees enough of it can take it apart
into its factors. So what they stand for is shared anew, and they go to nobody as they are (Ben-Or, Goldwasser &
Wigderson 1988; as here, Gennaro, Rabin & Rabin 1998). This tells a threshold of sides nothing at all, however much they
compute.
"""

from __future__ import annotations

import functools
import itertools
import secrets
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from treewarden.ppdm_models.methods.vertical.messages import (
    MINER,
    Channel,
    MessageKind,
    ProtocolError,
    Reason,
)
from treewarden.ppdm_models.methods.vertical.roles import KeyComparison
from treewarden.ppdm_models.methods.vertical.session import Session

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


# Which of several shared keys is the smallest, so that shares are all that anybody sees: one side's steps.
#
# Each key comes in eight digits, and each digit as zeros and a one at its place, all of it shared by its owner. Of two
# digits the smaller one is then found by adding up products, in one step for all digits of all pairs of keys; three
# more steps put digits together. A key that is smaller than each other one is the product of what was found.

DIGITS = 8
PLACES = (0, 4, 2, 6, 1, 5, 3, 7)
"""Where digits stand, the lowest first: those that are put together first are half of all apart, and so each time."""


@dataclass(frozen=True, slots=True)
class Products:
    """Products of shares, on the way to being shared anew; there are so many ``lanes`` of them."""

    values: Planes
    lanes: int


Steps = Generator[Products, Planes, Planes]
"""Yields products, is sent shares of them, and returns the shares of what is opened."""


class Smallest:
    """The steps for so many ``keys`` of so many bits, whose shares have ``planes``."""

    def __init__(self, keys: int, key_bits: int, share_bits: int) -> None:
        self.keys, self._bits = keys, share_bits
        self._digit_bits = -(-key_bits // DIGITS)
        self.lanes = DIGITS << self._digit_bits
        """How many elements a key is shared as."""
        self._pairs = list(itertools.combinations(range(keys), 2))
        self._spread = [self._spread_out(each) for each in range(1 << DIGITS)]
        order, self._earlier = self._opponents()
        self._opponent_of = itemgetter(*order)

    def written(self, key: int) -> Planes:
        """Return a key as its owner shares it: a one in the lane of each digit's value."""
        mask = (1 << self._digit_bits) - 1
        found = 0
        for number, place in enumerate(PLACES):
            digit = key >> number * self._digit_bits & mask
            found |= 1 << digit * DIGITS + place
        return [found] + [0] * (self._bits - 1)

    @property
    def most_lanes(self) -> int:
        """How many elements a message holds at most."""
        return max(self.lanes, 2 * DIGITS * len(self._pairs), self.keys * (self.keys // 2))

    def steps(self, shares: Sequence[Planes]) -> Steps:
        """Take shares of all keys; return shares of a one for the smallest, the first of equal ones, else of zeros."""
        pairs = len(self._pairs)
        lanes = DIGITS * pairs
        planes = yield Products(self._digits(shares), 2 * lanes)
        less, same = cut(planes, 0, lanes), cut(planes, lanes, lanes)
        while lanes > pairs:
            lanes //= 2
            over, low = cut(same, lanes, lanes), cut(less, 0, lanes)
            high = cut(less, lanes, lanes)
            if lanes == pairs:
                less = plus(high, (yield Products(times(over, low), lanes)))
                break
            both = joined(low, lanes, cut(same, 0, lanes))
            twice = joined(over, lanes, over)
            planes = yield Products(times(twice, both), 2 * lanes)
            less, same = (
                plus(high, cut(planes, 0, lanes)),
                cut(planes, lanes, lanes),
            )
        return (yield from self._beating_all(less))

    def _digits(self, shares: Sequence[Planes]) -> Planes:
        """Return for each pair and digit whether the later key's is less, then whether they are the same."""
        above = [self._above(share) for share in shares]
        less, same = [0] * self._bits, [0] * self._bits
        for number, (early, late) in enumerate(self._pairs):
            for into, other in ((less, above[early]), (same, shares[early])):
                for place, each in enumerate(times(other, shares[late])):
                    into[place] |= self._spread[self._added_up(each)] << number
        return joined(less, DIGITS * len(self._pairs), same)

    def _above(self, share: Sequence[int]) -> Planes:
        """Return in each lane whether the digit is larger than the lane's value: the sum of all lanes above."""
        found = []
        for plane in share:
            step = DIGITS
            while step < self.lanes:
                plane ^= plane >> step  # noqa: PLW2901
                step *= 2
            found.append(plane >> DIGITS)
        return found

    def _added_up(self, plane: int) -> int:
        """Return the sum over all values, one bit for each digit."""
        lanes = self.lanes
        while lanes > DIGITS:
            lanes //= 2
            plane = plane >> lanes ^ plane & (1 << lanes) - 1
        return plane

    def _beating_all(self, less: Sequence[int]) -> Steps:
        """Return which key beats all others: the product of what it is to each of them."""
        count, keys = self.keys - 1, self.keys
        factors = []
        for plane in less:
            bits = f"{plane:0{len(self._pairs)}b}"
            factors.append(int("".join(self._opponent_of(bits)), 2))
        factors[0] ^= self._earlier
        while count > 1:
            half = count // 2
            lanes = half * keys
            first, second = cut(factors, 0, lanes), cut(factors, lanes, lanes)
            rest = cut(factors, 2 * lanes, count % 2 * keys)
            planes = yield Products(times(first, second), lanes)
            factors, count = joined(planes, lanes, rest), count - half
        return factors

    def _spread_out(self, digits: int) -> int:
        """Return one bit for each digit so far apart that those of all pairs have room."""
        pairs = len(self._pairs)
        return sum(1 << place * pairs for place in range(DIGITS) if digits >> place & 1)

    def _opponents(self) -> tuple[list[int], int]:
        """Return for each key and each other one where its pair stands, highest lane first; and who is the earlier.

        Positions count from the highest pair, as numbers are written.
        """
        order, earlier = [], 0
        at = {pair: number for number, pair in enumerate(self._pairs)}
        for turn in range(1, self.keys):
            for own in range(self.keys):
                other = (own + turn) % self.keys
                order.append(len(self._pairs) - 1 - at[min(own, other), max(own, other)])
                earlier |= (own < other) << len(order) - 1
        return order[::-1], earlier


def threshold(parties: int) -> int:
    """Return how many sides together learn nothing from their shares."""
    return max(1, (parties - 1) // 2)


class ComputingPlan:
    """Who computes, and how: what a session has in public decides."""

    def __init__(self, session: Session) -> None:
        parties = len(session.parties)
        self.sharing = Sharing(threshold(parties))
        self.smallest = Smallest(parties, session.nothing.bit_length(), self.sharing.bits)
        self.computing: tuple[int, ...] = (*range(parties), MINER)[: self.sharing.sides]
        self.opening = self.computing[: self.sharing.threshold + 1]
        """Those who send the miner their shares of who is the smallest."""

    @property
    def most_bytes(self) -> int:
        """How long a message is at most."""
        return size_of(self.sharing.bits, self.smallest.most_lanes)


class SecureComparison(KeyComparison):
    """One side's part."""

    def __init__(self, session: Session, channel: Channel) -> None:
        self._session, self._channel, self._plan = session, channel, ComputingPlan(session)
        self._sharing, self._smallest = self._plan.sharing, self._plan.smallest

    async def give(self, node: int, key: int) -> None:
        if not 0 <= key <= self._session.nothing:
            raise ValueError("a key does not belong to this session")
        lanes = self._smallest.lanes
        dealt = self._sharing.dealt(self._smallest.written(key), lanes)
        own = self._tell(node, dealt, lanes)
        if own is None:
            return
        found = await self._computed(node, own)
        if self._channel.own in self._plan.opening:
            body = bytes_of(found, self._smallest.keys)
            self._channel.post(MINER, MessageKind.COMPARING, node, body)

    async def winner(self, node: int) -> int:
        if MINER in self._plan.computing:
            await self._computed(node, None)
        lanes = self._smallest.keys
        shares = [await self._heard(each, node, lanes) for each in self._plan.opening]
        ones, *rest = self._sharing.opened(shares)
        if ones.bit_count() != 1 or any(rest):
            problem = "could not compare keys: some party sends what are not shares of keys"
            raise ProtocolError(MINER, problem, Reason.TROUBLE)
        return ones.bit_length() - 1

    async def _computed(self, node: int, own_planes: Planes | None) -> Planes:
        """Return the own shares of who is the smallest; ``own_planes`` is that of the own key, where there is one."""
        side = self._plan.computing.index(self._channel.own)
        keys = range(self._smallest.keys)
        shares = {} if own_planes is None else {self._channel.own: own_planes}
        for key in keys:
            if key != self._channel.own:
                shares[key] = await self._heard(key, node, self._smallest.lanes)
        steps = self._smallest.steps([shares[each] for each in keys])
        products = next(steps)
        while True:
            lanes = products.lanes
            dealt = self._sharing.dealt_anew(side, products.values, lanes)
            found = self._tell(node, dealt, lanes) or []
            for other in self._plan.computing:
                if other != self._channel.own:
                    found = plus(found, await self._heard(other, node, lanes))
            try:
                products = steps.send(found)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]  # what steps return

    def _tell(self, node: int, dealt: Sequence[Planes], lanes: int) -> Planes | None:
        """Give each side that computes its shares; return the own ones."""
        own = None
        for each, shares in zip(self._plan.computing, dealt, strict=True):
            if each == self._channel.own:
                own = shares
            else:
                body = bytes_of(shares, lanes)
                self._channel.post(each, MessageKind.COMPARING, node, body)
        return own

    async def _heard(self, peer: int, node: int, lanes: int) -> Planes:
        bits = self._sharing.bits
        body = await self._channel.receive(peer, MessageKind.COMPARING, node)
        if len(body) != size_of(bits, lanes):
            raise ProtocolError(peer, "sent something that is not a share of a key", Reason.GARBAGE)
        return of_bytes(body, bits, lanes)
