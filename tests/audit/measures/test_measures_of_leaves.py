"""The measures of the leaves against their definitions, by brute force on small leaves."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.kit.small_audits import evidence_of, flat_tree, people_of, read
from treewarden.audit.reading import Interval, Undetermined, exactly
from treewarden.ppdm_models.tree.tree import Quality

counts_of_leaves = st.integers(2, 5).flatmap(
    lambda m: st.lists(
        st.lists(st.integers(0, 12), min_size=m, max_size=m).filter(any), min_size=1, max_size=5
    )
)


def is_cl_diverse(counts, c, rank):
    """Machanavajjhala et al. 2007: d_1 < c (d_l + ... + d_m)."""
    falling = sorted(counts, reverse=True)
    return falling[0] < c * sum(falling[rank - 1 :])


def is_cl_diverse_by_hits(hit, miss, c, rank):
    """Sharkey et al. 2008, section 3.1."""
    return rank <= miss + 1 and hit < c * Fraction(miss, rank - 1)


@pytest.mark.parametrize("basis", ["real", "published"])
def test_the_leaf_of_sharkey_with_14_hits_and_6_misses_is_5_3_diverse_in_both_forms(basis):
    reading = read("cl_diversity", evidence_of(flat_tree([[14, 3, 3]])), l=3.0, basis=basis).reading
    assert reading.low == reading.high == pytest.approx(14 / 3)
    assert reading.high < 5


@pytest.mark.parametrize(("misses", "worst"), [(1, math.inf), (2, 8.0), (3, 8 * 2 / 3)])
def test_by_hits_and_misses_so_many_misses_are_needed_as_there_are_other_values(misses, worst):
    evidence = evidence_of(flat_tree([[8, misses, 0]]))
    assert read("cl_diversity", evidence, l=3.0, basis="published").reading.high == worst


def test_the_two_forms_differ_where_the_misses_are_uneven():
    evidence = evidence_of(flat_tree([[14, 6, 0]]))
    assert read("cl_diversity", evidence, l=3.0, basis="published").reading.high < 5
    assert read("cl_diversity", evidence, l=3.0).reading == Interval(math.inf, math.inf)


@given(counts_of_leaves, st.integers(2, 5), st.integers(1, 40))
def test_a_tree_is_cl_diverse_exactly_where_c_is_above_the_reading(leaves, rank, tenths):
    c = tenths / 10
    reading = read("cl_diversity", evidence_of(flat_tree(leaves)), l=float(rank)).reading
    assert (reading.high < c) == all(is_cl_diverse(x, Fraction(tenths, 10), rank) for x in leaves)


@given(counts_of_leaves, st.integers(2, 5), st.integers(1, 40))
def test_by_hits_and_misses_too(leaves, rank, tenths):
    evidence = evidence_of(flat_tree(leaves))
    reading = read("cl_diversity", evidence, l=float(rank), basis="published").reading
    exact = Fraction(tenths, 10)
    assert (reading.high < tenths / 10) == all(
        is_cl_diverse_by_hits(max(x), sum(x) - max(x), exact, rank) for x in leaves
    )


def test_the_published_form_needs_published_hits():
    bare = flat_tree([[14, 6], [5, 5]])
    nodes = tuple(
        type(node)(**{**{f: getattr(node, f) for f in node.__slots__}, "class_counts": None})
        for node in bare.nodes
    )
    tree = type(bare)(nodes, bare.features, bare.target, bare.classes)
    people = evidence_of(bare).population
    evidence = evidence_of(tree, people)
    reading = read("cl_diversity", evidence, basis="published").reading
    assert isinstance(reading, Undetermined)
    assert "leaf 1" in reading.reason
    assert isinstance(read("cl_diversity", evidence).reading, Interval)


def test_numbers_that_count_no_people_are_no_hits():
    tree = flat_tree([[14, 6]])
    odd = type(tree)(tree.nodes, tree.features, tree.target, tree.classes, quality=Quality.HESSIAN)
    reading = read("cl_diversity", evidence_of(odd), basis="published").reading
    assert isinstance(reading, Undetermined)


@given(counts_of_leaves)
def test_the_smallest_leaf_is_the_smallest_sum(leaves):
    assert read("k_anonymity", evidence_of(flat_tree(leaves))).reading.low == min(map(sum, leaves))


@given(counts_of_leaves)
def test_distinct_values_are_counted_in_each_leaf(leaves):
    fewest = min(sum(count > 0 for count in leaf) for leaf in leaves)
    assert read("distinct_diversity", evidence_of(flat_tree(leaves))).reading.low == fewest


def test_a_value_of_one_record_is_a_value():
    assert read(
        "distinct_diversity", evidence_of(flat_tree([[7, 1, 1], [9, 9, 9]]))
    ).reading == Interval(3, 3)


@given(counts_of_leaves)
def test_effective_values_are_exp_of_the_entropy_and_never_more_than_the_distinct_ones(leaves):
    def effective(leaf):
        shares = [count / sum(leaf) for count in leaf if count]
        return math.exp(-sum(share * math.log(share) for share in shares))

    reading = read("entropy_diversity", evidence_of(flat_tree(leaves))).reading
    assert reading.low == pytest.approx(min(map(effective, leaves)))
    assert reading.low <= len(leaves[0]) + 1e-9


@given(counts_of_leaves, st.data())
def test_believing_a_label_is_right_for_the_share_that_carries_it(leaves, data):
    codes = [data.draw(st.integers(0, len(leaf) - 1)) for leaf in leaves]
    tree = flat_tree(leaves, labels=[f"c{code}" for code in codes])
    assume(all(map(sum, leaves)))
    right = max(leaf[code] / sum(leaf) for leaf, code in zip(leaves, codes, strict=True))
    assert read("label_disclosure", evidence_of(tree)).reading.high == pytest.approx(right)


def test_a_pure_leaf_gives_everybody_away_by_its_label():
    tree = flat_tree([[9, 0], [5, 5]])
    taken = read("label_disclosure", evidence_of(tree))
    assert taken.reading == Interval(1, 1)
    assert (taken.spots[0].index, taken.spots[0].note) == (1, "9 people")


def test_leaves_are_recovered_whose_counts_are_published_or_follow_from_those_that_are():
    tree = flat_tree([[14, 6], [1, 8], [3, 3]])
    root, first, second, third = tree.nodes
    hidden = replace(first, class_counts=None)
    implied = replace(second, class_counts=(1.0, None))
    for nodes, share in (
        (tree.nodes, 1.0),
        ((root, hidden, second, third), 2 / 3),
        ((root, hidden, implied, third), 2 / 3),
    ):
        evidence = evidence_of(replace(tree, nodes=tuple(nodes)), people_of(tree))
        assert read("recovered_leaves", evidence).reading == exactly(share)
