"""Full-domain generalisation finds the cheapest levels that meet a demand, and claims nothing that does not hold."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.tiers import examples
from treewarden.ppdm_models.errors import TaxonomyError
from treewarden.ppdm_models.methods.generalise.lattice import (
    Lattice,
    Requirement,
    generalise,
    ladder,
)
from treewarden.ppdm_models.tables.taxonomy import Categories, IntervalHierarchy
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

WIDTHS = IntervalHierarchy("n", ((2.25, 4.5, 6.75), (4.5,), ()), "equal widths")
TREE = Categories(
    "q",
    {
        "a": ("a", "ab", "*"),
        "b": ("b", "ab", "*"),
        "c": ("c", "cd", "*"),
        "d": ("d", "cd", "*"),
    },
)


def categories(codes, values="abcd"):
    return CategoricalColumn(codes=np.array(codes, dtype=np.int64), categories=tuple(values))


@st.composite
def lattices(draw):
    size = draw(st.integers(1, 14))

    def some(most):
        return st.lists(st.integers(0, most), min_size=size, max_size=size)

    ladders = [
        ladder("q", categories(draw(some(3))), TREE),
        ladder("n", NumericColumn(np.array(draw(some(9)), float)), WIDTHS),
        ladder("r", categories(draw(some(2)))),
    ]
    return Lattice(tuple(draw(st.permutations(ladders))), categories(draw(some(2)), "xyz"))


requirements = st.one_of(
    st.builds(Requirement, st.integers(1, 6)),
    st.builds(Requirement, st.integers(1, 3), st.sampled_from([1.0, 1.5, 2.0, 2.9])),
    st.builds(Requirement, st.just(1), st.integers(1, 4), st.sampled_from([0.5, 1.0, 2.0, 5.0])),
)


def groups_of(lattice, levels):
    """The groups as multisets of sensitive values, from the labels alone."""
    columns = lattice.columns(levels).values()
    found: dict[tuple, Counter] = {}
    for row, code in enumerate(lattice.sensitive.codes):
        found.setdefault(tuple(column.text(row) for column in columns), Counter())[code] += 1
    return list(found.values())


def holds(group, wanted):
    counts = sorted(group.values(), reverse=True)
    if sum(counts) < wanted.k:
        return False
    if wanted.l is None:
        return True
    if wanted.c is None:
        return counts[0] * wanted.l < sum(counts)
    return counts[0] < wanted.c * sum(counts[int(wanted.l) - 1 :])


def cost(groups):
    return sum(sum(group.values()) ** 2 for group in groups)


@settings(max_examples=examples(200))
@given(lattices(), requirements)
def test_the_result_is_the_cheapest_of_the_whole_lattice(lattice, wanted):
    fits = []
    for levels in product(*(range(width) for width in lattice.shape)):
        groups = groups_of(lattice, levels)
        if all(holds(group, wanted) for group in groups):
            fits.append((cost(groups), sum(levels), levels))
    found = generalise(lattice, wanted)
    assert (found and found.levels) == (min(fits)[2] if fits else None)


@settings(max_examples=examples(100))
@given(lattices(), requirements)
def test_the_figures_are_those_of_the_table_that_comes_out(lattice, wanted):
    found = generalise(lattice, wanted)
    if found is not None:
        groups = groups_of(lattice, found.levels)
        assert found.figures.groups == len(groups)
        assert found.figures.smallest == min(sum(group.values()) for group in groups)
        assert found.figures.discernibility == cost(groups)
        share = max(max(group.values()) / sum(group.values()) for group in groups)
        assert found.figures.largest_share == pytest.approx(share)


@settings(max_examples=examples(100))
@given(lattices(), requirements)
def test_what_passes_still_passes_on_higher_levels(lattice, wanted):
    passing = {
        levels
        for levels in product(*(range(width) for width in lattice.shape))
        if wanted.meets(lattice.figures(levels))
    }
    for levels in passing:
        reach = zip(levels, lattice.shape, strict=True)
        assert passing.issuperset(product(*(range(level, width) for level, width in reach)))


def test_a_table_that_fails_as_one_group_gives_nothing():
    lattice = Lattice((ladder("q", categories([0, 1])),), categories([0, 0], "xy"))
    assert generalise(lattice, Requirement(l=2, c=10)) is None


def test_not_every_combination_is_looked_at():
    random = np.random.default_rng(0)
    ladders = [ladder(f"q{i}", categories(random.integers(0, 4, 200)), TREE) for i in range(6)]
    lattice = Lattice(tuple(ladders), categories(random.integers(0, 3, 200), "xyz"))
    found = generalise(lattice, Requirement(k=5))
    assert found is not None
    assert found.checked < found.combinations / 2


def test_a_share_of_exactly_one_lth_is_too_much():
    codes = np.arange(49)
    one = CategoricalColumn(codes=codes, categories=tuple(map(str, codes)))
    lattice = Lattice((ladder("q", categories([0] * 49)),), one)
    assert generalise(lattice, Requirement(l=49)) is None
    assert generalise(lattice, Requirement(l=48)) is not None


def test_of_equal_costs_the_lower_levels_win():
    lattice = Lattice(
        (ladder("q", categories([0, 0]), TREE), ladder("r", categories([1, 1]), TREE)),
        categories([0, 1], "xy"),
    )
    found = generalise(lattice, Requirement(k=2))
    assert found is not None
    assert found.levels == (0, 0)


def test_too_many_combinations_are_refused():
    attributes = [ladder(f"q{number}", categories([0])) for number in range(23)]
    with pytest.raises(TaxonomyError, match="more than 5,000,000 combinations"):
        Lattice(tuple(attributes), categories([0]))


def test_a_value_that_a_hierarchy_lacks_is_named():
    with pytest.raises(TaxonomyError, match="lacks the value 'e'"):
        ladder("q", categories([0, 4], "abcde"), TREE)
