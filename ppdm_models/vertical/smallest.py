"""Which of several shared keys is the smallest, so that shares are all that anybody sees.

The comparison is MPyC's (after Toft): the difference of two keys is opened under a mask whose bits are shared, and the
sign of what was hidden follows from a product of shared numbers that is zero or is not. It differs in two things. All
pairs go together, and bits for all of them are drawn at once, so that there are few messages. And what the zero test
opens is shared anew first: MPyC opens a product of two shared numbers as it is, whose shares lie on the
product of two polynomials, and whoever sees that can take it apart into the two.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH = 4
"""So many keys are compared each with each at a time: more comparisons than in pairs, and fewer messages in a row."""
Shares = list[Any]
"""One side's shares of numbers: elements of MPyC's field."""


def groups(count: int) -> list[range]:
    """Return which of so many keys are compared each with each."""
    number = -(-count // WIDTH)
    edges = [count * each // number for each in range(number + 1)]
    return [range(start, end) for start, end in itertools.pairwise(edges)]


def pairs_in(count: int) -> int:
    """Return how many pairs are compared until one key is left."""
    if count == 1:
        return 0
    now = groups(count)
    return sum(len(group) * (len(group) - 1) // 2 for group in now) + pairs_in(len(now))


class Smallest:
    """One side's part in it. Keys are at least 0, and below 2 to the ``bits`` - 1."""

    def __init__(self, runtime: Any, bits: int, keys: int) -> None:  # noqa: ANN401  # MPyC has no types
        self._runtime, self._bits, self._keys = runtime, bits, keys
        self._field: Any = runtime.SecInt(bits).field
        self._has_seeds = not runtime.options.no_prss
        self._draws = 0

    @property
    def share_bytes(self) -> int:
        """How long a share is."""
        return int(self._field.byte_length)

    async def of(self, key: int, receiver: int) -> int | None:
        """Return which side's key is the smallest, the first of equal ones: to the receiver, None to all others."""
        field, runtime = self._field, self._runtime
        count = pairs_in(self._keys)
        given = runtime.input([field(key)], senders=list(range(self._keys)))
        signs = await self._signs(count * (self._bits + 1))
        keys: Shares = [each for (each,) in await given]
        half = field((field.modulus + 1) // 2)
        flips, bits = signs[:count], [(each + 1) * half for each in signs[count:]]
        places: Shares = [field(place) for place in range(self._keys)]
        while (left := len(keys)) > 1:
            now = groups(left)
            pairs = [pair for group in now for pair in itertools.combinations(group, 2)]
            apart = [keys[late] - keys[early] for early, late in pairs]
            is_less = dict(zip(pairs, await self._negative(apart, bits, flips), strict=True))
            wins = await self._wins(now, is_less)
            if left == self._keys and len(now) == 1:  # places are still what all know
                places, keys = [_sum_of_products(now[0], wins, places)], [field(0)]
            else:
                both = [places, keys] if len(now) > 1 else [places]
                sums = [_sum_of_products(group, wins, of) for of in both for group in now]
                found = await self._shared_anew(sums)
                places, keys = found[: len(now)], found[-len(now) :]
        (found,) = await runtime.output(places, receivers=[receiver])
        return None if found is None else int(found)

    async def _wins(self, now: Sequence[range], is_less: Mapping[tuple[int, int], Any]) -> Shares:
        """Return for each number in groups 1 if it is the smallest in its group, the first of several, else 0."""
        most = max(map(len, now)) - 1
        factors = []
        for group in now:
            for own in group:
                beaten = [1 - is_less[own, each] for each in group if each > own]
                beaten += [is_less[each, own] for each in group if each < own]
                factors.append(beaten + [self._field(1)] * (most - len(beaten)))
        return await self._products(factors)

    async def _negative(self, numbers: Shares, bits: Shares, flips: Shares) -> Shares:
        """Return 1 for each number that is below 0, else 0; takes what it needs of random bits and signs away."""
        length, count = self._bits, len(numbers)
        masks, signs = [_taken(bits, length) for _ in numbers], _taken(flips, count)
        lows = [sum(bit.value << place for place, bit in enumerate(mask)) for mask in masks]
        highs = await self._randoms(count, 1 << self._runtime.options.sec_param)
        raised = [number + (low + (1 << length)) for number, low in zip(numbers, lows, strict=True)]
        hidden = [a + high * (1 << length) for a, high in zip(raised, highs, strict=True)]
        opened = [each.value % (1 << length) for each in await self._runtime.output(hidden)]
        random = await self._randoms(count, None)
        factors = [
            [*self._factors(number, mask, sign), each]
            for number, mask, sign, each in zip(opened, masks, signs, random, strict=True)
        ]
        products = await self._runtime.output(await self._products(factors))
        above = [
            3 - sign if not each.value else 3 + sign
            for sign, each in zip(signs, products, strict=True)
        ]
        over = self._field(1) / self._field(1 << length)
        return [
            (number - a + half * (1 << length - 1)) * over
            for number, a, half in zip(opened, raised, above, strict=True)
        ]

    async def _randoms(self, count: int, bound: int | None) -> Shares:
        """Return random numbers, below a bound if one is given."""
        found = self._runtime._randoms(self._field, count, bound)  # noqa: SLF001  # the only door
        shares: Shares = found if self._has_seeds else await found
        return shares

    def _factors(self, opened: int, mask: Sequence[Any], flip: Any) -> Shares:  # noqa: ANN401  # a share
        """Return numbers one of which is 0 if, and only if, the mask is on the one side of what was opened."""
        found, apart = [], self._field(0)
        for place in range(self._bits - 1, -1, -1):
            bit, mine = opened >> place & 1, mask[place]
            found.append(flip + mine - bit + 3 * apart)
            apart = apart + (1 - mine if bit else mine)
        return [*found, flip - 1 + 3 * apart]

    async def _products(self, factors: list[Shares]) -> Shares:
        """Return the product of each of several lists of one length, in as few rounds as there can be."""
        while (count := len(factors[0])) > 1:
            pairs = count // 2
            first = [each for row in factors for each in row[:pairs]]
            second = [each for row in factors for each in row[pairs : 2 * pairs]]
            found = await self._times(first, second)
            factors = [
                found[number * pairs : (number + 1) * pairs] + row[2 * pairs :]
                for number, row in enumerate(factors)
            ]
        return [row[0] for row in factors]

    async def _times(self, first: Shares, second: Shares) -> Shares:
        """Return products."""
        return await self._shared_anew([a * b for a, b in zip(first, second, strict=True)])

    async def _shared_anew(self, products: Shares) -> Shares:
        """Return shares of the same numbers that say nothing of the factors."""
        found: Shares = await self._runtime._reshare(products)  # noqa: SLF001  # the only door
        if len(found) != len(products):
            raise ValueError("shares of another number of products")
        return found

    async def _signs(self, count: int) -> Shares:
        """Return random numbers that are 1 or -1."""
        runtime, field = self._runtime, self._field
        if self._has_seeds:
            found: Shares = await runtime.random_bits(field, count, signed=True)
            return found
        # one of the senders at least is not of those who put their heads together; each time others do the work
        sides = len(runtime.parties)
        senders = [(self._draws + i) % sides for i in range(runtime.threshold + 1)]
        self._draws += len(senders)
        own = [
            field(2 * secrets.randbits(1) - 1) if runtime.pid in senders else field(0)
            for _ in range(count)
        ]
        given = await runtime.input(own, senders=senders)
        return await self._products([list(each) for each in zip(*given, strict=True)])


def _taken(shares: Shares, count: int) -> Shares:
    """Take so many from the end."""
    found = shares[len(shares) - count :]
    del shares[len(shares) - count :]
    return found


def _sum_of_products(group: range, first: Shares, second: Shares) -> Any:  # noqa: ANN401  # a share
    own = [first[each] * second[each] for each in group]
    return sum(own[1:], own[0])
