"""Fields, shares and products: by brute force, as fields are small."""

import itertools

import pytest

from tests.ppdm_models.methods.vertical.randomness import elements, looks_random
from treewarden.ppdm_models.methods.vertical import secure_minimum as planes
from treewarden.ppdm_models.methods.vertical.secure_minimum import Sharing

BITS = sorted(planes.POLYNOMIALS)


@pytest.mark.parametrize("bits", BITS)
def test_elements_make_a_field(bits):
    some = [*range(min(1 << bits, 12)), (1 << bits) - 1]
    for a, b, c in itertools.product(some, repeat=3):
        times = planes.product
        assert times(a, b, bits) == times(b, a, bits)
        assert times(times(a, b, bits), c, bits) == times(a, times(b, c, bits), bits)
        assert times(a, b ^ c, bits) == times(a, b, bits) ^ times(a, c, bits)
    for a in range(1, 1 << bits):
        assert planes.product(a, planes.inverse(a, bits), bits) == 1


@pytest.mark.parametrize("bits", BITS)
def test_many_lanes_are_each_one_element(bits):
    first, second = planes.drawn(bits, 50), planes.drawn(bits, 50)
    pairs = list(zip(elements(first, 50), elements(second, 50), strict=True))
    expected = [planes.product(a, b, bits) for a, b in pairs]
    assert elements(planes.times(first, second), 50) == expected
    assert elements(planes.plus(first, second), 50) == [a ^ b for a, b in pairs]
    scaled = elements(planes.scaled(3, first), 50)
    assert scaled == [planes.product(3, a, bits) for a, _ in pairs]
    body = planes.bytes_of(first, 50)
    assert len(body) == planes.size_of(bits, 50)
    assert planes.of_bytes(body, bits, 50) == first
    both = planes.joined(first, 50, second)
    assert [planes.cut(both, 0, 50), planes.cut(both, 50, 50)] == [first, second]


@pytest.mark.parametrize(("threshold", "bits"), [(1, 2), (2, 3), (3, 3), (4, 4), (31, 6)])
def test_secrets_and_products_come_back(threshold, bits):
    sharing = Sharing(threshold)
    assert sharing.bits == bits
    first, second = planes.drawn(bits, 20), planes.drawn(bits, 20)
    shares = [sharing.dealt(each, 20) for each in (first, second)]
    given = [
        sharing.dealt_anew(side, planes.times(shares[0][side], shares[1][side]), 20)
        for side in range(sharing.sides)
    ]
    new = [[0] * bits for _ in range(sharing.sides)]
    for dealt in given:
        new = [planes.plus(*each) for each in zip(new, dealt, strict=True)]
    assert sharing.opened(shares[0][: threshold + 1]) == first
    assert sharing.opened(new[: threshold + 1]) == planes.times(first, second)


def test_shares_of_one_side_are_random_and_products_of_shares_are_not():
    sharing, lanes = Sharing(1), 3_000
    ones = [(1 << lanes) - 1, 0]
    first, second = sharing.dealt(ones, lanes), sharing.dealt(ones, lanes)
    products = [planes.times(a, b) for a, b in zip(first, second, strict=True)]
    anew = sharing.dealt_anew(0, products[0], lanes)
    for side in range(3):
        assert looks_random(elements(first[side], lanes), 2)
        assert looks_random(elements(anew[side], lanes), 2)
        assert not looks_random(elements(products[side], lanes), 2)
