"""A limit is told as people write it."""

import pytest

from treewarden.audit.reading import MOST_SPOTS, Spot
from treewarden.policies.judging.figures import figure, limit_text, places_text


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (("at most", 0, "records"), "none allowed"),
        (("at most", 1, "leaks"), "at most 1 item"),
        (("at most", 0, "share"), "0 %"),
        (("at least", 0, "records"), "at least 0 people"),
        (("less than", 20, "times"), "less than 20 times"),
    ],
)
def test_where_none_is_allowed_a_limit_says_so(limit, text):
    assert limit_text(*limit) == text


def test_the_root_that_stands_for_unknown_leaves_is_not_counted_as_one():
    def leaf(index, tree=0):
        return Spot("leaf", index, 1.0, 2.0, "", tree)

    words = ("leaf", "leaves")
    assert places_text([leaf(3), leaf(4)], *words) == "2 leaves"
    assert places_text([leaf(3), leaf(4), leaf(0)], *words) == "2 leaves, perhaps more"
    assert places_text([leaf(3), leaf(0)], *words) == "1 leaf, perhaps more"
    assert places_text([leaf(0)], *words) == "1 leaf"  # a tree without splits
    assert places_text([leaf(3), leaf(0, tree=1)], *words) == "2 leaves"
    every = [leaf(number) for number in range(1, MOST_SPOTS + 1)]
    assert places_text(every, *words) == f"{MOST_SPOTS:,} or more leaves"
    assert places_text([Spot("profile", 0, 1.0, 2.0)], "group", "groups") == "1 group"


def test_a_number_beyond_all_counts_of_people_is_told_in_the_digits_that_tell_it():
    # The float that is written so is 99,999,999,999,999,991,611,392.
    assert figure(1e23, "records") == "100,000,000,000,000,000,000,000 people"
    assert figure(1e14, "records") == "100,000,000,000,000 people"
